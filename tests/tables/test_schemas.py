"""Every format that a table's name can say has a reader of its schemas."""

from __future__ import annotations

from lakesieve.tables.names import FORMATS
from lakesieve.tables.schemas import COLUMNS_OF


def test_no_format_is_left_out() -> None:
    """The planner can read the schema of a scan of each format."""
    assert set(COLUMNS_OF) == set(FORMATS)
