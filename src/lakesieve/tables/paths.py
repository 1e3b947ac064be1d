"""Normalize the paths of data files, so that all readers spell a path in the same way.

Two files of a table must never share a spelling: a file that is not indexed would be taken for an
indexed one. Two spellings of one file only cost time. ``FilePaths.java`` applies the same rules to
scans. ``docs/spec/format-v1.md`` has the rules, ``docs/design/0014`` their reasons.
"""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The name that stands for null in the folder of a partition."""

# matches paths that the rules do not change, so that one look at each path is enough
_NORMAL = r"^(?:file:/(?:[^/]+(?:/[^/]+)*)?/?|s3://(?s:.*))$"
_PARTS = r"^(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]+):(?P<rest>(?s:.*))$"
_AUTHORITY = r"^//(?P<authority>[^/]*)(?P<path>(?s:.*))$"
_ALIASES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "wasbs": "wasb"}
"""Schemes under which one store is called in several ways."""

_BY_HOST = ("hdfs", "webhdfs", "abfs", "wasb")
"""Schemes whose authority is a host name, in which case does not matter."""

_FOLDERS = ("file", "hdfs", "webhdfs")
"""Schemes of file systems. There, two slashes equal one; in an object store they do not."""


def normal_paths(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """Normalize paths of data files to the spelling that indexes use.

    Returns:
        As many strings; the same object if all paths are normalized already.
    """
    if pc.all(pc.match_substring_regex(paths, _NORMAL), min_count=0).as_py():
        return paths
    return pa.chunked_array([_normal(chunk) for chunk in paths.chunks], pa.string())


def _normal(paths: pa.Array) -> pa.Array:
    bare = pc.starts_with(paths, "/")
    parts = pc.extract_regex(
        pc.if_else(bare, pc.binary_join_element_wise("file", paths, ":"), paths), _PARTS
    )
    scheme, rest = _split(parts, "scheme", "rest")
    scheme = pc.ascii_lower(scheme)
    for alias, name in _ALIASES.items():
        scheme = pc.if_else(pc.equal(scheme, alias), name, scheme)
    is_file = pc.equal(scheme, "file")
    has_authority = pc.starts_with(pc.if_else(bare, "", rest), "//")
    authority, path = _split(pc.extract_regex(rest, _AUTHORITY), "authority", "path")
    authority = pc.if_else(has_authority, authority, "")
    path = pc.if_else(has_authority, path, rest)
    by_host = pc.is_in(scheme, value_set=pa.array(_BY_HOST))
    authority = pc.if_else(by_host, pc.ascii_lower(authority), authority)
    is_local = pc.and_(
        is_file, pc.is_in(pc.ascii_lower(authority), value_set=pa.array(["", "localhost"]))
    )
    in_folders = pc.is_in(scheme, value_set=pa.array(_FOLDERS))
    path = pc.if_else(in_folders, pc.replace_substring_regex(path, "//+", "/"), path)
    start = pc.binary_join_element_wise(scheme, ":", "")
    slashes = pc.if_else(pc.and_(has_authority, pc.invert(is_local)), "//", "")
    whole = pc.binary_join_element_wise(
        start, slashes, pc.if_else(is_local, "", authority), path, ""
    )
    return pc.if_else(pc.is_valid(parts), whole, paths)


def _split(parts: pa.Array, *names: str) -> list[pa.Array]:
    """Return the groups of a match, empty if there was no match."""
    return [pc.fill_null(pc.struct_field(parts, name), "") for name in names]


@lru_cache(maxsize=1024)
def table_root(location: str) -> str:
    """Return the normalized location of a table, without a slash at its end."""
    spelled: str = normal_paths(pa.chunked_array([[location]], pa.string()))[0].as_py()
    shorter = spelled.removesuffix("/")
    return spelled if shorter.endswith((":", "/")) else shorter


@lru_cache(maxsize=1024)
def is_normal_root(root: str) -> bool:
    """Return whether all paths below a folder are normalized that do not repeat a slash."""
    # the rules change what is before the path, and repeated slashes in it
    inside = pa.chunked_array([[f"{root}/A/a"]], pa.string())
    return bool(normal_paths(inside).equals(inside))


def identified(files: pa.Table) -> pa.Table:
    """Normalize the paths of data files to the spelling that indexes use.

    Returns:
        The same table if no path changes. Otherwise ``path`` is normalized, ``scanned`` has the
        original paths, and so has ``location`` if it was missing. Files that share a normalized
        path are not ``indexable``.
    """
    paths = files.column("path")
    normal = normal_paths(paths)
    if normal is paths or normal.equals(paths):
        return files
    counts = pc.value_counts(normal)
    once = counts.field("values").filter(pc.equal(counts.field("counts"), 1))
    indexable = pc.is_in(normal, value_set=once)
    if "indexable" in files.column_names:
        indexable = pc.and_(indexable, files.column("indexable"))
        files = files.drop_columns("indexable")
    if "location" not in files.column_names:
        files = files.append_column("location", paths)
    at = files.column_names.index("path")
    spelled = files.set_column(at, "path", normal).append_column("scanned", paths)
    return spelled.append_column("indexable", indexable)
