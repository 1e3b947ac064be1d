"""Defaults that functions of the package share with the options of the command line."""

from __future__ import annotations

from datetime import timedelta

WAREHOUSE = "warehouse"
"""Folder of the embedded catalog."""

ABSENT_HITS = 1 / 256
"""Share of the look-ups of absent keys that may find a unit."""

COMPACTION = "16"
"""Compaction policy of an index: how many delta segments may lie side by side."""

RETAIN_COMMITS = 10
"""Last commits of an index whose states a vacuum keeps."""

SAFETY_AGE = timedelta(hours=24)
"""A vacuum deletes nothing that is younger."""

MARKED_FILES = 0.2
"""Share of data files with row-level deletes above which ``status`` suggests upkeep."""

SHOWN_KEYS = 20
"""How many keys a check or a look-up shows."""

SAMPLE_ROWS = 5_000_000
"""Rows whose keys the advisor reads for trials."""

MIN_SECONDS_SAVED = 1.0
"""Seconds of reading a day that an index must save to be advised."""

MAX_PAYBACK_DAYS = 30.0
"""Days after which building an index must be paid to be advised."""

ADDRESS = "127.0.0.1"
"""Address on which servers listen: of this machine alone."""
