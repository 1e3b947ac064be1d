"""Columns and default names of an index."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from lakesieve.errors import InvalidInputError, NotFoundError
from lakesieve.index.definition import column_names, default_name, key_columns
from lakesieve.index.registry import index_storage
from lakesieve.storage import open_storage
from lakesieve.tables import Column, TableVersion

VERSION = TableVersion(id="1", schema="")


@dataclass
class Columns:
    """A table of some columns."""

    names: list[tuple[str, ...]]
    name: str = "t"
    format: str = "iceberg"
    uuid: str = "u"
    location: str = "/t"
    file_io: dict[str, str] = field(default_factory=dict)

    def columns(self, _: TableVersion) -> dict[tuple[str, ...], Column]:
        """Return all columns, as longs."""
        return {
            path: Column(path=path, field_id=at, type="long", kind="integer")
            for at, path in enumerate(self.names)
        }


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("a.`d.e`", ("a", "d.e")),
        ("`a`.`d.e`", ("a", "d.e")),
        ("a.d.e", ("a", "d.e")),
        ("A.`D.E`", ("a", "d.e")),
        ("x y", ("x y",)),
        ("`x y`", ("x y",)),
        ("`q``r`", ("q`r",)),
        ("q`r", ("q`r",)),
    ],
)
def test_columns_in_back_quotes(written: str, path: tuple[str, ...]) -> None:
    """Columns are named as in a predicate, with backquotes or without."""
    table = Columns([("a", "d.e"), ("x y",), ("q`r",)])

    (column,) = key_columns(table, VERSION, [written])  # type: ignore[arg-type]

    assert column.path == path


def test_a_string_is_one_column() -> None:
    """A string is the name of one column, and not a list of its characters."""
    assert column_names("id") == column_names(["id"]) == ("id",)


def test_unknown_columns() -> None:
    """An unknown column is refused with a list of the existing columns."""
    table = Columns([("a", "d.e")])
    with pytest.raises(NotFoundError, match="has no column"):
        key_columns(table, VERSION, ["a.`d`"])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="does not name a column"):
        key_columns(table, VERSION, ["a.`d"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        (["customer"], "customer"),
        (["tenant", "time"], "tenant_time"),
        (["a.`d.e`"], "a.d.e"),
        (["x y"], "x_y"),
        (["größe"], "gr_e"),
        ([".hidden", "b/c"], "hidden_b_c"),
    ],
)
def test_names_by_default(columns: list[str], name: str) -> None:
    """The default name of an index is valid as the name of a folder."""
    assert default_name(columns) == name


def test_a_name_that_cannot_be_a_folder() -> None:
    """The error says how to give another name, in Python and on the command line."""
    with pytest.raises(InvalidInputError, match="not a valid name") as raised:
        index_storage(open_storage("memory://names"), "x y")
    assert "(name=, --name)" in str(raised.value.hint)
