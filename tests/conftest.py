"""Settings shared by every test: how many examples are drawn, and the fast tests first."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from tests.depth import depth
from tests.java_options import ARCHIVE, submit_arguments

# deadlines measure the machine, not the code
settings.register_profile(
    "lakesieve",
    max_examples=depth("EXAMPLES", test=50, soak=1000),
    deadline=None,
    # a busy machine draws slowly
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("lakesieve")

_SHARED = [f"-XX:SharedArchiveFile={ARCHIVE}"] if ARCHIVE.exists() else []
os.environ.setdefault("PYSPARK_SUBMIT_ARGS", submit_arguments(*_SHARED))


@pytest.hookimpl(trylast=True)  # when the folders have set their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that need no JVM first, the house rules before all others."""
    items.sort(
        key=lambda item: (
            item.get_closest_marker("spark") is not None,
            "/house/" not in item.nodeid,
        )
    )
