"""Each command over a stand-in for the package: what it calls, writes and returns."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import pytest

from lakesieve.errors import ErrorKind, SetupError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

TABLE = "lake.db.t"
STARTING = "Starting Spark (the first start downloads Iceberg's jar) ...\n"


def test_files_writes_only_paths_to_stdout(lakesieve: Callable[..., Result]) -> None:
    """``files`` writes one path a line, unwrapped, and the summary to stderr."""
    done = lakesieve("files", TABLE, "id = 5")

    assert done.exit_code == 0
    assert done.stdout == "file:/t/a b.parquet\nfile:/t/c.parquet\n"
    assert done.stderr == (STARTING + "2 of 400 files can hold a match, 1 of them not indexed.\n")


def test_long_paths_are_not_wrapped(lakesieve: Callable[..., Result], api) -> None:
    """A path longer than any terminal stays one line."""
    api.paths = ["file:/" + "x" * 500]

    assert lakesieve("files", TABLE, "id = 5").stdout == api.paths[0] + "\n"


def test_files_writes_nothing_where_nothing_matches(lakesieve: Callable[..., Result], api) -> None:
    """An empty answer is an empty stdout, not an empty line."""
    api.paths = []

    assert lakesieve("files", TABLE, "id = 5").stdout == ""


def test_files_as_json(lakesieve: Callable[..., Result]) -> None:
    """``files --json`` writes the whole result model."""
    done = lakesieve("files", TABLE, "id = 5", "--json")

    assert json.loads(done.stdout) == {
        "paths": ["file:/t/a b.parquet", "file:/t/c.parquet"],
        "total": 400,
        "uncovered": 1,
        "reasons": [{"code": "index-used", "detail": "id kept 1 file."}],
        "version": "77",
        "table": TABLE,
        "predicate": "id = 5",
        "indexes": ["id"],
    }


def test_options_reach_the_functions(lakesieve: Callable[..., Result], api) -> None:
    """Version, location, warehouse and Spark settings arrive where they belong."""
    done = lakesieve(
        *("files", TABLE, "id = 5", "--version", "main", "--location", "s3://b/i"),
        *("--warehouse", "wh", "--spark-conf", "a.b=1", "--spark-conf", "c=d=e"),
    )

    assert done.exit_code == 0
    assert api.arguments("local_session") == {"warehouse": "wh", "conf": {"a.b": "1", "c": "d=e"}}
    assert api.arguments("find_files") == {
        "table": TABLE,
        "predicate": "id = 5",
        "version": "main",
        "location": "s3://b/i",
    }


def test_explain_tells_why(lakesieve: Callable[..., Result]) -> None:
    """``explain`` shows the counts, the coded reasons and the files."""
    done = lakesieve("explain", TABLE, "id = 5")

    assert done.exit_code == 0
    for part in ("2 of 400 files, 398 skipped", "index-used", "id kept 1 file.", "a b.parquet"):
        assert part in done.stdout


def test_create_builds_and_shows(lakesieve: Callable[..., Result], api) -> None:
    """``create`` passes its arguments on, shows the index, and tells the build's rate on stderr."""
    done = lakesieve("create", TABLE, "id", "--name", "by_id")

    assert done.exit_code == 0
    assert api.arguments("create_index") == {
        "table": TABLE,
        "columns": ["id"],
        "name": "by_id",
        "location": None,
    }
    assert "12.3 kB, 98.76 bits a row" in done.stdout
    assert "1,000 rows, 3 files, 500 rows/s, 2.00 s" in done.stderr


@pytest.mark.parametrize("arguments", [("list", TABLE), ("history", TABLE, "id")])
def test_lists_are_json_arrays(lakesieve: Callable[..., Result], arguments: tuple[str]) -> None:
    """What is a list in Python is an array in JSON, with a row of text for each item."""
    as_json = json.loads(lakesieve(*arguments, "--json").stdout)
    as_text = lakesieve(*arguments).stdout

    assert len(as_json) == 1
    assert len(as_text.splitlines()) == 2


def test_an_empty_list_says_what_to_do(lakesieve: Callable[..., Result], api) -> None:
    """A table without an index gives no output, and advice on stderr."""
    api.indexes = []
    done = lakesieve("list", TABLE)

    assert (done.exit_code, done.stdout) == (0, "")
    assert "lakesieve create lake.db.t COLUMN" in done.stderr


def test_show_is_the_index_info(lakesieve: Callable[..., Result], api) -> None:
    """``show --json`` writes every field of the index's description."""
    expected = dataclasses.asdict(api.indexes[0])
    shown = json.loads(lakesieve("show", TABLE, "id", "--json").stdout)

    assert shown == {**expected, "columns": ["id"], "types": ["long"]}


def test_drop_deletes(lakesieve: Callable[..., Result], api) -> None:
    """``drop`` deletes the index; a second one fails with status 1."""
    first, second = lakesieve("drop", TABLE, "id"), lakesieve("drop", TABLE, "id")

    assert first.stdout == "Dropped the index id of lake.db.t.\n"
    assert (first.exit_code, second.exit_code) == (0, 1)


def test_drop_can_be_tried(lakesieve: Callable[..., Result], api) -> None:
    """``drop --dry-run`` deletes nothing."""
    done = lakesieve("drop", TABLE, "id", "--dry-run", "--json")

    assert json.loads(done.stdout) == {"table": TABLE, "name": "id", "dry_run": True}
    assert len(api.indexes) == 1


def test_errors_are_one_line(lakesieve: Callable[..., Result]) -> None:
    """What lakesieve raises on purpose becomes one line of message and hint, status 1."""
    done = lakesieve("show", TABLE, "nope")

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == STARTING + "error: lake.db.t has no index nope. Look again.\n"


def test_debug_shows_the_traceback(lakesieve: Callable[..., Result]) -> None:
    """With ``--debug`` the error itself comes through."""
    done = lakesieve("show", TABLE, "nope", "--debug")

    assert type(done.exception).__name__ == "NotFoundError"
    assert done.exit_code == 1


def test_a_missing_java_is_told(lakesieve: Callable[..., Result], api) -> None:
    """What the session's start raises on purpose is told as it is."""
    api.failure = SetupError("No Java.", kind=ErrorKind.JAVA_MISSING, hint="Install it.")

    assert lakesieve("list", TABLE).stderr.endswith("error: No Java. Install it.\n")


def test_an_unforeseen_failure_is_one_line(lakesieve: Callable[..., Result], api) -> None:
    """Anything else that stops Spark from starting is one line too."""
    api.failure = RuntimeError("[JAVA_GATEWAY_EXITED] gone\nand more\nlines")
    done = lakesieve("list", TABLE)

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
    """Wrong usage is told on stderr with status 2 before Spark is started."""
    done = lakesieve(*arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert "Starting Spark" not in done.stderr


def test_version_is_printed(lakesieve: Callable[..., Result]) -> None:
    """``lakesieve --version`` prints name and version."""
    assert lakesieve("--version").stdout.startswith("lakesieve 0.")
