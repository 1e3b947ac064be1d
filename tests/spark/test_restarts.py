"""A session that is stopped and started again in one process, as in every notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.restarts import SESSIONS, restarted

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = ("iceberg", "parquet")


def test_each_session_skips_files(tmp_path: Path) -> None:
    """Every session of the process reads one data file of four."""
    sessions = restarted(tmp_path, *FORMATS)

    assert sessions == [dict.fromkeys(FORMATS, "1/4")] * (SESSIONS + 1)
