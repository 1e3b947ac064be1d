"""``python -m bench.engines``: each engine's point query, by its own scan and through the index."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow.compute as pc
import pyarrow.dataset as ds

from bench.engines.table import RandomKeys, run
from bench.measure import Measured, after_scans, in_series, in_turn
from lakesieve.engines import arrow, engine_scans
from lakesieve.engines import duckdb as by_duckdb
from lakesieve.engines import polars as by_polars
from lakesieve.engines import pyiceberg as by_pyiceberg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SPEED_UP, MILLISECONDS, SHARE = 20.0, 30.0, 2.0


def _measured(made: RandomKeys, _: Path) -> Iterator[Measured]:
    keys = itertools.cycle(made.keys)
    for name, own, indexed in _ways(made):
        lookups: list[float] = []
        # warm is an index whose parts are in memory
        for key in made.keys:
            _one(indexed, key)

        def through(indexed: Callable[[int], int] = indexed, into: Any = lookups) -> object:
            with _timed_lookups(into):
                return _one(indexed, next(keys))

        ways = {"own": lambda own=own: _one(own, next(keys)), "indexed": through}
        cold = in_turn(ways)
        share = sorted(lookups)[len(lookups) // 2] * 1000
        times = in_series(ways)
        off, on = times["own"] * 1000, times["indexed"] * 1000
        details = {"own": f"{off:.0f} ms", "indexed": f"{on:.1f} ms"} | after_scans(cold)
        yield Measured(
            name=f"{name}: point query, speed-up",
            value=off / on,
            unit="x",
            at_least=SPEED_UP,
            details=details,
        )
        yield Measured(name=f"{name}: warm", value=on, unit="ms", at_most=MILLISECONDS)
        yield Measured(name=f"{name}: of that the index", value=share, unit="ms", at_most=SHARE)


def _one(way: Callable[[int], int], key: int) -> int:
    found = way(key)
    assert found == 1, f"{found} rows of the key {key}"
    return found


def _ways(
    made: RandomKeys,
) -> Iterator[tuple[str, Callable[[int], int], Callable[[int], int]]]:
    """Each engine's own best way to ask for a key, and the way through the index."""
    table = made.table
    yield (
        "PyIceberg",
        lambda key: int(table.scan(row_filter=f"k = {key}").to_arrow().num_rows),
        lambda key: int(by_pyiceberg.scan(table, f"k = {key}").to_arrow().num_rows),
    )

    def scan_iceberg(key: int) -> int:
        return int(pl.scan_iceberg(table).filter(pl.col("k") == key).collect().height)

    frame = by_polars.scan(table)
    yield (
        "Polars",
        scan_iceberg,
        lambda key: int(frame.filter(pl.col("k") == key).collect().height),
    )

    def enabled(key: int) -> int:
        by_pyiceberg.enable()
        try:
            return scan_iceberg(key)
        finally:
            by_pyiceberg.disable()

    yield "Polars' scan_iceberg, enabled", scan_iceberg, enabled
    con = duckdb.connect()
    con.from_parquet(made.paths).create_view("own")
    by_duckdb.relation(con, table).create_view("indexed")

    def query(view: str, key: int) -> int:
        return len(con.execute(f"SELECT k, s FROM {view} WHERE k = {key}").fetchall())

    yield "DuckDB", lambda key: query("own", key), lambda key: query("indexed", key)
    plain, indexed = ds.dataset(made.paths, format="parquet"), arrow.dataset(table)
    yield (
        "Arrow dataset",
        lambda key: int(plain.to_table(filter=pc.field("k") == key).num_rows),
        lambda key: int(indexed.to_table(filter=pc.field("k") == key).num_rows),
    )


class _timed_lookups:  # noqa: N801 - used as a statement
    """Times what the index itself does of a query: looking up, and judging the files."""

    _TIMED = ((engine_scans.FilePruner, "prune"), (engine_scans.EngineScan, "files_to_read"))

    def __init__(self, into: list[float]) -> None:
        self._into = into
        self._spent = 0.0
        self._plain = [getattr(owner, name) for owner, name in self._TIMED]

    def __enter__(self) -> None:
        for (owner, name), plain in zip(self._TIMED, self._plain, strict=True):
            setattr(owner, name, self._timed(plain))

    def __exit__(self, *_: object) -> None:
        for (owner, name), plain in zip(self._TIMED, self._plain, strict=True):
            setattr(owner, name, plain)
        self._into.append(self._spent)

    def _timed(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **rest: Any) -> Any:
            start = time.perf_counter()
            result = plain(*args, **rest)
            self._spent += time.perf_counter() - start
            return result

        return timed


if __name__ == "__main__":
    raise SystemExit(run("python -m bench.engines", __doc__, _measured))
