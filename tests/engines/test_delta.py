"""Rows of Delta tables: deletion vectors, column mapping, partitions, evolved files, clones."""

from __future__ import annotations

import json
import random
import struct
import uuid
import zlib
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64
from tests.kit.building import build_index
from tests.tables.delta_vectors import encoded_bytes, encoded_vector
from tests.tables.test_delta_reader import METADATA, PROTOCOL, Log, added

import lakesieve as ls
from lakesieve.engines import arrow
from lakesieve.engines import duckdb as duckdb_engine
from lakesieve.engines import polars as polars_engine
from lakesieve.errors import ErrorKind, StorageError, UnsupportedError
from lakesieve.storage import open_storage
from lakesieve.tables.delta.vectors import deleted_rows
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path


def schema_of(*fields: tuple[str, Any, dict[str, Any]]) -> dict[str, Any]:
    """A schema as the log has it, by name, type and metadata."""
    written = [
        {"name": name, "type": kind, "nullable": True, "metadata": metadata}
        for name, kind, metadata in fields
    ]
    return {"type": "struct", "fields": written}


class Files(Log):
    """A table of real files, whose log is written by hand."""

    def __init__(self, root: Path, schema: dict[str, Any], **metadata: Any) -> None:
        super().__init__(root)
        described = {**METADATA["metaData"], "schemaString": json.dumps(schema), **metadata}
        self.commit(0, PROTOCOL, {"metaData": {"partitionColumns": [], **described}})
        self._version = 0

    def add(self, name: str, rows: pa.Table, **action: Any) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path)
        self.commit_next(added(name, rows.num_rows, **action))

    def commit_next(self, *actions: dict[str, Any]) -> None:
        self._version += 1
        self.commit(self._version, *actions)

    def rows(self, **arguments: Any) -> list[dict[str, Any]]:
        dataset = arrow.dataset(f"delta:{self.root}")
        found: list[dict[str, Any]] = dataset.to_table(**arguments).to_pylist()
        return found


def _inline(*rows: int) -> dict[str, Any]:
    text = encoded_vector(BitMap64(rows).serialize())
    return {"storageType": "i", "pathOrInlineDv": text[1:], "sizeInBytes": 1, "cardinality": 1}


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Three files of a table with an index on ``k``."""
    root = tmp_path / "ä b%25+1" / "t"
    made = Files(root, schema_of(("k", "long", {}), ("s", "string", {})), partitionColumns=[])
    for number in range(3):
        keys = list(range(number, 30, 3))
        made.add(f"{number}.parquet", pa.table({"k": keys, "s": [f"s{k}" for k in keys]}))
    return made


def _index(files: Files) -> None:
    def read(path: str) -> pa.Array:
        return pq.read_table(path.removeprefix("file:")).column("k").combine_chunks()

    build_index(open_table(f"delta:{files.root}"), "k", read)


def test_a_point_reads_one_file(files: Files) -> None:
    """Each engine opens the file of a key, and gives its row."""
    _index(files)
    name = f"delta:{files.root}"
    con = duckdb.connect()
    duckdb_engine.relation(con, name).create_view("t")

    assert files.rows(filter=pc.field("k") == 7) == [{"k": 7, "s": "s7"}]
    assert arrow.last_pruning()[0].files_read == 1
    assert con.execute("SELECT s FROM t WHERE k = 8").fetchall() == [("s8",)]
    assert arrow.last_pruning()[0].files_read == 1
    assert polars_engine.scan(name).filter(pl.col("k") == 9).collect().rows() == [(9, "s9")]
    assert arrow.last_pruning()[0].files_read == 1
    assert con.execute("SELECT count(*) FROM t").fetchall() == [(30,)]


def test_deletion_vectors(files: Files) -> None:
    """Rows that a vector deletes are gone, whichever way it is stored."""
    _index(files)
    prefix, name = "ab", uuid.uuid4()
    data = struct.pack("<i", 1681511377) + BitMap64([0, 9]).serialize()
    stored = b"\1" + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    (files.root / prefix).mkdir()
    path = files.root / prefix / f"deletion_vector_{name}.bin"
    path.write_bytes(stored)
    text = prefix + encoded_bytes(name.bytes)
    by_uuid = {"storageType": "u", "pathOrInlineDv": text, "offset": 1, "sizeInBytes": len(data)}
    by_path = {**by_uuid, "storageType": "p", "pathOrInlineDv": str(path)}
    files.commit_next(added("0.parquet", 10, deletionVector=by_uuid), _gone("0.parquet"))
    files.commit_next(added("1.parquet", 10, deletionVector=by_path), _gone("1.parquet"))
    files.commit_next(added("2.parquet", 10, deletionVector=_inline(1)), _gone("2.parquet"))

    gone = {0, 27, 1, 28, 5}
    assert sorted(row["k"] for row in files.rows()) == [k for k in range(30) if k not in gone]
    assert files.rows(filter=pc.field("k") == 27) == []
    assert arrow.last_pruning()[0].files_read == 1
    path.write_bytes(stored[:-1] + bytes([stored[-1] ^ 1]))
    with pytest.raises(StorageError, match="checksum"):
        files.rows()
    with pytest.raises(StorageError, match="does not name a deletion vector"):
        deleted_rows("x", open_storage(str(files.root)), "t")


def _gone(path: str) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True}}


@pytest.mark.parametrize("mapping", ["name", "id"])
def test_column_mapping(tmp_path: Path, mapping: str) -> None:
    """Columns and fields are found by their physical names, or by their ids."""

    def mapped(number: int, physical: str) -> dict[str, Any]:
        return {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": physical,
        }

    inner = {
        "type": "struct",
        "fields": [
            {"name": "x", "type": "long", "nullable": True, "metadata": mapped(3, "p-x")},
            {"name": "new", "type": "string", "nullable": True, "metadata": mapped(5, "p-new")},
        ],
    }
    many = {"type": "array", "elementType": inner, "containsNull": True}
    schema = schema_of(
        ("renamed", "long", mapped(1, "p-k")),
        ("st", inner, mapped(2, "p-st")),
        ("many", many, mapped(4, "p-many")),
        ("late", "string", mapped(6, "p-late")),
    )
    made = Files(tmp_path / "t", schema, configuration={"delta.columnMapping.mode": mapping})
    numbered = {b"PARQUET:field_id": b"1"}
    kind = pa.struct([pa.field("p-x", pa.int32(), metadata={b"PARQUET:field_id": b"3"})])
    fields = pa.schema(
        [
            pa.field("p-k", pa.int32(), metadata=numbered),
            pa.field("p-st", kind, metadata={b"PARQUET:field_id": b"2"}),
            pa.field("p-many", pa.list_(kind), metadata={b"PARQUET:field_id": b"4"}),
        ]
    )
    rows = pa.Table.from_pylist(
        [
            {"p-k": 1, "p-st": {"p-x": 2}, "p-many": [{"p-x": 3}, None]},
            {"p-k": None, "p-st": None, "p-many": None},
        ],
        schema=fields,
    )
    made.add("a.parquet", rows)

    assert made.rows() == [
        {
            "renamed": 1,
            "st": {"x": 2, "new": None},
            "many": [{"x": 3, "new": None}, None],
            "late": None,
        },
        {"renamed": None, "st": None, "many": None, "late": None},
    ]
    assert made.rows(columns=["late", "renamed"], filter=pc.field("renamed") == 1) == [
        {"late": None, "renamed": 1}
    ]


def test_partitions(tmp_path: Path) -> None:
    """Values of partition columns come from the log, as their types."""
    kinds = ["string", "integer", "date", "timestamp", "timestamp_ntz", "decimal(5,2)", "boolean"]
    schema = schema_of(("k", "long", {}), *((f"p{at}", kind, {}) for at, kind in enumerate(kinds)))
    names = [f"p{at}" for at in range(len(kinds))]
    made = Files(tmp_path / "t", schema, partitionColumns=names)
    texts = ["a b", "5", "2020-01-02", "2020-01-02T03:04:05.000006Z", "2020-01-02 03:04:05"]
    texts += ["1.25", "true"]
    made.add(
        "a.parquet", pa.table({"k": [1]}), partitionValues=dict(zip(names, texts, strict=True))
    )
    made.add("b.parquet", pa.table({"k": [2]}), partitionValues=dict.fromkeys(names))

    one, two = sorted(made.rows(), key=lambda row: int(row["k"]))
    assert list(one.values()) == [
        1,
        "a b",
        5,
        date(2020, 1, 2),
        datetime(2020, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        datetime(2020, 1, 2, 3, 4, 5),  # noqa: DTZ001 - it has none
        Decimal("1.25"),
        True,
    ]
    assert list(two.values()) == [2, *[None] * len(kinds)]


def test_a_partition_of_bytes(tmp_path: Path) -> None:
    """A binary partition value is the text of the log in UTF-8, as in Spark."""
    made = Files(
        tmp_path / "t", schema_of(("k", "long", {}), ("p", "binary", {})), partitionColumns=["p"]
    )
    for number, text in enumerate(("ü", "\U0001f608", "x")):
        made.add(f"{number}.parquet", pa.table({"k": [number]}), partitionValues={"p": text})

    found = sorted((row["k"], row["p"]) for row in made.rows())
    assert found == [(0, "ü".encode()), (1, "\U0001f608".encode()), (2, b"x")]


def test_empty_texts_of_partitions(tmp_path: Path) -> None:
    """An empty partition value is an empty string in a string column and null in other columns."""
    made = Files(
        tmp_path / "t",
        schema_of(("k", "long", {}), ("p", "string", {}), ("n", "integer", {})),
        partitionColumns=["p", "n"],
    )
    made.add("a.parquet", pa.table({"k": [1]}), partitionValues={"p": "", "n": ""})
    made.add("b.parquet", pa.table({"k": [2]}), partitionValues={"p": None, "n": None})

    found = sorted((row["k"], row["p"], row["n"]) for row in made.rows())
    assert found == [(1, "", None), (2, None, None)]


def test_a_table_of_shredded_variants(tmp_path: Path) -> None:
    """Its other columns are read."""
    made = Files(tmp_path / "t", schema_of(("k", "long", {})))
    features = ["variantType", "variantShredding-preview"]
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features}
    made.commit_next({"protocol": protocol})
    made.add("0.parquet", pa.table({"k": [1]}))

    assert made.rows() == [{"k": 1}]


@pytest.mark.parametrize("kind", ["variant", "geometry(OGC:CRS84)", "interval day"])
def test_a_column_of_an_unknown_type_closes_no_table(tmp_path: Path, kind: str) -> None:
    """Every engine reads the other columns; the column alone is refused, by its name."""
    made = Files(tmp_path / "t", schema_of(("k", "long", {}), ("odd", kind, {})))
    made.add("0.parquet", pa.table({"k": [7]}))
    made.add("1.parquet", pa.table({"k": [8]}))
    name = f"delta:{made.root}"

    assert made.rows(columns=["k"], filter=pc.field("k") == 7) == [{"k": 7}]
    assert polars_engine.scan(name).filter(pl.col("k") == 7).select("k").collect().rows() == [(7,)]
    relation = duckdb_engine.relation(duckdb.connect(), name)
    assert relation.filter("k = 7").project("k").fetchall() == [(7,)]
    assert ls.find_files(name, "k = 7").total == 2
    with pytest.raises(UnsupportedError, match="The column odd is not read without Spark"):
        made.rows(columns=["odd"])


def test_what_is_refused(tmp_path: Path) -> None:
    """Columns and values whose meaning depends on more than the table are named."""
    variant = Files(tmp_path / "v", schema_of(("v", "variant", {})))
    default = Files(tmp_path / "d", schema_of(("k", "long", {"EXISTS_DEFAULT": "5"})))
    zoned = Files(tmp_path / "z", schema_of(("t", "timestamp", {})), partitionColumns=["t"])
    zoned.add("a.parquet", pa.table({"k": [1]}), partitionValues={"t": "2020-01-02 03:04:05"})

    for made in (variant, default):
        dataset = arrow.dataset(f"delta:{made.root}")
        with pytest.raises(UnsupportedError) as caught:
            dataset.to_table()
        assert caught.value.kind is ErrorKind.UNSUPPORTED_TABLE
    with pytest.raises(UnsupportedError, match="zone"):
        zoned.rows()


def test_drawn_filters(files: Files) -> None:
    """With an index that does not know every file, filters give the rows of the whole table."""
    _index(files)
    files.commit_next(added("1.parquet", 10, deletionVector=_inline(0, 3)), _gone("1.parquet"))
    files.add("late.parquet", pa.table({"k": [5, None], "s": [None, "s5"]}))
    dataset = arrow.dataset(f"delta:{files.root}")
    whole = dataset.to_table()
    drawn = random.Random("filters")
    for _ in range(60):
        low, high = sorted(drawn.choices(range(-2, 33), k=2))
        text = pc.field("s") == f"s{low}"
        wanted = drawn.choice(
            [
                pc.field("k") == low,
                (pc.field("k") >= low) & (pc.field("k") < high),
                ~(pc.field("k") > low) | text,
                pc.field("k").isin([low, high]),
                pc.field("k").is_null() | text,
            ]
        )
        found = dataset.to_table(filter=wanted).to_pylist()
        assert sorted(map(repr, found)) == sorted(map(repr, whole.filter(wanted).to_pylist()))
