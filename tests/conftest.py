"""Settings shared by every test: how many examples are drawn, and the fast tests first."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from tests.interpreted import INTERPRETED

for profile, examples in (("test", 35), ("soak", 1000)):
    settings.register_profile(
        profile,
        max_examples=int(os.environ.get("LAKESIEVE_EXAMPLES", examples)),
        # deadlines measure the machine, not the code
        deadline=None,
        # a busy machine draws slowly
        suppress_health_check=[HealthCheck.too_slow],
    )
# pytest's own option --hypothesis-profile wins over the variable
settings.load_profile(os.environ.get("LAKESIEVE_DEPTH") or "test")

# each JVM here lives for minutes: the second compiler would cost more than it saves. Without it
# the room for compiled code is small, and the JVM sweeps it instead of running tests. To verify the
# classes of Spark's own jars is a quarter of what starting it takes. Hudi's measuring of object
# sizes starts a JVM of its own where it may
_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:-UseCodeCacheFlushing "
    "-XX:+UseSerialGC -Xmn512m -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-Djol.skipHotspotSAAttach=true"
)
# sessions of other processes have no settings of their own
_SETTINGS = INTERPRETED | {"spark.driver.defaultJavaOptions": _JAVA}
_SUBMIT = " ".join(f"--conf '{name}={value}'" for name, value in _SETTINGS.items())
os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"{_SUBMIT} pyspark-shell")


@pytest.hookimpl(trylast=True)  # when the option --hypothesis-profile has been read
def pytest_configure(config: pytest.Config) -> None:
    """Leave what is marked ``soak`` to a soak, unless ``-m`` asks for it."""
    chosen = config.option.markexpr
    if settings.get_current_profile_name() != "soak" and "soak" not in chosen:
        config.option.markexpr = f"({chosen}) and not soak" if chosen else "not soak"


def pytest_itemcollected(item: pytest.Item) -> None:
    """Of a cross of parameters, leave those to a soak that ``in_time`` does not name."""
    chosen = item.get_closest_marker("in_time")
    if chosen is not None and item.name.partition("[")[2].rstrip("]") not in chosen.args:
        item.add_marker("soak")


@pytest.hookimpl(trylast=True)  # when the folders have set their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests that need no JVM first, the house rules before all others."""
    items.sort(
        key=lambda item: (
            item.get_closest_marker("spark") is not None,
            "/house/" not in item.nodeid,
        )
    )


def pytest_collection_finish(session: pytest.Session) -> None:
    """Load the packages of Spark before the first session starts."""
    if not session.config.option.collectonly and any(
        item.get_closest_marker("spark") for item in session.items
    ):
        from tests.jars import load_formats

        load_formats()
