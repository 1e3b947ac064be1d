"""Engines read the rows that an index of row blocks names: the same rows as without an index."""

from __future__ import annotations

import json
import os
import random
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap64
from tests.depth import depth
from tests.engines.drawn import POLARS, arrow_filter
from tests.engines.iceberg_table import Table
from tests.engines.tables import COLUMNS, rows
from tests.kit.building import build_index
from tests.tables.delta_vectors import encoded_vector
from tests.tables.test_delta_reader import METADATA, PROTOCOL, Log, added
from tests.tables.test_hudi_reader import Table as HudiTable

import lakesieve as ls
from lakesieve.engines import arrow
from lakesieve.engines import duckdb as duckdb_engine
from lakesieve.engines import polars as polars_engine
from lakesieve.engines import pyiceberg as pyiceberg_engine
from lakesieve.engines.wanted_rows import WantedRows, read_rows
from lakesieve.errors import UnsupportedError
from lakesieve.index import ReasonCode
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = depth("CASES", test=2, soak=300)
PREDICATES = depth("PREDICATES", test=5, soak=20)
INNER = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.int32()))])
NESTED = {"st": INNER, "li": pa.list_(INNER), "ma": pa.map_(pa.string(), pa.int64())}
SCHEMA = pa.schema([*COLUMNS.items(), *NESTED.items()])
BLOCKS = (0, 1, 2, 5, 7, 64)
SQL = (
    "id = 5",
    "id IN (1, 2, 3) OR small = 7",
    "small BETWEEN 1 AND 3 AND id < 10",
    "text = 'ab' OR text = 'a'",
    "id IS NULL",
    "NOT (small <> 4)",
    "small = 3 AND text >= 'a'",
)


def _struct(drawn: random.Random) -> Any:
    if drawn.random() < 0.2:
        return None
    return {"a": drawn.randrange(5), "b": [drawn.randrange(9)] * drawn.randrange(3)}


def _rows(drawn: random.Random, count: int) -> pa.Table:
    """Rows with nested columns."""
    held = rows(drawn, count)
    columns: dict[str, list[Any]] = {
        "st": [_struct(drawn) for _ in range(count)],
        "li": [[_struct(drawn)] * drawn.randrange(3) for _ in range(count)],
        "ma": [drawn.choice([None, [("x", 1)], []]) for _ in range(count)],
    }
    arrays = [pa.array(columns[name], kind) for name, kind in NESTED.items()]
    return pa.table([*held.columns, *arrays], schema=SCHEMA)


def _write(drawn: random.Random, path: Path, held: pa.Table) -> None:
    """Write a data file with row groups and pages of an awkward size."""
    pq.write_table(
        held,
        path,
        row_group_size=drawn.choice([1, 2, 5, 6, 8, 100]),
        data_page_size=drawn.choice([16, 64, 1 << 20]),
        write_statistics=drawn.random() < 0.5,
        write_page_index=drawn.random() < 0.7,
        use_dictionary=drawn.random() < 0.5,
        dictionary_pagesize_limit=drawn.choice([1, 20, 1 << 20]),
        compression=drawn.choice(["NONE", "SNAPPY", "ZSTD"]),
        data_page_version=drawn.choice(["1.0", "2.0"]),
    )


def _deleted(drawn: random.Random, count: int) -> list[int]:
    return [at for at in range(count) if drawn.random() < 0.3]


def _left(held: pa.Table, deleted: list[int]) -> pa.Table:
    kept = [at for at in range(len(held)) if at not in deleted]
    return held.take(pa.array(kept, pa.int64()))


class Made:
    """A table of a format, and its rows."""

    def __init__(self, name: str, parts: list[pa.Table]) -> None:
        self.name = name
        self.rows = pa.concat_tables(parts)
        # of deleted rows, too
        self.keys: list[int] = []


def _parquet(drawn: random.Random, folder: Path, parts: list[pa.Table]) -> Made:
    for number, part in enumerate(parts):
        _write(drawn, folder / f"{number}.parquet", part)
    return Made(f"parquet:{folder}", parts)


def _spark_type(kind: pa.DataType) -> Any:
    if pa.types.is_struct(kind):
        fields = [_spark_field(kind.field(at)) for at in range(kind.num_fields)]
        return {"type": "struct", "fields": fields}
    if pa.types.is_list(kind):
        element = _spark_type(kind.value_type)
        return {"type": "array", "elementType": element, "containsNull": True}
    if pa.types.is_map(kind):
        key, value = _spark_type(kind.key_type), _spark_type(kind.item_type)
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    names = {
        pa.int64(): "long",
        pa.int32(): "integer",
        pa.string(): "string",
        pa.float64(): "double",
        pa.float32(): "float",
        pa.decimal128(38, 2): "decimal(38,2)",
        pa.date32(): "date",
        pa.timestamp("us", "UTC"): "timestamp",
        pa.timestamp("us"): "timestamp_ntz",
        pa.binary(): "binary",
        pa.bool_(): "boolean",
    }
    return names[kind]


def _spark_field(field: pa.Field) -> dict[str, Any]:
    written = _spark_type(field.type)
    return {"name": field.name, "type": written, "nullable": True, "metadata": {}}


def _delta(drawn: random.Random, folder: Path, parts: list[pa.Table]) -> Made:
    """A table in which some files have deletion vectors."""
    log = Log(folder)
    schema = {"type": "struct", "fields": list(map(_spark_field, SCHEMA))}
    said = {**METADATA["metaData"], "schemaString": json.dumps(schema), "partitionColumns": []}
    log.commit(0, PROTOCOL, {"metaData": said})
    left = []
    for number, part in enumerate(parts):
        _write(drawn, folder / f"{number}.parquet", part)
        deleted = _deleted(drawn, len(part)) if drawn.random() < 0.6 else []
        left.append(_left(part, deleted))
        more = {}
        if deleted:
            text = encoded_vector(BitMap64(deleted).serialize())[1:]
            counted = {"sizeInBytes": 1, "cardinality": len(deleted)}
            more = {"deletionVector": {"storageType": "i", "pathOrInlineDv": text, **counted}}
        log.commit(number + 1, added(f"{number}.parquet", len(part), **more))
    return Made(f"delta:{folder}", left)


def _iceberg(drawn: random.Random, folder: Path, parts: list[pa.Table]) -> Made:
    """A table in which some files have position deletes, and some rows equality deletes."""
    table = Table(folder, SCHEMA)
    for part in parts:
        table.iceberg.append(part)
    tasks = table.iceberg.scan().plan_files()
    by_rows = {json.dumps(repr(part.to_pylist())): at for at, part in enumerate(parts)}
    left, positions = list(parts), {}
    for task in tasks:
        path = task.file.file_path
        held = pq.read_table(path)
        number = by_rows[json.dumps(repr(held.cast(SCHEMA).to_pylist()))]
        _write(drawn, folder / path, held)
        deleted = _deleted(drawn, len(held)) if drawn.random() < 0.6 else []
        if deleted:
            positions[path] = deleted
            left[number] = _left(parts[number], deleted)
    if positions:
        table.delete_positions(positions)
    if drawn.random() < 0.4 or not positions:
        table.delete(["small"], [(2,), (3,)])
        gone = pc.is_in(pa.concat_tables(left)["small"], value_set=pa.array([2, 3], pa.int32()))
        left = [pa.concat_tables(left).filter(pc.invert(gone))]
    return Made(table.name, left)


FORMATS: dict[str, Callable[[random.Random, Path, list[pa.Table]], Made]] = {
    "parquet": _parquet,
    "delta": _delta,
    "iceberg": _iceberg,
}


def _column(name: str, path: str) -> pa.Array:
    file = path.removeprefix("file:").partition("#")[0]
    return pq.read_table(file, columns=[name]).column(name).combine_chunks()


def _covers(drawn: random.Random) -> Callable[[str], bool]:
    if drawn.random() < 0.6:
        return lambda _: True
    seen: dict[str, bool] = {}
    return lambda path: seen.setdefault(path, drawn.random() < 0.7)


def _table(drawn: random.Random, kind: str, folder: Path) -> Made:
    """A table with indexes of several units, which may not know all files."""
    folder.mkdir()
    parts = [_rows(drawn, drawn.choice([1, 5, 6, 7, 23])) for _ in range(4)]
    made = FORMATS[kind](drawn, folder, parts)
    made.keys = [key for part in parts for key in part["id"].drop_null().to_pylist()]
    opened = open_table(made.name)
    for column in ("id", "small", "text", "day"):
        unit = drawn.choice(BLOCKS)
        build_index(
            opened, column, partial(_column, column), covers=_covers(drawn), rows_per_block=unit
        )
    return made


def _sorted(found: list[Any]) -> list[str]:
    return sorted(map(repr, found))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("case", range(CASES))
def test_the_rows_of_a_filter(tmp_path: Path, kind: str, case: int) -> None:
    """Arrow, Polars and DuckDB give the rows of drawn filters, for drawn tables."""
    drawn = random.Random(f"{kind} {case}")
    made = _table(drawn, kind, tmp_path / "t")
    dataset, frame = arrow.dataset(made.name), polars_engine.scan(made.name)
    whole = pl.DataFrame(pl.from_arrow(made.rows))
    for _ in range(PREDICATES):
        wanted = arrow_filter(drawn)
        expected = made.rows.filter(wanted)
        assert _sorted(dataset.to_table(filter=wanted).to_pylist()) == _sorted(expected.to_pylist())
        columns = drawn.sample(SCHEMA.names, 2)
        found = dataset.to_table(columns=columns, filter=wanted)
        assert _sorted(found.to_pylist()) == _sorted(expected.select(columns).to_pylist())
        assert dataset.count_rows(filter=wanted) == len(expected)
        point = pl.col("id") == drawn.choice([*made.keys, 0])
        few = frame.filter(point).select("id", "small").collect()
        assert _sorted(few.rows()) == _sorted(whole.filter(point).select("id", "small").rows())
        condition = drawn.choice(POLARS)
        assert _sorted(frame.filter(condition).collect().rows()) == _sorted(
            whole.filter(condition).rows()
        )
    con = duckdb.connect()
    con.execute("SET timezone = 'UTC'")
    duckdb_engine.relation(con, made.name).create_view("t")
    con.register("whole", made.rows)
    for text in SQL:
        found, expected = (
            con.execute(f"SELECT * FROM {of} WHERE {text}").fetchall() for of in ("t", "whole")
        )
        assert _sorted(found) == _sorted(expected), text


EDGES = (2, 3, 4, 7)
COUNT = 10


def _keys(start: int) -> pa.Table:
    keys = pa.array(range(start, start + COUNT), pa.int64())
    return pa.table({"k": keys, "n": pa.array([{"a": k} for k in keys.to_pylist()])})


def _folder(folder: Path, group: int, unit: int) -> str:
    """A folder of two files whose keys ascend, and an index on the key."""
    for start in (0, COUNT):
        pq.write_table(_keys(start), folder / f"{start}.parquet", row_group_size=group)
    name = f"parquet:{folder}"
    build_index(open_table(name), "k", partial(_column, "k"), rows_per_block=unit)
    return name


@pytest.mark.parametrize("group", EDGES)
@pytest.mark.parametrize("unit", EDGES)
def test_every_key(tmp_path: Path, group: int, unit: int) -> None:
    """Each key is found, in the rows of its block and in no others."""
    name = _folder(tmp_path, group, unit)
    frame, dataset = polars_engine.scan(name), arrow.dataset(name)
    for key in range(2 * COUNT):
        found = frame.filter(pl.col("k") == key).collect()
        assert found.rows() == [(key, {"a": key})]
        assert dataset.to_table(filter=pc.field("k") == key)["k"].to_pylist() == [key]
        (pruned,) = ls.last_pruning()
        row = key % COUNT
        block = min(unit, COUNT - row // unit * unit)
        assert (pruned.rows_read, pruned.rows_total) == (block, COUNT), key


def _damage(path: Path, group: int) -> None:
    """Overwrite the first column of a row group; size and time stay."""
    chunk = pq.read_metadata(path).row_group(group).column(0)
    data = bytearray(path.read_bytes())
    at = min(filter(None, (chunk.dictionary_page_offset, chunk.data_page_offset)))
    data[at : at + chunk.total_compressed_size] = b"x" * chunk.total_compressed_size
    was = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def test_row_groups_without_a_wanted_row_are_not_read(tmp_path: Path) -> None:
    """Damage in them goes unnoticed."""
    name = _folder(tmp_path, 2, 2)
    _damage(tmp_path / "0.parquet", 1)
    dataset = arrow.dataset(name)

    for key in (1, 4, 9):
        assert dataset.to_table(filter=pc.field("k") == key)["k"].to_pylist() == [key]
    with pytest.raises(UnsupportedError, match=r"0\.parquet cannot be read"):
        dataset.to_table(filter=pc.field("k") == 2)


def test_row_groups_of_iceberg_tables(tmp_path: Path) -> None:
    """The same holds where PyIceberg reads the file, as of a nested column, with deleted rows."""
    table = Table(tmp_path, _keys(0).schema)
    table.iceberg.append(_keys(0))
    (task,) = table.iceberg.scan().plan_files()
    path = Path(task.file.file_path)
    pq.write_table(pq.read_table(path), path, row_group_size=2)
    table.delete_positions({task.file.file_path: [3, 5, 8]})
    build_index(open_table(table.name), "k", partial(_column, "k"), rows_per_block=2)
    _damage(path, 1)
    frame = polars_engine.scan(table.name)

    for columns in (["k"], ["k", "n"]):
        for key in (0, 1, 5, 6, 8, 9):
            found = frame.filter(pl.col("k") == key).select(columns).collect().to_dicts()
            expected = [] if key in {5, 8} else [{"k": key, "n": {"a": key}}]
            assert found == [{name: row[name] for name in columns} for row in expected]
            (pruned,) = ls.last_pruning()
            assert pruned.rows_read == 2


def test_files_that_no_index_has_seen(tmp_path: Path) -> None:
    """A file that is new, and one that was rewritten under its name, are read whole."""
    name = _folder(tmp_path, 3, 4)
    pq.write_table(_keys(5), tmp_path / "0.parquet", row_group_size=4)
    pq.write_table(_keys(5), tmp_path / "new.parquet")

    found = polars_engine.scan(name).filter(pl.col("k") == 12).collect()

    assert found.height == 3
    (pruned,) = ls.last_pruning()
    assert (pruned.rows_read, pruned.rows_total, pruned.uncovered) == (4, COUNT, 2)


def test_a_file_that_is_rewritten_during_the_scan(tmp_path: Path) -> None:
    """The rows that its index named are those of another file, so it is read whole."""
    name = _folder(tmp_path, 3, 4)
    dataset = arrow.dataset(name)
    fragments = dataset.get_fragments(filter=pc.field("k").isin(pa.array([2, 15])))
    first = next(fragments)
    pq.write_table(_keys(14), tmp_path / f"{COUNT}.parquet", row_group_size=4)

    keys = [key for part in (first, *fragments) for key in part.to_table()["k"].to_pylist()]

    assert keys == [*range(4), *range(14, 14 + COUNT)]
    assert ReasonCode.WHOLE_FILES in {reason.code for reason in ls.last_pruning()[0].reasons}


def test_a_file_with_more_rows_than_its_index_knows(tmp_path: Path) -> None:
    """The last block reaches to the end of the file."""
    log = Log(tmp_path / "t")
    schema = {"type": "struct", "fields": [_spark_field(pa.field("k", pa.int64()))]}
    said = {**METADATA["metaData"], "schemaString": json.dumps(schema), "partitionColumns": []}
    log.commit(0, PROTOCOL, {"metaData": said})
    log.commit(1, added("a.parquet", COUNT))
    path, name = log.root / "a.parquet", f"delta:{log.root}"
    pq.write_table(_keys(0).select(["k"]), path)
    build_index(open_table(name), "k", partial(_column, "k"), rows_per_block=4)
    longer = pa.table({"k": [*range(COUNT), 9, 9]})
    pq.write_table(longer, path, row_group_size=5)

    found = polars_engine.scan(name).filter(pl.col("k") == 9).collect()

    assert found.height == 3


def test_hudi(tmp_path: Path) -> None:
    """Base files are read by their rows."""
    table = HudiTable(tmp_path)
    fields = [{"name": "k", "type": "long"}, {"name": "p", "type": "string"}]
    table.commit(1, schema={"type": "record", "name": "t", "fields": fields})
    held = pa.table({"k": range(COUNT), "p": ["a"] * COUNT})
    table.base("f", 1)
    (base,) = (tmp_path / "a").glob("*.parquet")
    pq.write_table(held, base, row_group_size=3)
    name = f"hudi:{tmp_path}"
    build_index(open_table(name), "k", partial(_column, "k"), rows_per_block=4)
    frame = polars_engine.scan(name)

    for key in range(COUNT):
        found = frame.filter(pl.col("k") == key).select("k", "p").collect()
        assert found.rows() == [(key, "a")]
        assert ls.last_pruning()[0].rows_read == (4 if key < 8 else 2)


def test_pyiceberg_reads_whole_files(tmp_path: Path) -> None:
    """Its scans give the same rows, and say that they know no rows of files."""
    table = Table(tmp_path, pa.schema([("k", pa.int64())])).iceberg
    for start in (0, COUNT):
        table.append(_keys(start).select(["k"]))
    build_index(open_table(table), "k", partial(_column, "k"), rows_per_block=3)

    found = pyiceberg_engine.scan(table, "k = 4").to_arrow()

    assert found["k"].to_pylist() == [4]
    (pruned,) = ls.last_pruning()
    assert (pruned.files_read, pruned.rows_read, pruned.rows_total) == (1, COUNT, COUNT)
    assert ReasonCode.WHOLE_FILES in {reason.code for reason in pruned.reasons}


@pytest.mark.parametrize("rows_per_group", [7_000, 40_000, 100_000])
def test_only_wanted_rows_are_read(tmp_path: Path, rows_per_group: int) -> None:
    """Ranges of rows anywhere in row groups of several batches: these rows, in order."""
    path = tmp_path / "a.parquet"
    texts = [None if at % 7 == 0 else str(at // 3) for at in range(90_001)]
    held = pa.table({"id": range(90_001), "text": texts})
    pq.write_table(held, path, row_group_size=rows_per_group)
    file = pq.ParquetFile(path)
    drawn = random.Random(rows_per_group)
    edges = [0, 1, 6_999, 7_000, 19_999, 20_000, 20_001, 39_999, 40_000, 60_000, 90_000, 90_001]
    for _ in range(60):
        some = sorted({*drawn.sample(edges, 2), *drawn.sample(range(1, 100_000), 2)})
        starts, ends = some[0 : len(some) // 2 * 2 : 2], some[1::2]
        found = read_rows(file, ["text", "id"], WantedRows(np.array(starts), np.array(ends)))
        ranges = zip(starts, ends, strict=True)
        wanted = pa.concat_tables([held.slice(start, end - start) for start, end in ranges])
        assert found.select(["id", "text"]) == wanted
