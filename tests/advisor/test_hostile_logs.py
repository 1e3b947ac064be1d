"""Event logs that are made to cost time or memory cost little, and have clear errors."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa
import pytest
from tests.advisor.test_event_log import TABLE, above, ended, query, scan, started

from lakesieve.advisor.condition import read_condition, read_iceberg_filters
from lakesieve.advisor.event_log import read_event_logs
from lakesieve.advisor.log_files import log_files
from lakesieve.advisor.table_scans import scans_of
from lakesieve.predicate.expression import And, Compare, Expr
from lakesieve.predicate.parse import parse_sql

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")
LONG = 80_000
WORD = "x" * LONG
KINDS: dict[tuple[str, ...], str] = {
    ("k",): "integer",
    ("s",): "string",
    ("day",): "date",
    ("real",): "float",
}
# as long takes what is read in time with the length; with its square it takes a minute
SECONDS = 2.0


def in_time(act: Callable[[], T]) -> T:
    """Return the result of a call that must not take long."""
    start = time.monotonic()
    result = act()
    assert time.monotonic() - start < SECONDS
    return result


@pytest.mark.parametrize(
    "text",
    [
        WORD,
        f"(k#1.{'a.' * LONG}, 5)",
        f"(k#1{'.a' * LONG}! = 5)",
        f"({WORD} = 5)",
        f"({'5 < ' * (LONG // 4)}k#1)",
        f"k#1 IN ({'(' * LONG}",
        "(" * LONG,
        "(" * 150 + "k#1 = 5" + " AND k#1 = 5)" * 150,
        f"{'(' * (150 + LONG // 2)}{')' * (LONG // 2)}{' AND k#1 = 5)' * 150}",
        f"{'(' * 200}{'(k#1 = 5) OR ' * (LONG // 13)}",
        f"isnotnull({WORD})",
        f"isnull(k#1{'.a' * LONG}(",
        f"k#1 INSET ... {'1' * LONG} more",
        f"Contains(s#1, {WORD})",
        f"(lower({'(' * 9_000}s#1{')' * 9_000}) = x)",
        f"({'lower(' * 2_000}s#1{')' * 2_000} = x)",
        f"(concat({'s#1, ' * 3_000}s#1) = x)",
        f"(cast({'s#1 as date ' * 1_500}) = x)",
        f"exists(s#1, lambdafunction(({', lambda x#1' * 1_500}), lambda x#1, false))",
        f"s#1 LIKE {' ESCAPE ' * 2_000}",
        "(" * 150 + "lower(s#1) = 5" + " AND lower(s#1) = 5)" * 150,
        f"{'(lower(s#1) = x AND ' * 190}k#1 = 5{')' * 190}",
    ],
)
def test_long_conditions_take_little_time(text: str) -> None:
    """A condition is parsed in linear time, whatever it repeats."""
    in_time(lambda: read_condition(text, KINDS))


@pytest.mark.parametrize(
    "text",
    [
        WORD,
        f"Project [{WORD}]",
        f"Project [k#1 AS {WORD}]",
        f"{WORD} [a], [b], Inner",
        f"SortMergeJoin [{WORD}], [{WORD}], Inner",
        f"BatchScan lake.db.t[{WORD}] [{'filters=' * (LONG // 8)}]",
        f"BatchScan lake.db.t[k#1] [filters={', ' * (LONG // 2)}]",
    ],
)
@pytest.mark.parametrize("name", ["Project", "BatchScan lake.db.t"])
def test_long_plans_take_little_time(name: str, text: str) -> None:
    """The text of each plan node is parsed in linear time."""
    in_time(lambda: scans_of(above(name, text, scan()), [TABLE]))


def test_long_conditions_are_read_as_before() -> None:
    """Columns in structs, nested brackets and mirrored comparisons keep their meaning."""
    kinds = KINDS | {("st", "a"): "integer"}
    text = "((k#1L = 5) AND ((6 < st#2.a) AND (k#1L < 9)))"

    def compare(column: tuple[str, ...], op: str, value: int) -> Expr:
        literal = parse_sql(f"k = {value}")
        assert isinstance(literal, Compare)
        return Compare(column=column, op=op, value=literal.value)

    inner = And(args=(compare(("st", "a"), ">", 6), compare(("k",), "<", 9)))
    assert read_condition(text, kinds) == And(args=(compare(("k",), "=", 5), inner))


@pytest.mark.parametrize("number", ["1e400", "1e999999999", "-1e999999999", "NaN", "9" * 5000])
def test_numbers_that_no_column_holds(number: str) -> None:
    """A number that no column holds neither fails nor takes long."""
    in_time(lambda: read_condition(f"((k#1 = {number}) AND (real#1 = {number}))", KINDS))
    in_time(lambda: read_iceberg_filters(f"day = {number}, k = {number}", KINDS))


def test_a_scale_that_no_decimal_has() -> None:
    """A cast to a decimal with a scale of millions is not computed."""
    in_time(lambda: parse_sql("k = CAST(1 AS DECIMAL(38, 3000000))"))
    found = parse_sql("k = CAST(1 AS DECIMAL(38, 2))")
    assert isinstance(found, Compare)
    assert (found.value.value, found.value.scale) == (Decimal(1), 2)


@pytest.mark.parametrize(
    "event",
    [
        started(1, scan(), at=10**400),
        ended(1, at=10**400),
        {"Event": "SparkListenerApplicationStart", "Timestamp": 10**400},
    ],
)
@pytest.mark.parametrize("infinite", [True, False])
def test_times_that_no_clock_tells(tmp_path: Path, event: dict[str, Any], infinite: bool) -> None:
    """An event with an impossible time is named and left out, and the others count."""
    line = json.dumps(event)
    if infinite:
        line = line.replace(str(10**400), "1e400")
    lines = [json.dumps(one) for one in query(7, scan())] + [line]
    (tmp_path / "app-1").write_text("\n".join(lines))

    read = read_event_logs([str(tmp_path / "app-1")], [TABLE])

    assert len(read.uses) == 1
    assert read.days == 1
    assert any("is not a complete event" in problem for problem in read.problems)


def _compressed(path: Path, lines: int, line: bytes, codec: str) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.CompressedOutputStream(sink, codec) as stream:
        for _ in range(lines):
            stream.write(line)


def test_a_line_that_is_longer_than_any_event(tmp_path: Path) -> None:
    """A very long line takes little memory, and the events after it are read."""
    path = tmp_path / "app-1.zstd"
    events = [json.dumps(event).encode() + b"\n" for event in query(7, scan())]
    with pa.OSFile(str(path), "wb") as sink, pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(json.dumps(started(1, scan())).encode()[:-1] + b', "x": [')
        for _ in range(40):
            stream.write(b"[]," * (1 << 19))
        stream.write(b"0]}\n" + b"".join(events))
    assert path.stat().st_size < 100_000

    (file,) = log_files(str(path))
    assert max(map(len, file.lines())) < 10_000
    read = read_event_logs([str(path)], [TABLE])
    assert len(read.uses) == 1
    assert read.problems == (f"{path}: line 1 is not a complete event and is left out",)


def _problems(path: Path) -> tuple[str, ...]:
    return in_time(lambda: read_event_logs([str(path)], [TABLE])).problems


@pytest.mark.parametrize(
    ("line", "said"),
    [(b"x" * ((1 << 20) - 1), "its decompressed size"), (b"", "consecutive lines are not events")],
)
def test_a_file_that_grows_without_end(tmp_path: Path, line: bytes, said: str) -> None:
    """A file that decompresses to thousands of times its size is read up to a limit."""
    path = tmp_path / "app-1.zstd"
    block = (line + b"\n") * ((1 << 20) // (len(line) + 1))
    _compressed(path, 80, block, "zstd")

    (problem,) = _problems(path)
    assert said in problem
