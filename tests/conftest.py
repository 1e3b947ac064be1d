"""Settings shared by every test: how many examples are drawn, and the fast tests first."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from tests.depth import SOAK, depth

# deadlines measure the machine, not the code
settings.register_profile(
    "lakesieve",
    max_examples=depth("EXAMPLES", test=50, soak=1000),
    deadline=None,
    # a busy machine draws slowly
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("lakesieve")

# each JVM here lives for minutes: the second compiler would cost more than it saves. Without it
# the room for compiled code is small, and the JVM sweeps it instead of running tests. To verify the
# classes of Spark's own jars is a quarter of what starting it takes. Hudi's measuring of object
# sizes starts a JVM of its own where it may
_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:-UseCodeCacheFlushing "
    "-XX:+UseSerialGC -Xmn512m -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-Djol.skipHotspotSAAttach=true"
)
_SUBMIT = f"--conf 'spark.driver.defaultJavaOptions={_JAVA}' pyspark-shell"
os.environ.setdefault("PYSPARK_SUBMIT_ARGS", _SUBMIT)


def _is_for_soak(item: pytest.Item) -> bool:
    name = getattr(item, "originalname", item.name)
    if any(not mark.args or name in mark.args for mark in item.iter_markers("soak")):
        return True
    # a whole cross of parameters is for a soak, too
    chosen = item.get_closest_marker("in_time")
    return chosen is not None and item.name.partition("[")[2].rstrip("]") not in chosen.args


@pytest.hookimpl(trylast=True)  # when the folders have set their markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the tests that need no JVM first, the house rules before all others.

    What only varies another test is left to ``make soak``.
    """
    if not SOAK:
        config.hook.pytest_deselected(items=[item for item in items if _is_for_soak(item)])
        items[:] = [item for item in items if not _is_for_soak(item)]
    items.sort(
        key=lambda item: (
            item.get_closest_marker("spark") is not None,
            "/house/" not in item.nodeid,
        )
    )
