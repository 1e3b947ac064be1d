"""Each command over a stand-in for the package: what it calls, writes and returns."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest

from lakesieve.errors import ErrorKind, SetupError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import FakeApi
    from typer.testing import Result

TABLE = "lake.db.t"
STARTING = "Starting Spark (the first start downloads Iceberg's jar) ...\n"


def test_files_writes_only_paths_to_stdout(lakesieve: Callable[..., Result]) -> None:
    """``files`` writes one path a line, unwrapped, and the summary to stderr."""
    done = lakesieve("files", TABLE, "id = 5")

    assert done.exit_code == 0
    assert done.stdout == "file:/t/a b.parquet\nfile:/t/c.parquet\n"
    assert done.stderr == "2 of 400 files can hold a match, 1 of them not indexed.\n"


def test_long_paths_are_not_wrapped(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """A path longer than any terminal stays one line."""
    api.paths = ["file:/" + "x" * 500]

    assert lakesieve("files", TABLE, "id = 5").stdout == api.paths[0] + "\n"


def test_files_writes_nothing_where_nothing_matches(
    lakesieve: Callable[..., Result], api: FakeApi
) -> None:
    """An empty answer is an empty stdout, not an empty line."""
    api.paths = []

    assert lakesieve("files", TABLE, "id = 5").stdout == ""


def test_files_as_json(lakesieve: Callable[..., Result]) -> None:
    """``files --json`` writes the whole result model."""
    done = lakesieve("files", TABLE, "id = 5", "--json")

    assert json.loads(done.stdout) == {
        "paths": ["file:/t/a b.parquet", "file:/t/c.parquet"],
        "total": 400,
        "left_by_format": 400,
        "uncovered": 1,
        "reasons": [{"code": "index-used", "detail": "id kept 1 file."}],
        "version": "77",
        "table": TABLE,
        "predicate": "id = 5",
        "indexes": ["id"],
    }


def test_options_reach_the_functions(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """Version, location, warehouse and Spark settings arrive where they belong."""
    done = lakesieve(
        *("files", TABLE, "id = 5", "--version", "main", "--location", "s3://b/i"),
        *("--warehouse", "wh", "--spark-conf", "a.b=1", "--spark-conf", "c=d=e"),
        *("--format", "delta"),
    )

    assert done.exit_code == 0
    assert api.arguments("local_session") == {
        "warehouse": "wh",
        "formats": ("iceberg", "delta"),
        "conf": {"a.b": "1", "c": "d=e"},
    }
    assert api.arguments("find_files") == {
        "table": TABLE,
        "predicate": "id = 5",
        "version": "main",
        "location": "s3://b/i",
    }


@pytest.mark.parametrize(
    ("table", "formats"),
    [
        ("delta:/data/t", ("iceberg", "delta")),
        ("hudi:/data/t", ("iceberg", "hudi")),
        ("parquet:s3://b/t", ("iceberg", "parquet")),
        ("iceberg:/data/t", ("iceberg",)),
        (TABLE, ("iceberg",)),
    ],
)
def test_a_name_implies_its_format(
    lakesieve: Callable[..., Result], api: FakeApi, table: str, formats: tuple[str, ...]
) -> None:
    """A session is set up for the format that the name of the table says."""
    lakesieve("create", table, "id")

    assert api.arguments("local_session")["formats"] == formats


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", TABLE),
        ("show", TABLE, "id"),
        ("files", TABLE, "id = 5"),
        ("explain", TABLE, "id = 5"),
        ("history", TABLE, "id"),
        ("compact", TABLE, "id"),
        ("rollback", TABLE, "id", "1"),
        ("clone", TABLE, "id", "lake.db.other"),
        ("verify", TABLE, "id"),
        ("repair", TABLE, "id"),
        ("vacuum", TABLE, "id"),
        ("drop", TABLE, "id"),
        ("files", "delta:/d", "id = 5"),
        ("files", "shop.db.t", "id = 5", "--catalog", "shop"),
    ],
    ids=" ".join,
)
def test_what_only_looks_things_up_starts_no_spark(
    lakesieve: Callable[..., Result], api: FakeApi, arguments: tuple[str, ...]
) -> None:
    """Commands that read no rows reach the table by themselves, with the options given."""
    done = lakesieve(*arguments, "--warehouse", "wh", "--timezone", "Asia/Tokyo")

    assert done.exit_code == 0
    assert "Starting Spark" not in done.stderr
    given = api.calls[0][1]
    assert "spark" not in given
    assert (given["warehouse"], given["timezone"]) == ("wh", "Asia/Tokyo")
    assert given["catalog"] == ("shop" if "--catalog" in arguments else None)


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "spark_catalog.db.t"),
        ("list", TABLE, "--spark-conf", "a=b"),
        ("list", TABLE, "--format", "delta"),
    ],
    ids=" ".join,
)
def test_what_only_spark_reaches_starts_it(
    lakesieve: Callable[..., Result], arguments: tuple[str, ...]
) -> None:
    """Tables of a session's own catalogs or settings are looked up through it."""
    assert lakesieve(*arguments).stderr.startswith(STARTING)


def test_a_catalog_reaches_spark(
    lakesieve: Callable[..., Result], api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--catalog`` names one of PyIceberg's configuration, for Spark as well."""
    monkeypatch.setenv("PYICEBERG_CATALOG__SHOP__URI", "http://localhost:1/api")

    assert lakesieve("refresh", "shop.db.t", "--catalog", "shop").exit_code == 0
    assert api.arguments("local_session")["conf"] == {
        "spark.sql.catalog.shop": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.shop.type": "rest",
        "spark.sql.catalog.shop.uri": "http://localhost:1/api",
    }


def test_explain_tells_why(lakesieve: Callable[..., Result]) -> None:
    """``explain`` shows the counts, the coded reasons and the files."""
    done = lakesieve("explain", TABLE, "id = 5")

    assert done.exit_code == 0
    for text in ("2 of 400 files, 398 skipped", "index-used", "id kept 1 file.", "a b.parquet"):
        assert text in done.stdout


def test_create_builds_and_shows(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """``create`` passes its arguments on, shows the index, and tells the build's rate on stderr."""
    done = lakesieve("create", TABLE, "id", "--name", "by_id")

    assert done.exit_code == 0
    assert api.arguments("create_index") == {
        "table": TABLE,
        "columns": ["id"],
        "name": "by_id",
        "location": None,
        "budget": None,
        "absent_hits": 1 / 256,
        "compaction": "16",
    }
    assert "12.3 kB, 98.76 bits a row" in done.stdout
    assert "1,000 rows, 3 files, 500 rows/s, 2.00 s" in done.stderr


def test_create_takes_several_columns(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """``create`` passes all columns on, in order."""
    done = lakesieve("create", TABLE, "tenant", "day", "id")

    assert done.exit_code == 0
    assert api.arguments("create_index")["columns"] == ["tenant", "day", "id"]
    assert "Indexing tenant, day, id of lake.db.t" in done.stderr


def test_create_makes_several_at_once(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """Each ``--index`` is one more index of the same scan; the result is a list of all."""
    done = lakesieve("create", TABLE, "a", "--index", "b, c", "--index", "d", "--json")

    assert done.exit_code == 0
    assert api.arguments("create_indexes")["columns"] == [["a"], ["b", "c"], ["d"]]
    assert len(json.loads(done.stdout)) == 3
    assert lakesieve("create", TABLE, "--index", "b").exit_code == 0


@pytest.mark.parametrize("more", [(), ("--index", "b", "--name", "n")])
def test_create_needs_columns(
    lakesieve: Callable[..., Result], api: FakeApi, more: tuple[str, ...]
) -> None:
    """Without a column, or with one name for several indexes, it is used wrongly."""
    assert lakesieve("create", TABLE, *more).exit_code == 2
    assert api.calls == []


@pytest.mark.parametrize("arguments", [("list", TABLE), ("history", TABLE, "id")])
def test_lists_are_json_arrays(lakesieve: Callable[..., Result], arguments: tuple[str]) -> None:
    """What is a list in Python is an array in JSON, with a row of text for each item."""
    as_json = json.loads(lakesieve(*arguments, "--json").stdout)
    as_text = lakesieve(*arguments).stdout

    assert len(as_json) == 1
    assert len(as_text.splitlines()) == 2


def test_an_empty_list_says_what_to_do(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """A table without an index gives no output, and advice on stderr."""
    api.indexes = []
    done = lakesieve("list", TABLE)

    assert (done.exit_code, done.stdout) == (0, "")
    assert "lakesieve create lake.db.t COLUMN" in done.stderr


def test_show_is_the_index_info(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """``show --json`` writes every field of the index's description."""
    expected = dataclasses.asdict(api.indexes[0])
    shown = json.loads(lakesieve("show", TABLE, "id", "--json").stdout)

    assert shown == {**expected, "columns": ["id"], "types": ["long"]}


def test_drop_deletes(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """``drop`` deletes the index; a second one fails with status 1."""
    first, second = lakesieve("drop", TABLE, "id"), lakesieve("drop", TABLE, "id")

    assert first.stdout == "Dropped the index id of lake.db.t.\n"
    assert (first.exit_code, second.exit_code) == (0, 1)


def test_drop_can_be_tried(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """``drop --dry-run`` deletes nothing."""
    done = lakesieve("drop", TABLE, "id", "--dry-run", "--json")

    assert json.loads(done.stdout) == {"table": TABLE, "name": "id", "dry_run": True}
    assert len(api.indexes) == 1


def test_errors_are_one_line(lakesieve: Callable[..., Result]) -> None:
    """What lakesieve raises on purpose becomes one line of message and hint, status 1."""
    done = lakesieve("show", TABLE, "nope")

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == "error: lake.db.t has no index nope. Look again.\n"


def test_debug_shows_the_traceback(lakesieve: Callable[..., Result]) -> None:
    """With ``--debug`` the error itself comes through."""
    done = lakesieve("show", TABLE, "nope", "--debug")

    assert type(done.exception).__name__ == "NotFoundError"
    assert done.exit_code == 1


def test_a_missing_java_is_reported(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """What the session's start raises on purpose is shown as it is."""
    api.failure = SetupError("No Java.", kind=ErrorKind.JAVA_MISSING, hint="Install it.")

    assert lakesieve("refresh", TABLE).stderr.endswith("error: No Java. Install it.\n")


def test_an_unforeseen_failure_is_one_line(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """Anything else that stops Spark from starting is one line too."""
    api.failure = RuntimeError("[JAVA_GATEWAY_EXITED] gone\nand more\nlines")
    done = lakesieve("refresh", TABLE)

    assert done.exit_code == 1
    assert "error: Spark did not start: [JAVA_GATEWAY_EXITED] gone" in done.stderr
    assert "and more" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("list", TABLE, "--nonsense"),
        ("nonsense",),
        ("create", TABLE),
        ("list", TABLE, "--spark-conf", "novalue"),
        ("demo", "--scale", "0"),
    ],
)
def test_wrong_usage_is_status_2(lakesieve: Callable[..., Result], arguments: tuple[str]) -> None:
    """Wrong usage is reported on stderr with status 2 before Spark is started."""
    done = lakesieve(*arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert "Starting Spark" not in done.stderr


def test_version_is_printed(lakesieve: Callable[..., Result]) -> None:
    """``lakesieve --version`` prints name and version."""
    assert lakesieve("--version").stdout.startswith("lakesieve 0.")


def test_create_passes_its_settings_on(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """Budget, absent values and compaction reach the function as they were given."""
    lakesieve(
        *("create", TABLE, "id", "--budget", "2 bits"),
        *("--absent-hits", "0.5", "--compaction", "auto"),
    )

    result = api.arguments("create_index")
    assert (result["budget"], result["absent_hits"], result["compaction"]) == (
        "2 bits",
        0.5,
        "auto",
    )


def test_curve_lists_points(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """``curve`` shows a row for each budget worth having."""
    done = lakesieve("curve", TABLE, "id", "day")

    assert api.arguments("trade_offs")["columns"] == ["id", "day"]
    assert done.stdout.splitlines()[1].split() == ["0.500", "7.25", "grid"]


def test_refresh_takes_one_index_or_all(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """``refresh`` without an index refreshes every one, and says so where there is none."""
    one, every = lakesieve("refresh", TABLE, "id", "--all-refs"), lakesieve("refresh", TABLE)
    api.indexes = []
    none = lakesieve("refresh", TABLE)

    refreshed = [refreshed for name, refreshed in api.calls if name == "refresh_indexes"]
    assert [(each["names"], each["all_refs"], each["dry_run"]) for each in refreshed] == [
        (["id"], True, False),
        (None, False, False),
        (None, False, False),
    ]
    assert one.stdout == every.stdout
    assert "1,234" in one.stdout
    assert "deltas merged" in one.stdout
    assert (none.exit_code, none.stdout) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("compact", TABLE, "id"), "Merged 3 segments, 9.0 kB, of the index id"),
        (("compact", TABLE, "id", "--dry-run"), "Would merge 3 segments"),
        (("clone", TABLE, "id", "lake.db.u"), "lake.db.u has the index id of lake.db.t"),
        (("clone-table", TABLE, "lake.db.u"), "lake.db.u has the index id of lake.db.t"),
        (("vacuum", TABLE, "id"), "Deleted 1 object, 5.0 kB; commits from 1 on are kept"),
        (("vacuum", TABLE, "id", "--dry-run"), "Would delete 1 object"),
        (("rollback", TABLE, "id", "0"), "bits a row"),
        (("verify", TABLE, "id"), "3 objects, 9.0 kB: as written."),
        (("verify", TABLE, "id", "--files", "2"), "every key is found"),
        (("repair", TABLE, "id"), "Nothing is damaged"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_upkeep_tells_what_it_did(
    lakesieve: Callable[..., Result], arguments: tuple[str, ...], text: str
) -> None:
    """Each command says what was done, or would be, and has a JSON form."""
    done = lakesieve(*arguments)

    assert done.exit_code == 0
    assert text in " ".join(done.stdout.split())
    assert json.loads(lakesieve(*arguments, "--json").stdout)


def test_verify_stops_at_damage(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """Where checksums fail, the damaged object is named and no data file is read."""
    api.is_damaged = True
    done = lakesieve("verify", TABLE, "id", "--all")
    assert done.exit_code == 1

    assert "segments/a.sieve: its footer fails the checksum" in done.stdout
    assert "verify_rows" not in dict(api.calls)
    assert "log/1.json: it is gone" in lakesieve("repair", TABLE, "id").stdout
