"""Commands that need Spark, over notes of their calls: what they ask for, and how they tell it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import lakesieve as ls
from lakesieve.errors import ErrorKind, SetupError
from lakesieve.index.result import (
    BuildProgress,
    CloneResult,
    RefreshResult,
    TradeOffInfo,
    VerifiedRows,
)

if TYPE_CHECKING:
    from tests.cli.conftest import Run, Session

TABLE = "lake.db.t"
STARTING = "Starting Spark (the first start downloads Iceberg's jar) ...\n"
REFRESHED = RefreshResult(
    index="id",
    table=TABLE,
    versions=("78",),
    files=2,
    rows=1234,
    covered=3,
    commit=1,
    compacted=True,
    dry_run=False,
)


@pytest.fixture
def building(session: Session, table: str) -> Session:
    """Builds give an index that is there."""

    def create(*_: Any, progress: Any, **__: Any) -> ls.Index:
        seen = {"rows_done": 1000, "rows_total": 1000, "files_done": 3, "files_total": 3}
        progress(BuildProgress(phase="done", seconds=2, **seen))
        return ls.open_index(table, "id")

    session.answers("create_index", create)
    session.answers("create_indexes", lambda columns, **rest: [create(**rest) for _ in columns])
    return session


def test_options_reach_the_session(lakesieve: Run, session: Session) -> None:
    """Warehouse, formats and Spark settings arrive where they belong."""
    session.answers("refresh_indexes", [])
    done = lakesieve(
        *("refresh", TABLE, "--warehouse", "wh", "--spark-conf", "a.b=1"),
        *("--spark-conf", "c=d=e", "--format", "delta", "--timezone", "Asia/Tokyo"),
    )

    assert done.exit_code == 0
    assert session.given("local_session") == {
        "warehouse": "wh",
        "formats": ("iceberg", "delta"),
        "conf": {"a.b": "1", "c": "d=e", "spark.sql.session.timeZone": "Asia/Tokyo"},
    }


@pytest.mark.parametrize(
    ("table", "formats"),
    [
        ("delta:/data/t", ("iceberg", "delta")),
        ("parquet:s3://b/t", ("iceberg", "parquet")),
        ("iceberg:/data/t", ("iceberg",)),
        (TABLE, ("iceberg",)),
    ],
)
def test_a_name_implies_its_format(
    lakesieve: Run, session: Session, table: str, formats: tuple[str, ...]
) -> None:
    """A session is set up for the format that the name of the table says."""
    session.answers("refresh_indexes", [])
    # a session with settings of its own may know tables that are not looked up here
    lakesieve("refresh", table, "--spark-conf", "a=b")

    assert session.given("local_session")["formats"] == formats


@pytest.mark.parametrize(
    "arguments",
    [
        ("drop", "spark_catalog.db.t"),
        ("drop", TABLE, "--spark-conf", "a=b"),
        ("drop", TABLE, "--format", "delta"),
    ],
    ids=" ".join,
)
def test_what_only_spark_reaches_starts_it(
    lakesieve: Run, session: Session, arguments: tuple[str, ...]
) -> None:
    """Tables of a session's own catalogs or settings are looked up through it."""
    session.answers("open_index", object())
    assert lakesieve(*arguments, "id", "--dry-run").stderr.startswith(STARTING)
    given = session.given("open_index")
    assert given == {"table": arguments[1], "name": "id", "location": None}


def test_a_catalog_reaches_spark(
    lakesieve: Run, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--catalog`` names one of PyIceberg's configuration, for Spark as well."""
    monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__URI", "http://localhost:1/api")
    session.answers("refresh_indexes", [])

    assert lakesieve("refresh", "shop.db.t", "--catalog", "shop").exit_code == 0
    assert session.given("local_session")["conf"] == {
        "spark.sql.catalog.shop": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.shop.type": "rest",
        "spark.sql.catalog.shop.uri": "http://localhost:1/api",
    }


def test_a_missing_java_is_reported(lakesieve: Run, session: Session) -> None:
    """What the session's start raises on purpose is shown as it is."""

    def fail(**_: Any) -> None:
        raise SetupError("No Java.", kind=ErrorKind.JAVA_MISSING, hint="Install it.")

    session.answers("local_session", fail)
    assert lakesieve("refresh", TABLE).stderr.endswith("error: No Java. Install it.\n")


def test_an_unforeseen_failure_is_one_line(lakesieve: Run, session: Session) -> None:
    """Anything else that stops Spark from starting is one line too."""

    def fail(**_: Any) -> None:
        raise RuntimeError("[JAVA_GATEWAY_EXITED] gone\nand more\nlines")

    session.answers("local_session", fail)
    done = lakesieve("refresh", TABLE)

    assert done.exit_code == 1
    assert "error: Spark did not start: [JAVA_GATEWAY_EXITED] gone" in done.stderr
    assert "and more" not in done.stderr


def test_create_builds_and_shows(lakesieve: Run, building: Session) -> None:
    """``create`` passes its arguments on, shows the index, and tells the build's rate on stderr."""
    done = lakesieve("create", TABLE, "id", "--name", "by_id")

    assert done.exit_code == 0
    given = building.given("create_index")
    assert given.pop("progress") is not None
    assert given == {
        "table": TABLE,
        "columns": ["id"],
        "name": "by_id",
        "location": None,
        "budget": None,
        "absent_hits": 1 / 256,
        "compaction": "16",
        "rows_per_block": "auto",
        "replace": False,
    }
    assert "bits a row" in done.stdout
    assert "1,000 rows, 3 files, 500 rows/s, 2.00 s" in done.stderr


def test_create_passes_its_settings_on(lakesieve: Run, building: Session) -> None:
    """Columns in order, budget, absent values and compaction reach the function as given."""
    done = lakesieve(
        *("create", TABLE, "text", "id", "--budget", "2 bits"),
        *("--absent-hits", "0.5", "--compaction", "auto"),
    )

    given = building.given("create_index")
    assert given["columns"] == ["text", "id"]
    settings = [given[name] for name in ("budget", "absent_hits", "compaction")]
    assert settings == ["2 bits", 0.5, "auto"]
    assert "Indexing text, id of lake.db.t" in done.stderr


def test_create_makes_several_at_once(lakesieve: Run, building: Session) -> None:
    """Each ``--index`` is one more index of the same scan; the result is a list of all."""
    done = lakesieve("create", TABLE, "small", "--index", "text, id", "--index", "day", "--json")

    assert done.exit_code == 0
    assert building.given("create_indexes")["columns"] == [["small"], ["text", "id"], ["day"]]
    assert len(json.loads(done.stdout)) == 3
    assert lakesieve("create", TABLE, "--index", "day").exit_code == 0


def test_curve_lists_points(lakesieve: Run, session: Session) -> None:
    """``curve`` shows a row for each budget worth having."""
    point = TradeOffInfo(strategy="grid", bits_per_row=0.5, false_files=7.25, blocks=9)
    session.answers("trade_offs", [point])
    done = lakesieve("curve", TABLE, "id", "text")

    assert session.given("trade_offs")["columns"] == ["id", "text"]
    assert done.stdout.splitlines()[1].split() == ["0.500", "7.25", "grid"]


def test_refresh_takes_one_index_or_all(lakesieve: Run, session: Session) -> None:
    """``refresh`` without an index refreshes every one, and says so where there is none."""
    session.answers("refresh_indexes", [REFRESHED])
    one, every = lakesieve("refresh", TABLE, "id", "--all-refs"), lakesieve("refresh", TABLE)
    session.answers("refresh_indexes", [])
    none = lakesieve("refresh", TABLE)

    refreshed = [given for name, given in session.calls if name == "refresh_indexes"]
    assert [(each["names"], each["all_refs"], each["dry_run"]) for each in refreshed] == [
        (["id"], True, False),
        (None, False, False),
        (None, False, False),
    ]
    assert one.stdout == every.stdout
    assert "1,234" in one.stdout
    assert "deltas merged" in one.stdout
    assert (none.exit_code, none.stdout) == (0, "")
    assert "has no index" in none.stderr


def test_a_copy_of_a_table_has_its_indexes(lakesieve: Run, session: Session) -> None:
    """Each index of the copy is told."""
    made = CloneResult(
        index="id", table="lake.db.u", origin=TABLE, location="/x", files=4, shared=3
    )
    session.answers("clone_table", [made])
    done = lakesieve("clone-table", TABLE, "lake.db.u", "--version", "7")

    assert "lake.db.u has the index id of lake.db.t" in " ".join(done.stdout.split())
    assert session.given("clone_table") == {
        "table": TABLE,
        "target": "lake.db.u",
        "version": "7",
        "location": None,
    }


def test_keys_of_data_files_are_verified(lakesieve: Run, session: Session, table: str) -> None:
    """With ``--files`` so many are read again, behind a check of the checksums."""
    rows = VerifiedRows(index="id", table=table, files=2, rows=60, wrong=())
    stored = ls.open_index(table, "id").verify
    index = SimpleNamespace(verify=stored, verify_rows=lambda **_: rows)
    session.answers("open_index", index)

    done = " ".join(lakesieve("verify", table, "id", "--files", "2").stdout.split())

    assert "as written." in done
    assert "every key is found" in done
