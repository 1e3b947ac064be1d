"""Spellings of paths, for the two functions that normalize them: Python's and Java's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

__all__ = ["ROOTS", "SPELLINGS", "File", "files", "spellings"]

# the JUnit tests read the same files
_EXAMPLES = Path(__file__).parents[2] / "jvm" / "src" / "test" / "resources" / "lakesieve" / "files"


def _examples(name: str) -> dict[str, str]:
    """Read the lines of a file of examples, with two texts each."""
    lines = (_EXAMPLES / name).read_text(encoding="utf-8").split("\n")[:-1]
    return dict(line.split("\t") for line in lines)


SPELLINGS = _examples("spellings.tsv")
"""Paths, and the one spelling of each."""

ROOTS = _examples("roots.tsv")
"""Locations of tables, and the one spelling of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A data file with any name.

    Args:
        store: ``file``, ``s3``, ``hdfs`` or ``abfs``.
        authority: The bucket or host, empty for files.
        names: Of the folders and the file.
    """

    store: str
    authority: str
    names: tuple[str, ...]


_SCHEMES = {
    "file": ["file"],
    "s3": ["s3", "s3a", "s3n", "S3"],
    "hdfs": ["hdfs", "HDFS"],
    "abfs": ["abfs", "abfss"],
}
# an empty name is one of its own in an object store
_NAMES = st.sampled_from(["a", "A", "a b", "a%20b", "ä", "..", "x=1", "#1@2"])


@st.composite
def files(draw: st.DrawFn) -> File:
    """A data file of any store."""
    store = draw(st.sampled_from(sorted(_SCHEMES)))
    names = draw(st.lists(_NAMES, min_size=1, max_size=3))
    if store in {"s3", "abfs"} and draw(st.booleans()):
        names.insert(draw(st.integers(0, len(names))), "")
    authority = "" if store == "file" else draw(st.sampled_from(["b", "c-1"]))
    return File(store=store, authority=authority, names=tuple(names))


@st.composite
def spellings(draw: st.DrawFn, file: File) -> str:
    """One of the spellings of a file."""
    scheme = draw(st.sampled_from(_SCHEMES[file.store]))
    many = file.store in {"file", "hdfs"} and draw(st.booleans())
    path = ("//" if many else "/") + "/".join(file.names)
    if file.store == "file":
        # two slashes after the scheme would begin with a host
        schemes = ["", "file://", "FILE://localhost"] + ["file:"] * (not many)
        return draw(st.sampled_from(schemes)) + path
    host = file.authority
    if file.store != "s3" and draw(st.booleans()):
        host = host.upper()
    return f"{scheme}://{host}{path}"
