"""A standalone cluster of Spark with its table and index on S3, whose processes are killed.

The executors' Python is another one than the driver's, without lakesieve until it is shipped.
``LAKESIEVE_CLUSTER_KILLS=20`` kills that many executors, ``LAKESIEVE_SEED`` draws other moments.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth, is_soak
from tests.spark.cluster.catalogs import hive_metastore, rest_catalog
from tests.spark.cluster.standalone import Cluster, bare_python, running_cluster
from tests.storage.s3_servers import BUCKET, SERVERS, hadoop_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

DRIVER = Path(__file__).with_name("driver.py")
ROOT = DRIVER.parents[3]
KILLS = depth("CLUSTER_KILLS", test=1, soak=12)
# about; a kill that comes late only falls into the next step
SECONDS = {"build": 6.0, "refresh": 6.0, "locate": 3.0, "upsert": 8.0, "conversion": 6.0}
SEED = os.environ.get("LAKESIEVE_SEED", "cluster")


class Driver:
    """A driver, whose lines are read as they come.

    Args:
        conf: The session's settings.
        python: That of the executors.
        steps: What it does.
    """

    def __init__(self, conf: dict[str, str], python: Path, *steps: str) -> None:
        path = os.pathsep.join((str(ROOT), str(ROOT / "src")))
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVER), json.dumps(conf), *steps],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"PYSPARK_PYTHON": str(python), "PYTHONPATH": path},
            start_new_session=True,
        )
        self.lines: list[str] = []

    def read(self, until: str = "\0") -> None:
        """Read lines until one begins so, or to the end."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.strip())
            if line.startswith(until):
                return

    def end(self) -> dict[str, Any]:
        """Wait for its end; what it said last of the table."""
        self.read()
        self._close()
        assert self.process.wait() == 0, self.lines
        states = [line[6:] for line in self.lines if line.startswith("state ")]
        found: dict[str, Any] = json.loads(states[-1])
        return found

    def kill(self) -> None:
        """End it and all that it started, at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self._close()
        self.process.wait()

    def _close(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The executors' Python."""
    return bare_python(tmp_path_factory.mktemp("python") / "env")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The cluster."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def conf(cluster: Cluster, tmp_path: Path) -> dict[str, str]:
    """Settings of a session of the cluster, whose catalog is a file and its tables are on S3."""
    s3 = hadoop_settings(SERVERS[-1])
    catalog = "spark.sql.catalog.lake"
    return {
        "warehouse": f"s3://{BUCKET}/{tmp_path.parent.name}-{tmp_path.name}",
        "spark.master": cluster.master,
        "spark.driver.memory": "1g",
        "spark.executor.memory": "600m",
        "spark.sql.shuffle.partitions": "4",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "jdbc",
        f"{catalog}.uri": f"jdbc:sqlite:{tmp_path}/catalog.db",
        f"{catalog}.jdbc.schema-version": "V1",
        f"{catalog}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        f"{catalog}.s3.endpoint": s3["fs.s3a.endpoint"],
        f"{catalog}.s3.access-key-id": s3["fs.s3a.access.key"],
        f"{catalog}.s3.secret-access-key": s3["fs.s3a.secret.key"],
        f"{catalog}.s3.path-style-access": "true",
        f"{catalog}.client.region": "us-east-1",
    }


@pytest.mark.soak
def test_executors_die_and_lack_the_package(
    cluster: Cluster, conf: dict[str, str], python: Path
) -> None:
    """One line says what executors lack; after shipping it, killed executors make no row wrong."""
    drawn = random.Random(SEED)
    steps = list(SECONDS) * max(1, KILLS // len(SECONDS)) if is_soak() else ["build"]
    driver = Driver(conf, python, "make", "build", "ship", *steps, "state")
    driver.read("end build")
    (error,) = (line for line in driver.lines if line.startswith("error"))
    assert "The Python of the executors does not have the package lakesieve." in error
    assert "lakesieve.ship(spark)" in error
    assert len(error) < 400
    driver.read("end ship")

    killed = 0
    for number in sorted(drawn.sample(range(len(steps)), min(KILLS, len(steps)))):
        step = steps[number]
        while sum(line.startswith("begin") for line in driver.lines) < 4 + number:
            driver.read("begin")
        time.sleep(drawn.uniform(0.1, 0.8) * SECONDS[step])
        for pid in cluster.executors()[:1]:
            os.kill(pid, signal.SIGKILL)
            killed += 1
    found = driver.end()

    assert killed
    assert not [line for line in driver.lines if line.startswith("error") and line != error]
    assert found["indexes"] == 1
    assert found["sound"]
    assert found["wrong"] == 0
    assert found["alike"]


@pytest.mark.soak
def test_executors_read_row_blocks(conf: dict[str, str], python: Path) -> None:
    """An index of row blocks is built and used by executors that have only the shipped package."""
    driver = Driver(conf, python, "make", "ship", "blocks", "state")
    found = driver.end()

    assert [line for line in driver.lines if line.startswith("error")] == []
    assert found["sound"]
    assert found["wrong"] == 0
    assert found["alike"]


@pytest.mark.soak
def test_catalogs_rename_replace_and_move_tables(conf: dict[str, str], python: Path) -> None:
    """An index follows its table through a JDBC catalog, and never serves another table."""
    second = {
        name.replace("lake", "second"): value.replace("catalog.db", "second.db")
        for name, value in conf.items()
        if name.startswith("spark.sql.catalog.lake")
    }
    second["spark.sql.catalog.second.warehouse"] = conf["warehouse"]
    _check_catalogs(conf | second, python)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["rest", "hive"])
def test_tables_of_other_catalogs(tmp_path: Path, python: Path, kind: str) -> None:
    """The same holds for two REST catalogs and for two Hive metastores."""
    server = {"rest": rest_catalog, "hive": hive_metastore}[kind]
    warehouse = str(tmp_path / "warehouse")
    conf = {
        "warehouse": warehouse,
        "spark.driver.memory": "1g",
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
    }
    with ExitStack() as servers:
        for name in ("lake", "second"):
            catalog = f"spark.sql.catalog.{name}"
            conf |= {
                catalog: "org.apache.iceberg.spark.SparkCatalog",
                f"{catalog}.type": kind,
                f"{catalog}.uri": servers.enter_context(server(tmp_path / name, warehouse)),
            }
        _check_catalogs(conf, python)


def _check_catalogs(conf: dict[str, str], python: Path) -> None:
    local = {"spark.master": "local[2]", "spark.executor.memory": "1g"}
    steps = ("make", "ship", "build", "renamed", "replaced", "moved", "state")
    driver = Driver(conf | local, python, *steps)
    found = driver.end()

    assert "\n".join(line for line in driver.lines if line.startswith("error")) == ""
    assert found["alike"]
    assert found["sound"]


@pytest.mark.soak
def test_drivers_die(cluster: Cluster, conf: dict[str, str], python: Path) -> None:
    """If a driver dies, rows and index are as before or as they would have become."""
    drawn = random.Random(SEED)
    first = Driver(conf, python, "make", "ship", "build", "state")
    before = first.end()
    for number in range(KILLS):
        step = drawn.choice(list(SECONDS))
        victim = Driver(conf, python, "ship", step)
        victim.read(f"begin {step}")
        time.sleep(drawn.uniform(0.1, 1.0) * SECONDS[step])
        victim.kill()
        found = Driver(conf, python, "ship", "state").end()
        assert found["alike"], (number, step)
        assert not found["indexes"] or (found["sound"] and not found["wrong"]), (number, step)
    after = Driver(conf, python, "ship", "build", "upsert", "state").end()

    assert after["alike"]
    assert after["sound"]
    assert after["rows"][0] >= before["rows"][0] - 1_000
