"""Each data file has one spelling of its path, and two files never share one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.twins import normal_path
from tests.tables.spellings import ROOTS, SPELLINGS, File, files, spellings

from lakesieve.tables.paths import identified, is_normal_root, normal_paths, table_root


def _normal(*paths: str) -> list[str]:
    spelled: list[str] = normal_paths(pa.chunked_array([list(paths)], pa.string())).to_pylist()
    return spelled


def test_the_spellings_of_the_specification() -> None:
    """Every example is normalized as specified, alone and among others, and only once."""
    wanted = list(SPELLINGS.values())

    assert _normal(*SPELLINGS) == wanted
    assert [_normal(path)[0] for path in SPELLINGS] == wanted
    assert _normal(*wanted) == wanted
    assert [normal_path(path) for path in SPELLINGS] == wanted


@given(st.data(), files(), files())
def test_files_keep_apart_and_spellings_meet(data: st.DataObject, one: File, two: File) -> None:
    """Two paths have the same spelling exactly if they name the same file."""
    names = [data.draw(spellings(file)) for file in (one, two)]

    spelled = _normal(*names)
    assert (spelled[0] == spelled[1]) == (one == two)
    assert spelled == [normal_path(name) for name in names]


@given(st.lists(st.text("aAsS3:/. \\%#é", max_size=12)))
def test_any_text_equals_the_twin(texts: list[str]) -> None:
    """Any text is normalized like in the slow twin."""
    assert _normal(*texts) == [normal_path(text) for text in texts]


_ROOTS = st.sampled_from([*SPELLINGS, *ROOTS, "hdfs:/", "s3:/", "/", ""])


@given(_ROOTS | st.text("aAsS3:/. \\%#é", max_size=12), st.lists(st.text("aAs3.%", min_size=1)))
def test_paths_below_a_normal_root_are_normal(root: str, names: list[str]) -> None:
    """Where a root says that paths below it are normalized, no path changes."""
    path = f"{root}/{'/'.join(names or ['a'])}"

    if is_normal_root(root):
        assert normal_path(path) == path


@pytest.mark.parametrize("root", ["file:/a/t", "s3://b/t", "hdfs://h:9/t", "abfs://c@s.net/t"])
def test_usual_roots_are_normal(root: str) -> None:
    """The roots of most tables spare a look at every path."""
    assert is_normal_root(root)


def test_paths_that_are_spelled_so_are_left_alone() -> None:
    """Normalized paths are neither parsed nor copied."""
    paths = pa.chunked_array([["file:/a/b", "s3://b/c//d"], []], pa.string())

    assert normal_paths(paths) is paths
    empty = pa.chunked_array([], pa.string())
    assert normal_paths(empty).to_pylist() == []


@pytest.mark.parametrize(("location", "root"), ROOTS.items())
def test_a_table_is_where_it_is_however_that_is_written(location: str, root: str) -> None:
    """A slash at the end of a table's location is ignored; two count in an object store."""
    assert table_root(location) == root


def test_files_of_one_spelling_are_not_indexed() -> None:
    """Files that share a spelling are always read, and a table shows its own spelling."""
    live = pa.table({"path": ["s3a://b/x", "s3://b/x", "s3a://b/y"], "size": [1, 2, 3]})

    found = identified(live)

    assert found.column("path").to_pylist() == ["s3://b/x", "s3://b/x", "s3://b/y"]
    assert found.column("indexable").to_pylist() == [False, False, True]
    assert found.column("location").equals(live.column("path"))
    assert found.column("scanned").equals(live.column("path"))
    plain = live.slice(1, 1)
    assert identified(plain) is plain
