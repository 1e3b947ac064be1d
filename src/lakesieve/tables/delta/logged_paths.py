"""Spell the paths of data files in a Delta log as Delta for Spark spells them.

The log identifies a data file by its path. It is a URI, relative to the table or absolute. Delta
for Spark converts each path to one form before it compares paths. This module produces the same
form, so that a ``remove`` removes the same file in both.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, UnsupportedError

# the characters of a file name; a colon may end a scheme, and a leading dot may be a step
_SIGN = r"A-Za-z0-9_\-~!'()*,;$&+=@"
_SIMPLE = rf"^[{_SIGN}][{_SIGN}.]*(?:/[{_SIGN}][{_SIGN}.]*)*$"
"""Matches relative paths that are canonical and have no escapes, as most tables have."""

# an escaped dot or slash may be a step
_ESCAPE = "%(?:[013-9A-F][0-9A-F]|2[0-9A-D])"
_NAME = rf"(?:[{_SIGN}]|{_ESCAPE})(?:[{_SIGN}.]|{_ESCAPE})*"
_PLAIN = rf"^(?:(?:s3|s3a|gs|abfss)://[a-z0-9.\-@]+/)?{_NAME}(?:/{_NAME})*$"
"""Matches nearly all paths: they are canonical, and no other path has the same canonical form."""

_ABSOLUTE = r"^([A-Za-z][A-Za-z0-9+.\-]*:|/)"
_URI = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/]*))?(.*)", re.DOTALL)
# the characters of a path in Java's URI: ASCII signs, escaped bytes, and other scripts
_LEGAL = re.compile(r"(?:[A-Za-z0-9_\-.~!'()*,;:$&+=@/]|%[0-9A-Fa-f]{2}|[^\x00-\x7f])*")
_ESCAPED = re.compile("%[0-9a-f]{2}", re.IGNORECASE)
_SAFE = "/_-.~!'()*,;:$&+=@"


def are_simple(paths: pa.ChunkedArray) -> bool:
    """Return whether all paths are relative, canonical and without escapes."""
    return bool(pc.all(pc.match_substring_regex(paths, _SIMPLE), min_count=0).as_py())


def canonical_paths(paths: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Convert paths to the form in which Delta for Spark compares them.

    Raises:
        UnsupportedError: Readers may disagree about the file that a path names.
    """
    odd = _odd(paths)
    if not pc.any(odd, min_count=0).as_py():
        return paths
    originals: dict[str, str] = {}
    for path in paths.filter(odd).unique().to_pylist():
        canonical = _canonical(path)
        if canonical is None:
            raise UnsupportedError(
                f"The log of {name} contains the path {path!r}, which readers "
                "understand in different ways.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Query the table with Spark, or rewrite the file with OPTIMIZE or a copy of "
                "the table.",
            )
        originals[path] = canonical
    texts = pa.array([originals[path] for path in paths.filter(odd).to_pylist()], pa.string())
    return pa.chunked_array([pc.replace_with_mask(_one(paths), _one(odd), texts)])


def check_spellings(paths: pa.ChunkedArray, name: str) -> None:
    """Check that no two canonical paths are equal URIs.

    Delta for Spark compares such paths only within one partition of a job. Whether a ``remove`` of
    one path also removes the other therefore depends on the number of partitions.

    Raises:
        UnsupportedError: Two paths are equal URIs.
    """
    odd = paths.filter(_odd(paths)).unique()
    by_uri: dict[str, str] = {}
    for path in odd.to_pylist():
        other = by_uri.setdefault(_compared(path), path)
        if other != path:
            raise _two_spellings(name, path, other)
    if not by_uri:
        return
    others = paths.filter(pc.is_in(paths, value_set=pa.array(list(by_uri), pa.string())))
    for other in others.unique().to_pylist():
        if by_uri[other] != other:
            raise _two_spellings(name, by_uri[other], other)


def absolute_paths(paths: pa.ChunkedArray, root: str, *, is_simple: bool) -> pa.ChunkedArray:
    """Return absolute locations of data files, without percent-encoding.

    ``is_simple`` says that :func:`are_simple` is true of the paths.
    """
    if is_simple:
        return _inside(paths, root)
    encoded = pc.match_substring(paths, "%")
    texts = paths
    if pc.any(encoded, min_count=0).as_py():
        # a plus sign means itself, not a blank
        decoded = pa.array(list(map(unquote, paths.filter(encoded).to_pylist())), pa.string())
        texts = pa.chunked_array([pc.replace_with_mask(_one(paths), _one(encoded), decoded)])
    inside = _inside(texts, root)
    # test the encoded text, because an encoded colon does not make a path absolute
    is_absolute = pc.match_substring_regex(paths, _ABSOLUTE)
    if not pc.any(is_absolute, min_count=0).as_py():
        return inside
    # Hadoop prints such a path in this form
    texts = pc.replace_substring_regex(texts, r"^([A-Za-z][A-Za-z0-9+.\-]*):///", r"\1:/")
    return pc.if_else(is_absolute, texts, inside)


def _inside(paths: pa.ChunkedArray, root: str) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(pa.scalar(f"{root}/", pa.string()), paths, "")


def _odd(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.invert(pc.match_substring_regex(paths, _PLAIN))


def _one(array: pa.ChunkedArray) -> pa.Array:
    combined = array.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


def _canonical(path: str) -> str | None:
    """Return the canonical form of any path, or ``None`` if readers may disagree."""
    scheme, authority, rest = _URI.fullmatch(path).groups()  # type: ignore[union-attr]
    if not _LEGAL.fullmatch(rest) or any(map(_is_blank, unquote(rest).replace(" ", ""))):
        return None
    if rest.rpartition("/")[2] in {"", ".", ".."}:
        return None
    if scheme is None and authority is None and not rest.startswith("/"):
        inside = _normal(rest)
        firsts = rest.partition("/")[0] + inside.partition("/")[0]
        return None if ":" in firsts or not _is_whole(inside) else inside
    inside = _normal(rest)
    if not rest.startswith("/") or not _is_whole(inside[1:]):
        return None
    if scheme is None:
        # "//host/path" has a host but no scheme
        if authority:
            return None
        return f"file://{_escaped(unquote(inside))}"
    if authority or (inside == rest and authority is not None):
        return f"{scheme}://{authority}{inside}"
    return f"{scheme}:{inside}"


def _escaped(path: str) -> str:
    """Escape a path as Java does in a URI. Characters beyond ASCII stay as they are."""
    return "".join(sign if sign > "\x9f" else quote(sign, safe=_SAFE) for sign in path)


def _is_blank(sign: str) -> bool:
    """Return whether Java refuses a character in a URI, or escapes it."""
    return unicodedata.category(sign)[0] in "ZC"


def _normal(path: str) -> str:
    """Remove empty names, single dots, and each name that a following ".." cancels."""
    names: list[str] = []
    for part in path.split("/"):
        if part == ".." and names and names[-1] != "..":
            names.pop()
        elif part not in {"", "."}:
            names.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(names)


def _is_whole(inside: str) -> bool:
    """Return whether a path names a file and has no "." or "..", encoded or not."""
    return not {"", ".", ".."}.intersection(unquote(inside).split("/"))


def _compared(path: str) -> str:
    """Return a text that is equal for URIs that Java considers equal."""
    scheme, authority, rest = _URI.fullmatch(path).groups()  # type: ignore[union-attr]
    upper = _ESCAPED.sub(lambda found: found[0].upper(), rest)
    host = f"//{authority.lower()}" if authority else ""
    return f"{scheme.lower()}:{host}{upper}" if scheme else upper


def _two_spellings(name: str, path: str, other: str) -> UnsupportedError:
    return UnsupportedError(
        f"The log of {name} spells one data file in two ways: {path!r} and {other!r}.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint="For such a table, Spark's result depends on Spark's settings. Rewrite the table.",
    )
