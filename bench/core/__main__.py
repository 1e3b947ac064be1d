"""``python -m bench.core``: the index core beside its peers, on every layout, in one run."""

from __future__ import annotations

import argparse
import math
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.core.bounds import bounds_of, stream_bound
from bench.core.layouts import LAYOUTS
from bench.core.measures import measured, probes_of
from bench.core.ours import Lakesieve
from bench.core.peers import PEERS
from bench.core.plot import plot
from bench.measure import finish, scratch_folder

if TYPE_CHECKING:
    from bench.core.layouts import Layout
    from bench.core.measures import Figures, Probes
    from bench.measure import Measured

SLOW = {"Lance BTREE"}


def main() -> int:
    """Run the chosen layouts; exit status 1 when a bound is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.core", description=__doc__)
    known = f"one of {', '.join(map(repr, LAYOUTS))} (default: all)".replace("%", "%%")
    choices = [[], *LAYOUTS]  # argparse looks up the default, too
    parser.add_argument(
        "layouts", nargs="*", metavar="LAYOUT", choices=choices, default=[], help=known
    )
    parser.add_argument("--rows", type=float, default=20e6, help="rows a layout (20e6)")
    parser.add_argument("--stream", type=float, default=200e6, help="pairs of the streaming build")
    parser.add_argument("--dir", type=Path, help="where data is kept (default: temporary)")
    parser.add_argument("--json", type=Path, help="write the figures as JSON to this file")
    parser.add_argument("--plot", type=Path, help="draw bytes against false files to this SVG")
    arguments = parser.parse_args()
    figures: list[Figures] = []
    bounds: list[Measured] = []
    rows: dict[str, int] = {}
    with scratch_folder() as scratch:
        root = arguments.dir or scratch
        for name in arguments.layouts or LAYOUTS:
            start = time.perf_counter()
            layout = LAYOUTS[name](int(arguments.rows), root)
            probes = probes_of(layout, np.random.default_rng(7))
            made = time.perf_counter() - start
            print(f"{name}: {len(layout.keys):,} rows, made in {made:.0f} s", file=sys.stderr)
            rows[name] = probes.rows
            found = list(_of_layout(layout, probes, scratch))
            print(f"\n{name}\n{_table(found, probes.rows)}")
            result = list(bounds_of(found, probes, layout.unit_count))
            print("\n".join(map(str, result)), flush=True)
            figures += found
            bounds += result
        if arguments.stream:
            bounds.append(stream_bound(int(arguments.stream)))
            print(f"\n{bounds[-1]}")
    if arguments.plot:
        plot(figures, rows, arguments.plot)
    return finish(bounds, arguments.json, figures=[figure.as_json() for figure in figures])


def _of_layout(layout: Layout, probes: Probes, scratch: Path) -> list[Figures]:
    found = [measured(layout, probes, "lakesieve", partial(Lakesieve.build, layout, scratch))]
    for name, peer in PEERS.items():
        if peer.supports(layout):
            build = partial(peer.build, layout, scratch)
            found.append(measured(layout, probes, name, build, slow=name in SLOW))
        if name == "Sieve" and peer.supports(layout):
            budget = partial(Lakesieve.build, layout, scratch, budget=found[-1].size)
            found.append(measured(layout, probes, "lakesieve budget", budget))
    return found


def _table(figures: list[Figures], rows: int) -> str:
    header = ("", "bits/row", "files", "best", "ranges", "absent", "M rows/s", "MiB")
    lines = [header]
    for f in figures:
        ranges = (
            "all"
            if f.range_files is None
            else " ".join(f"{ratio:.2f}" for ratio in f.range_files.values())
        )
        absent = "" if f.absent_hits is None else _odds(f.absent_hits)
        lines.append(
            (
                f.peer,
                f"{8 * f.size / rows:.3f}",
                f"{f.point_files:.2f}",
                f"{f.point_best:.2f}",
                ranges,
                absent,
                f"{rows / f.build_seconds / 1e6:.2f}",
                f"{f.peak_mib:.0f}",
            )
        )
    widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
    return "\n".join(
        "  " + "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def _odds(share: float) -> str:
    return "0" if share == 0 else f"1/{math.floor(1 / share)}"


if __name__ == "__main__":
    raise SystemExit(main())
