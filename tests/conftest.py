"""Settings shared by every test: Hypothesis profiles, and the fast tests first."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# deadlines measure the machine, not the code
settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci", max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@pytest.hookimpl(trylast=True)  # when the folders have set their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that need no JVM first, the house rules before all others."""
    items.sort(
        key=lambda item: (
            item.get_closest_marker("spark") is not None,
            "/house/" not in item.nodeid,
        )
    )
