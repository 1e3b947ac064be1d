"""Rows of directories of Parquet files are those of their files, with and without indexes."""

from __future__ import annotations

import random
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.depth import depth
from tests.engines.drawn import arrow_filter
from tests.engines.tables import COLUMNS, index_of, rows

import lakesieve as ls
from lakesieve.engines import arrow
from lakesieve.engines import duckdb as duckdb_engine
from lakesieve.engines import polars as polars_engine
from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.index.reasons import ReasonCode
from lakesieve.tables.opening import open_table
from lakesieve.tables.parquet.schema import printed_variants

if TYPE_CHECKING:
    from pathlib import Path

FILES, ROWS = 8, 6
PREDICATES = depth("PREDICATES", test=20, soak=1000)


def _sorted(found: pa.Table) -> list[str]:
    return sorted(map(repr, found.to_pylist()))


def _write(folder: Path, name: str, held: pa.Table) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(held, folder / name)


def test_filters_are_exact(tmp_path: Path) -> None:
    """Filters of every kind on columns of every type; files that no index knows are read."""
    drawn = random.Random("parquet")
    folder = tmp_path / "wäre house 100%25"
    held = [rows(drawn, ROWS) for _ in range(FILES)]
    for number, part in enumerate(held):
        _write(folder, f"{number}.parquet", part)
    for column in COLUMNS:
        if column != "flag":
            index_of(
                open_table(f"parquet:{folder}"), column, covers=lambda path: "/3.parq" not in path
            )
    whole, dataset = pa.concat_tables(held), arrow.dataset(f"parquet:{folder}")
    total = read = 0
    for _ in range(PREDICATES):
        wanted = arrow_filter(drawn)
        columns = drawn.sample(whole.column_names, 3)
        assert _sorted(dataset.to_table(filter=wanted)) == _sorted(whole.filter(wanted)), wanted
        (pruned,) = ls.last_pruning()
        total, read = total + pruned.files_total, read + pruned.files_read
        chosen = dataset.to_table(columns=columns, filter=wanted)
        assert _sorted(chosen) == _sorted(whole.filter(wanted).select(columns))
    assert read < total


def test_partitions_are_columns(tmp_path: Path) -> None:
    """Their values come from the names of folders, nulls and odd signs among them."""
    folders = {
        "day=2020-01-02/p=x%20y": (date(2020, 1, 2), "x y"),
        "day=2020-01-03/p=50%25+é": (date(2020, 1, 3), "50%+é"),
        "day=__HIVE_DEFAULT_PARTITION__/p=%2F": (None, "/"),
    }
    for at, path in enumerate(folders):
        _write(tmp_path, f"{path}/a.parquet", pa.table({"k": [at, at + 10]}))
    (tmp_path / "_SUCCESS").touch()
    index_of(open_table(f"parquet:{tmp_path}"), "k", covers=lambda _: True)

    found = polars_engine.scan(f"parquet:{tmp_path}").collect()

    expected = [
        {"k": key, "day": day, "p": text}
        for at, (day, text) in enumerate(folders.values())
        for key in (at, at + 10)
    ]
    assert sorted(found.to_dicts(), key=repr) == sorted(expected, key=repr)
    one = polars_engine.scan(f"parquet:{tmp_path}").filter(pl.col("k") == 11).collect()
    assert one.to_dicts() == [{"k": 11, "day": date(2020, 1, 3), "p": "50%+é"}]
    assert ls.last_pruning()[0].files_read == 1
    con = duckdb.connect()
    query = duckdb_engine.relation(con, f"parquet:{tmp_path}").filter("p = 'x y' AND k = 10")
    assert query.fetchall() == [(10, date(2020, 1, 2), "x y")]


def test_files_of_other_columns(tmp_path: Path) -> None:
    """The first file has the schema: what others lack is null, what is narrower is widened."""
    _write(tmp_path, "a.parquet", pa.table({"k": [1], "Text": ["x"], "real": [0.5]}))
    _write(tmp_path, "b.parquet", pa.table({"k": pa.array([2], pa.int16()), "more": ["y"]}))
    single = pa.array([1.5], pa.float32())
    _write(tmp_path, "c.parquet", pa.table({"real": single, "TEXT": pa.array([b"z"])}))

    found = arrow.dataset(f"parquet:{tmp_path}").to_table()

    assert found.schema == pa.schema(
        {"k": pa.int64(), "Text": pa.string(), "real": pa.float64()}.items()
    )
    assert _sorted(found) == _sorted(
        pa.table({"k": [1, 2, None], "Text": ["x", None, "z"], "real": [0.5, None, 1.5]})
    )


def test_a_file_rewritten_in_place_is_read(tmp_path: Path) -> None:
    """An index knows a file by its size and time, and a scan sees the files of its moment."""
    for number in range(3):
        _write(tmp_path, f"{number}.parquet", pa.table({"k": [number]}))
    index_of(open_table(f"parquet:{tmp_path}"), "k", covers=lambda _: True)
    frame = polars_engine.scan(f"parquet:{tmp_path}").filter(pl.col("k") == 7)
    assert frame.collect().height == 0
    assert ls.last_pruning()[0].files_read == 0

    _write(tmp_path, "1.parquet", pa.table({"k": [7, 8]}))
    _write(tmp_path, "new.parquet", pa.table({"k": [7]}))

    assert frame.collect().height == 2
    assert ls.last_pruning()[0].files_read == 2


def test_summaries_have_no_rows(tmp_path: Path) -> None:
    """A ``_metadata`` file tells of the rows of other files, which are read there."""
    held = pa.table({"k": [1, 2, 3]})
    collected: list[Any] = []
    pq.write_table(held, tmp_path / "a.parquet", metadata_collector=collected)
    collected[0].set_file_path("a.parquet")
    pq.write_metadata(held.schema, tmp_path / "_metadata", metadata_collector=collected)

    assert arrow.dataset(f"parquet:{tmp_path}").to_table().to_pylist() == held.to_pylist()


@pytest.mark.parametrize(
    "held",
    [
        pa.table({"k": ["text"]}),
        pa.table({"k": [datetime(2020, 1, 2)]}),  # noqa: DTZ001 - a moment without a zone
        pa.table({"k": [[1]]}),
        pa.table({"k": [1.5]}),
        pa.table({"k": pa.array([1], pa.decimal128(5, 0))}),
        pa.table({"k": pa.array([1], pa.uint64())}),
    ],
    ids=("text", "moment", "list", "fraction", "decimal", "unsigned"),
)
def test_other_types_are_refused(tmp_path: Path, held: pa.Table) -> None:
    """A file whose column has another type is named by that, and never read as nulls."""
    _write(tmp_path, "a.parquet", pa.table({"k": [1]}))
    _write(tmp_path, "b.parquet", held)

    with pytest.raises(UnsupportedError, match="column k is not read without Spark") as caught:
        arrow.dataset(f"parquet:{tmp_path}").to_table()
    assert caught.value.kind is ErrorKind.UNSUPPORTED_TABLE


SPARK_2, SPARK_4 = ({"org.apache.spark.version": version} for version in ("2.4.8", "4.1.0"))
LEGACY = SPARK_4 | {"org.apache.spark.legacyDateTime": ""}
DAY = date(1500, 1, 1)


@pytest.mark.parametrize("marks", [LEGACY, SPARK_2], ids=["legacy", "Spark 2"])
@pytest.mark.parametrize(
    "old",
    [
        pa.array([DAY]),
        pa.array([{"day": DAY}]),
        pa.array([[None, DAY]]),
        pa.array([[("a", DAY)]], pa.map_(pa.string(), pa.date32())),
        pa.array([-(2**52)], pa.timestamp("us", "UTC")),
    ],
    ids=["date", "struct", "list", "map", "moment"],
)
def test_old_times_of_another_calendar_are_refused(
    tmp_path: Path, old: pa.Array, marks: dict[str, str]
) -> None:
    """Old times that Spark wrote by the Julian calendar would be read as others."""
    held = pa.table({"k": [1], "d": old})
    _write(tmp_path, "a.parquet", held.replace_schema_metadata(marks))

    dataset = arrow.dataset(f"parquet:{tmp_path}")
    with pytest.raises(UnsupportedError, match=r"column d is not read .* Julian calendar"):
        dataset.to_table()
    assert dataset.to_table(columns=["k"]).to_pylist() == [{"k": 1}]


@pytest.mark.parametrize(
    ("day", "marks"), [(date(1582, 10, 15), SPARK_2), (date(2026, 1, 1), LEGACY), (DAY, SPARK_4)]
)
def test_times_of_both_calendars_are_read(tmp_path: Path, day: date, marks: dict[str, str]) -> None:
    """Modern times of a file in the old calendar are read, and old times in today's calendar."""
    held = pa.table({"d": [day]})
    _write(tmp_path, "a.parquet", held.replace_schema_metadata(marks))
    assert arrow.dataset(f"parquet:{tmp_path}").to_table().to_pylist() == [{"d": day}]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pa.array([1.5], pa.float32()), pa.array([0.1], pa.float64())),
        (pa.array([1], pa.int32()), pa.array([5], pa.int64())),
        (pa.array([1], pa.int8()), pa.array([500], pa.int32())),
        (pa.array([1], pa.decimal128(5, 2)), pa.array([1], pa.decimal128(7, 3))),
        (pa.array([1.5]), pa.array([2**60], pa.int64())),
        (pa.array(["a"]), pa.array([b"\xff"])),
        (pa.array([1], pa.timestamp("us", "UTC")), pa.array([1], pa.date32())),
    ],
    ids=("float", "int", "byte", "decimal", "double", "text", "moment"),
)
def test_what_does_not_fit_is_refused(tmp_path: Path, first: pa.Array, second: pa.Array) -> None:
    """Numbers are never narrowed, and no error of Arrow's reaches the user."""
    _write(tmp_path, "a.parquet", pa.table({"x": first, "k": [1]}))
    _write(tmp_path, "b.parquet", pa.table({"x": second, "k": [2]}))
    dataset = arrow.dataset(f"parquet:{tmp_path}")

    with pytest.raises(UnsupportedError, match="column x is not read without Spark"):
        dataset.to_table()
    assert sorted(dataset.to_table(columns=["k"])["k"].to_pylist()) == [1, 2]


def test_a_column_that_cannot_be_read_closes_no_table(tmp_path: Path) -> None:
    """Nanoseconds, UUIDs and times of the day are refused alone; other columns are read."""
    held = pa.table(
        {
            "k": [1],
            "nanos": pa.array([5], pa.timestamp("ns")),
            "clock": pa.array([5], pa.time64("us")),
            "money": pa.array([5], pa.decimal256(60, 2)),
        }
    )
    _write(tmp_path, "a.parquet", held)
    frame = polars_engine.scan(f"parquet:{tmp_path}")
    dataset = arrow.dataset(f"parquet:{tmp_path}")

    assert frame.collect_schema().names() == held.column_names
    assert frame.select("k").collect().to_dicts() == [{"k": 1}]
    for name in ("nanos", "clock", "money"):
        assert dataset.schema.field(name).type == pa.null()
        with pytest.raises(UnsupportedError, match=f"The column {name} is not read without Spark"):
            dataset.to_table(columns=[name])


def test_newer_types_of_arrow_are_read(tmp_path: Path) -> None:
    """Lists of a fixed size, views, JSON and columns of nulls are stored as older types."""
    texts = pa.ExtensionArray.from_storage(pa.json_(pa.string()), pa.array(["[1]", None]))
    held = pa.table(
        {
            "fixed": pa.array([[1, 2], None], pa.list_(pa.int32(), 2)),
            "seen": pa.array([[1], None], pa.list_view(pa.int32())),
            "view": pa.array(["a", None], pa.string_view()),
            "json": texts,
            "none": pa.nulls(2),
            "span": pa.array([5, None], pa.duration("us")),
        }
    )
    _write(tmp_path, "a.parquet", held)
    found = arrow.dataset(f"parquet:{tmp_path}").to_table()

    assert found.to_pylist() == [
        {"fixed": [1, 2], "seen": [1], "view": "a", "json": "[1]", "none": None, "span": 5},
        dict.fromkeys(held.column_names),
    ]


def test_empty_files_and_markers_have_no_rows(tmp_path: Path) -> None:
    """What object stores and broken writers leave behind is listed, and not read."""
    for name in ("p=1/b.parquet", "p=2/b.parquet"):
        _write(tmp_path, name, pa.table({"k": [1]}))
    for name in ("p=1/a.parquet", "p=1_$folder$", "p=2/_SUCCESS"):
        (tmp_path / name).touch()
    # Spark does not read a file beside folders of partitions
    _write(tmp_path, "z.parquet", pa.table({"k": [9]}))

    found = polars_engine.scan(f"parquet:{tmp_path}").collect()
    assert sorted(found.rows()) == [(1, 1), (1, 2)]


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    """A file that is no Parquet ends in one line with its name."""
    _write(tmp_path, "a.parquet", pa.table({"k": [1]}))
    (tmp_path / "readme.txt").write_text("hello")
    with pytest.raises(UnsupportedError, match=r"The data file readme\.txt cannot be read"):
        arrow.dataset(f"parquet:{tmp_path}").to_table()


def test_shredded_variants_are_refused(tmp_path: Path) -> None:
    """A VARIANT, which Arrow takes for a struct, is refused by name."""
    inner = {"metadata": pa.binary(), "value": pa.binary()}
    held = pa.table({"k": [1], "v": pa.array([None], pa.struct(inner))})
    _write(tmp_path, "a.parquet", held)
    assert arrow.dataset(f"parquet:{tmp_path}").to_table(columns=["v"]).num_rows == 1
    printed = "  optional group field_id=-1 v (Variant(1)) {"
    assert printed_variants([printed, "    required binary field_id=-1 metadata;"]) == {"v"}


def test_a_first_file_of_another_type_is_the_reason(tmp_path: Path) -> None:
    """A directory takes its types from the first file: an index on the former type says so."""
    _write(tmp_path, "5.parquet", pa.table({"k": pa.array([1, 2], pa.int32())}))
    index_of(open_table(f"parquet:{tmp_path}"), "k", covers=lambda _: True)
    _write(tmp_path, "0.parquet", pa.table({"k": pa.array([3, 4], pa.int64())}))

    found = ls.find_files(f"parquet:{tmp_path}", "k = 1")
    with pytest.raises(UnsupportedError, match="indexed as integer, now has the type long"):
        ls.open_index(f"parquet:{tmp_path}", "k").contains([1])

    assert len(found.paths) == 2
    assert {r.code: r.detail for r in found.reasons}[ReasonCode.TYPE_CHANGED] == (
        "k was built on k of type integer, read now as long"
    )


def test_names_like_those_of_partitions_are_data(tmp_path: Path) -> None:
    """Spark hides names that begin with an underscore unless they have an equals sign."""
    for at, name in enumerate(("a=1/_x=1.parquet", "a=1/n.parquet", "a=2/_y=2.parquet")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        _write(tmp_path, name, pa.table({"k": [at]}))

    rows = polars_engine.scan(f"parquet:{tmp_path}").collect()

    assert sorted(rows.select("k", "a").rows()) == [(0, 1), (1, 1), (2, 2)]


def test_dates_after_those_of_python(tmp_path: Path) -> None:
    """A partition of a year with five digits stays, and others are still skipped."""
    for day in ("+10000-01-01", "2020-01-01", "2021-01-01"):
        (tmp_path / f"p={day}").mkdir()
        _write(tmp_path, f"p={day}/f.parquet", pa.table({"k": [1]}))

    found = ls.find_files(f"parquet:{tmp_path}", "p = DATE'2020-01-01'")

    assert (len(found.paths), found.total) == (2, 3)
