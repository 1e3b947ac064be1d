"""Tables drawn from a seed, with pages, row groups and row blocks of awkward sizes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["DDL", "FEATURES", "STEPS", "DrawnFile", "DrawnTable", "draw_table", "rows_of", "write"]

DDL = {
    "id": "BIGINT",
    "k": "INT",
    "word": "STRING",
    "wide": "STRING",
    "maybe": "DOUBLE",
    "pair": "STRUCT<a: BIGINT, b: STRING>",
    "list": "ARRAY<INT>",
    "flags": "MAP<STRING, BIGINT>",
}
_SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "k": pa.int32(),
        "word": pa.string(),
        "wide": pa.string(),
        "maybe": pa.float64(),
        "pair": pa.struct({"a": pa.int64(), "b": pa.string()}),
        "list": pa.list_(pa.int32()),
        "flags": pa.map_(pa.string(), pa.int64()),
    }
)
# pyarrow's dictionary pages of lists without elements cannot be read by Spark's row-wise reader
_IN_DICTIONARY = ["id", "k", "word", "wide", "maybe", "pair.a", "pair.b"]
_ADDED = ("add", "rename", "drop and add", "insert")
# what may happen to a table of a format, before or after it is indexed
STEPS = {
    "iceberg": ("delete", "update", "delete by key", *_ADDED, "widen"),
    "delta": ("delete", "update", *_ADDED),
    "parquet": ("replace", "add", "insert"),
}
_DELETES = {"delete", "update", "delete by key"}
_EVOLUTION = {"add", "rename", "widen", "drop and add"}
_BLOCKS = (1, 2, 3, 7, 20)
_OVERFLOW = 20
_ONE = "1 row in "
_MORE = "1 row more than a block in "
FEATURES = {
    f"{_ONE}a block",
    *(f"{rows}{part}" for rows in (_ONE, _MORE) for part in ("a file", "a row group", "a page")),
    "no offset index",
    "dictionary overflow",
    "nulls in some rows",
    "nulls in all rows",
    "row groups with many pages",
    "files with many row groups",
    "files that no index has seen",
    "indexes that were refreshed",
    "vectorized reader off",
}
"""What is drawn for tables of every format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFile:
    """How a data file is written.

    Args:
        rows: Rows of the file.
        group: Rows of a row group. The last one may have fewer.
        page: Rows of a page of a column without lists.
        has_offsets: Whether the file has an offset index.
        dictionary: Bytes of the largest dictionary page. Then values are written as they are.
        nulls: The share of nulls in each column, except in the unique one.
        page_version: The version of data pages.
    """

    rows: int
    group: int
    page: int
    has_offsets: bool
    dictionary: int
    nulls: float
    page_version: str

    def features(self, block: int) -> set[str]:
        """Return which ``FEATURES`` the file has for an index with blocks of ``block`` rows."""
        parts = {"a file": self.rows, "a row group": self.group, "a page": self.page}
        return {
            *(_ONE + part for part, rows in parts.items() if rows == 1),
            *(_MORE + part for part, rows in parts.items() if rows == block + 1),
            *(["no offset index"] * (not self.has_offsets)),
            *(["dictionary overflow"] * (self.dictionary <= _OVERFLOW < self.rows)),
            *(["nulls in some rows"] * (0 < self.nulls < 1)),
            *(["nulls in all rows"] * (self.nulls == 1)),
            *(["row groups with many pages"] * (4 * self.page < min(self.group, self.rows))),
            *(["files with many row groups"] * (4 * self.group < self.rows)),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnTable:
    """A table, its indexes and what happens to it.

    Args:
        format: The table's format.
        files: Its first data files.
        blocks: Rows of a block of each index; ``None`` for an index of data files.
        indexed: The column of each index.
        before: What happens before the table is indexed.
        after: What happens afterwards.
        refreshed: Whether the indexes are refreshed at last.
        vectorized: Whether Spark's vectorized Parquet reader is on.
    """

    format: str
    files: tuple[DrawnFile, ...]
    blocks: tuple[int | None, ...]
    indexed: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    refreshed: bool
    vectorized: bool

    def features(self) -> set[str]:
        """Return which ``FEATURES`` the table has, and whether it has deletes and evolution."""
        steps = {*self.before, *self.after}
        blocks = [block for block in self.blocks if block]
        return {
            *(feature for file in self.files for b in blocks for feature in file.features(b)),
            *([f"{_ONE}a block"] * (1 in blocks)),
            *(["deletes"] * bool(steps & _DELETES)),
            *(["evolution"] * bool(steps & _EVOLUTION)),
            *(["files that no index has seen"] * (bool(self.after) and not self.refreshed)),
            *(["indexes that were refreshed"] * (bool(self.after) and self.refreshed)),
            *(["vectorized reader off"] * (not self.vectorized)),
        }


def draw_table(seed: int, formats: Sequence[str]) -> DrawnTable:
    """Draw a table. Successive seeds have the formats in turn."""
    drawn = random.Random(seed)
    form = formats[seed % len(formats)]
    blocks = (drawn.choice(_BLOCKS), drawn.choice([*_BLOCKS, None]))
    steps = [step for step in STEPS[form] if drawn.random() < 0.4]
    drawn.shuffle(steps)
    cut = drawn.randrange(len(steps) + 1)
    return DrawnTable(
        format=form,
        files=tuple(_file(drawn, blocks[0]) for _ in range(drawn.choice([1, 2, 3]))),
        blocks=blocks,
        indexed=("id", drawn.choice(["k", "word", "wide", "pair.a"])),
        before=tuple(steps[:cut]),
        after=tuple(steps[cut:]),
        refreshed=drawn.random() < 0.4,
        vectorized=drawn.random() < 0.8,
    )


def _file(drawn: random.Random, block: int) -> DrawnFile:
    edges = [max(1, block - 1), block, block + 1]
    return DrawnFile(
        rows=drawn.choice([1, *edges, 2 * block + 1, 40, 41, 97]),
        group=drawn.choice([1, *edges, 13, 1_000, 1_000]),
        page=drawn.choice([1, *edges, 5, 1_000]),
        has_offsets=drawn.random() < 0.75,
        dictionary=drawn.choice([1, _OVERFLOW, 1 << 20]),
        nulls=drawn.choice([0.0, 0.3, 0.3, 1.0]),
        page_version=drawn.choice(["1.0", "2.0"]),
    )


def rows_of(drawn: random.Random, file: DrawnFile, first: int) -> pa.Table:
    """Return the rows of a file. The first row has the id ``first``."""
    ids = range(first, first + file.rows)

    def some(value: Any) -> Any:
        return None if drawn.random() < file.nulls else value

    columns: dict[str, list[Any]] = {
        "id": list(ids),
        "k": [some(drawn.randrange(9)) for _ in ids],
        "word": [some(f"word {drawn.randrange(9)}") for _ in ids],
        "wide": [some(f"wide {at} {drawn.random()}") for at in ids],
        "maybe": [some(drawn.choice([0.0, -0.0, float("nan"), at / 7])) for at in ids],
        "pair": [some({"a": some(at % 11), "b": some(f"b {at}")}) for at in ids],
        "list": [some([some(at)] * drawn.randrange(4)) for at in ids],
        "flags": [some([(str(n), some(at)) for n in range(drawn.randrange(3))]) for at in ids],
    }
    return pa.table([pa.array(columns[f.name], f.type) for f in _SCHEMA], schema=_SCHEMA)


def write(rows: pa.Table, path: Path, file: DrawnFile) -> None:
    """Write a data file as drawn."""
    pq.write_table(
        rows,
        path,
        row_group_size=file.group,
        # a page ends with each batch of values
        data_page_size=1,
        write_batch_size=file.page,
        write_page_index=file.has_offsets,
        use_dictionary=_IN_DICTIONARY,
        dictionary_pagesize_limit=file.dictionary,
        data_page_version=file.page_version,
    )
