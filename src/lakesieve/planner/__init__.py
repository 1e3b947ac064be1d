"""The planner: answers which data files the scans of a query engine must read.

An engine that runs in a JVM asks by a protocol of JSON texts, which
``docs/design/0030-the-protocol-between-jvm-and-python.md`` specifies. Nothing here needs Spark.
"""

from __future__ import annotations

from lakesieve.planner.answers import refusal
from lakesieve.planner.planner import Planner
from lakesieve.planner.requests import PROTOCOL

__all__ = ["PROTOCOL", "Planner", "refusal"]
