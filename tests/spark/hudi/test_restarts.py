"""A session with Hudi that is stopped and started again in one process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.restarts import SESSIONS, restarted

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.soak
def test_each_session_skips_files_of_hudi(tmp_path: Path) -> None:
    """Every session of the process reads one data file of four."""
    read = [session["read"] for session in restarted(tmp_path, "hudi")]

    assert read == [{"hudi": "1/4"}] * (SESSIONS + 1)
