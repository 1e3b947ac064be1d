"""Files that declare indexes: valid declarations, and errors for invalid ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakesieve.errors import InvalidInputError, NotFoundError
from lakesieve.index.declared import DeclaredIndex, DeclaredTable, read_declarations

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """
[tables."lake.shop.orders"]
location = "s3://indexes/shop"
all_refs = true
convert_deletes = true
retain_commits = 3
retain_hours = 48
indexes = [
  ["order_id"],
  { columns = ["tenant", "time"], name = "by_tenant", budget = "2 bits", compaction = 0 },
]

[tables."delta:/data/events"]
indexes = [{ columns = ["user.id"], absent_hits = 0.01, compaction = "auto" }]
"""
TABLES = [
    DeclaredTable(
        name="lake.shop.orders",
        indexes=(
            DeclaredIndex(columns=("order_id",), name="order_id"),
            DeclaredIndex(
                columns=("tenant", "time"), name="by_tenant", budget="2 bits", compaction="0"
            ),
        ),
        location="s3://indexes/shop",
        all_refs=True,
        convert_deletes=True,
        retain_commits=3,
        retain_hours=48,
    ),
    DeclaredTable(
        name="delta:/data/events",
        indexes=(
            DeclaredIndex(
                columns=("user.id",), name="user.id", absent_hits=0.01, compaction="auto"
            ),
        ),
    ),
]


def read(folder: Path, text: str) -> list[DeclaredTable]:
    """Return the declarations in a file."""
    (folder / "lakesieve.toml").write_text(text, encoding="utf-8")
    return read_declarations(str(folder / "lakesieve.toml"))


def test_everything_that_can_be_declared(tmp_path: Path) -> None:
    """Everything can be declared in a file of its own, and in pyproject.toml."""
    found = read(tmp_path, WHOLE)

    assert found == TABLES
    of_project = WHOLE.replace("[tables.", "[tool.lakesieve.tables.")
    assert read(tmp_path, f"[tool.ruff]\nline-length = 100\n{of_project}") == TABLES


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tables = [", "it is not TOML"),
        ("", "it declares no tables"),
        ("[tool.other]\nx = 1", "it declares no tables"),
        ("[table.x]\nindexes = []", "table is not a known setting"),
        ("[tables.x]\nindex = []", 'tables."x" has no setting index'),
        ("[tables]\nx = 5", 'tables."x" is not a TOML table of settings'),
        ("[tables.x]\nindexes = [[]]", r"indexes\[0\] has no list of columns"),
        ("[tables.x]\nindexes = [[5]]", r"indexes\[0\] has no list of columns"),
        ("[tables.x]\nindexes = [{ columns = ['a'], budget = '2 apples' }]", "2 apples"),
        ("[tables.x]\nindexes = [{ columns = ['a'], compaction = 'soon' }]", "soon"),
        ("[tables.x]\nindexes = [{ columns = ['a'], more = 1 }]", "no setting more"),
        ("[tables.x]\nindexes = [['a'], ['a']]", "the index a twice"),
        ("[tables.x]\nretain_commits = 0", "retain_commits below 1"),
        ("[tables.x]\nretain_commits = true", "retain_commits is True"),
        ("[tables.x]\nall_refs = 'yes'", "all_refs is 'yes'"),
    ],
)
def test_what_cannot_be_declared(tmp_path: Path, text: str, words: str) -> None:
    """The error names the place in the file, and the settings that exist."""
    with pytest.raises(InvalidInputError, match=words):
        read(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The error names the missing file, and what to give."""
    with pytest.raises(NotFoundError, match=r"lakesieve maintain lakesieve\.toml"):
        read_declarations(str(tmp_path / "nowhere.toml"))
