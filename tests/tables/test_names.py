"""How tables are named."""

from __future__ import annotations

import pytest

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.tables.names import TableName, parse_name


@pytest.mark.parametrize(
    ("text", "table_format", "path"),
    [
        ("iceberg:/data/t", "iceberg", "/data/t"),
        (" delta:s3://bucket/t ", "delta", "s3://bucket/t"),
        ("hudi:relative/t", "hudi", "relative/t"),
        ("parquet:/a b%25", "parquet", "/a b%25"),
        ("/data/t", "iceberg", "/data/t"),
        ("s3://bucket/t", "iceberg", "s3://bucket/t"),
        ("lake.db.t", None, ""),
        ("iceberg.db.t", None, ""),
    ],
)
def test_paths_and_identifiers(text: str, table_format: str | None, path: str) -> None:
    """A name is a format and a path, a bare path, or an identifier."""
    assert parse_name(text) == TableName(text=text.strip(), format=table_format, path=path)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("lake.db.t", ("lake", "db", "t")),
        ("t", ("t",)),
        ("lake.`a.b`.`c``d`", ("lake", "a.b", "c`d")),
        ("`ä b`.t-1", ("ä b", "t-1")),
    ],
)
def test_parts_of_identifiers(text: str, parts: tuple[str, ...]) -> None:
    """Dots separate the parts; a part in backquotes may have any character."""
    assert parse_name(text).identifier() == parts


@pytest.mark.parametrize("text", ["", "  ", "a..b", "a.", ".a", "a b", "`a", "a`b", "``", "a.``"])
def test_what_names_nothing(text: str) -> None:
    """Texts that name no table are refused."""
    with pytest.raises(InvalidInputError) as caught:
        parse_name(text).identifier()

    assert caught.value.kind is ErrorKind.NOT_A_TABLE
