"""``python -m bench.serve``: clients that plan by themselves beside clients of the server."""

from __future__ import annotations

import itertools
import statistics
from typing import TYPE_CHECKING, Any

import httpx
import polars as pl
from pyiceberg.catalog.rest import RestCatalog

import lakesieve as ls
from bench.engines.table import RandomKeys, run
from bench.measure import Measured, after_scans, in_series, in_turn
from bench.serve import many_files
from bench.serve.server import ADDRESS, planned, server, throughput

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

PLAN_MILLISECONDS, PLANS_A_SECOND = 10.0, 200.0
SPEED_UP = {"Spark": 10.0, "PyIceberg": 50.0, "Polars": 50.0}
_MANY_FILES = 100_000
_MODE = "scan-planning-mode"


def _all(made: RandomKeys, scratch: Path) -> Iterator[Measured]:
    with server(scratch), httpx.Client() as client:
        for key in made.keys:
            planned(client, key)
        yield from _clients(made, scratch)
        keys = itertools.cycle(made.keys)
        taken = sorted(planned(client, next(keys)) for _ in range(200))
        yield Measured(
            name="a warm plan, as a client sees it",
            value=statistics.median(taken) * 1000,
            unit="ms",
            at_most=PLAN_MILLISECONDS,
            details={"99 of 100": f"{taken[197] * 1000:.1f} ms"},
        )
        yield Measured(
            name="plans a second, of four clients",
            value=throughput(made.keys),
            unit="plans/s",
            at_least=PLANS_A_SECOND,
        )
    yield from many_files.measured(scratch / "many", _MANY_FILES)


def _clients(made: RandomKeys, scratch: Path) -> Iterator[Measured]:
    keys = itertools.cycle(made.keys)
    served = RestCatalog("served", uri=ADDRESS, **{_MODE: "server"}).load_table("db.t")

    def pyiceberg(table: Any) -> None:
        assert table.scan(row_filter=f"k = {next(keys)}").to_arrow().num_rows == 1

    def polars(table: Any) -> None:
        assert pl.scan_iceberg(table).filter(pl.col("k") == next(keys)).collect().height == 1

    for name, way in (("PyIceberg", pyiceberg), ("Polars", polars)):
        ways = {
            "own": lambda way=way: way(made.table),
            "served": lambda way=way: way(served),
        }
        cold = in_turn(ways)
        yield _compared(name, in_series(ways), after_scans(cold))
    spark = ls.local_session(scratch / "spark", formats=["iceberg"], conf=_catalogs())

    def of_spark(catalog: str) -> None:
        found = spark.sql(f"SELECT * FROM {catalog}.db.t WHERE k = {next(keys)}").collect()
        assert len(found) == 1

    try:
        ways = {"own": lambda: of_spark("own"), "served": lambda: of_spark("served")}
        yield _compared("Spark", in_turn(ways), {})
    finally:
        spark.stop()


def _catalogs() -> dict[str, str]:
    """Spark's settings of the same catalog, planned by the client and by the server."""
    settings = {}
    for name, mode in (("own", "client"), ("served", "server")):
        catalog = f"spark.sql.catalog.{name}"
        settings |= {
            catalog: "org.apache.iceberg.spark.SparkCatalog",
            f"{catalog}.type": "rest",
            f"{catalog}.uri": ADDRESS,
            f"{catalog}.{_MODE}": mode,
        }
    return settings


def _compared(name: str, times: Mapping[str, float], details: Mapping[str, str]) -> Measured:
    off, on = times["own"] * 1000, times["served"] * 1000
    return Measured(
        name=f"{name}: point query, speed-up",
        value=off / on,
        unit="x",
        at_least=SPEED_UP[name],
        details={"own": f"{off:.0f} ms", "served": f"{on:.1f} ms", **details},
    )


if __name__ == "__main__":
    raise SystemExit(run("python -m bench.serve", __doc__, _all))
