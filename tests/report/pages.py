"""What the pages of the tests show."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.advisor.recent import RecentQueries, RecentQuery
from lakesieve.advisor.result import (
    AdviceCheck,
    ColumnAdvice,
    Estimate,
    TableAdvice,
    Verdict,
)
from lakesieve.demo.measurements import DemoIndex, DemoQuery, DemoResult

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FILES", "KEYS", "advice", "demo", "folder_of_keys", "recent"]

FILES, KEYS = 20, 2000


def folder_of_keys(folder: Path) -> Path:
    """Files of random keys, each key in two of them, in which one column ascends with the files.

    Args:
        folder: Is made.
    """
    folder.mkdir()
    drawn = random.Random("page")
    keys = [key for key in range(KEYS) for _ in range(2)]
    drawn.shuffle(keys)
    for file in range(FILES):
        mine = keys[file::FILES]
        table = {"key": mine, "sorted": range(file * len(mine), (file + 1) * len(mine))}
        table |= {"same": [file % 2 for _ in mine]}
        pq.write_table(
            pa.table({name: pa.array(v, pa.int64()) for name, v in table.items()}),
            folder / f"{file:02}.parquet",
        )
    return folder


def recent(text: str = "(isnotnull(key) AND (key = 1234567))") -> RecentQueries:
    """Queries, one with a long condition."""
    texts = (text, f"key IN ({','.join(map(str, range(5000, 5040)))})", "name = 'it is secret'")
    queries = [
        RecentQuery(
            text=one,
            shape=f"key = ? ({at})",
            read=None if at == 2 else FILES,
            seconds=None if at == 2 else 1.5,
            left_by_format=FILES,
            left=2 * at,
            indexes=("key",) if at else (),
            reasons=("index-used",),
        )
        for at, one in enumerate(texts)
    ]
    return RecentQueries(queries=tuple(queries), problems=("app-7: ends after 12 events (cut)",))


def advice(name: str = "lake.shop.orders") -> TableAdvice:
    """Advice with all verdicts.

    Args:
        name: Name of the table, and of a column.
    """
    columns = [
        ColumnAdvice(
            columns=(f"{name}_column_{verdict}", "second"),
            verdict=verdict,
            why=f"because of {name}",
            queries=1234,
            files_now=Estimate.exact(100_000),
            files_then=Estimate(value=12.3, low=1.2, high=34_567.8),
            seconds_saved=Estimate(value=81_234.5, low=70_000, high=90_000),
            index_bytes=Estimate(value=3.5e9, low=3.1e9, high=4.2e9),
            build_seconds=Estimate(value=4_000, low=3_000, high=5_000),
            refresh_seconds=Estimate(value=12.5, low=12.0, high=13.0),
            payback_days=None if verdict is Verdict.CLUSTERED else Estimate.exact(0.05),
            command=f"lakesieve create {name} column" if verdict is Verdict.INDEX else "",
        )
        for verdict in Verdict
    ]
    exact = Estimate.exact(17)
    check = AdviceCheck(
        columns=("a",),
        index="a",
        files_predicted=exact,
        files_measured=18,
        bytes_predicted=Estimate(value=1e6, low=9e5, high=2e6),
        bytes_measured=1_100_000,
    )
    return TableAdvice(
        table=name,
        files=100_000,
        rows=6_000_000_000,
        sampled_files=83,
        sampled_rows=5_000_000,
        queries=20_000,
        days=7.2,
        columns=tuple(columns),
        unqueried=tuple(f"column_{n}" for n in range(60)),
        checks=(check,),
        problems=(f"{name}: ends after 12 events (cut)",),
    )


def demo() -> DemoResult:
    """What a run of the demo measured."""
    queries = [
        DemoQuery(
            name=name,
            sql=f"SELECT * FROM lake.tpch.lineitem WHERE l_orderkey = {name}",
            rows=7,
            files_off=400,
            files_on=3,
            uncovered=0,
            seconds_off=1.25,
            seconds_on=0.1,
            speedup=12.5,
        )
        for name in ("point", "narrow range", "after an append")
    ]
    index = DemoIndex(
        column="l_orderkey",
        keys=1_500_000,
        bytes=3_900_000,
        bits_per_row=5.2,
        column_bytes=14_000_000,
        build_seconds=5.5,
    )
    return DemoResult(
        table="lake.tpch.lineitem",
        warehouse="demo-data/warehouse",
        scale=1,
        rows=6_001_215,
        files=400,
        table_bytes=310_000_000,
        indexes=(index,),
        queries=tuple(queries),
        seconds=84.0,
    )
