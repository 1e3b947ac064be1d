"""The first hour at the command line: help, tables, freshness, names, standard input, mistakes."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from lakesieve.cli import build_app
from lakesieve.cli.app import chapters
from lakesieve.cli.completion import index_names, names_of_tables

if TYPE_CHECKING:
    from tests.cli.conftest import Run, Session

TABLE = "lake.db.t"


@pytest.fixture
def here(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder is the one with the embedded warehouse."""
    monkeypatch.chdir(warehouse.parent)
    return warehouse.parent


def test_help_is_in_chapters(lakesieve: Run) -> None:
    """The five commands that matter come first, then chapters in the order of a user's life."""
    text = lakesieve("--help").stdout
    titles = ["Start here", "Look", "Build", "Keep up", "Rows by key", "Row-level deletes", "Serve"]

    assert [title for title in chapters() if title in text] == titles
    assert sorted(titles, key=lambda title: text.index(f" {title} ─")) == titles
    assert [one.name for one in chapters()["Start here"]] == [
        *("tables", "advise", "create", "explain", "refresh")
    ]


def test_help_shows_examples_and_variables(lakesieve: Run) -> None:
    """The help of a command ends with command lines that work."""
    text = lakesieve("files", "--help").stdout

    assert "LAKESIEVE_WAREHOUSE" in text
    assert 'lakesieve files lake.tpch.lineitem "l_orderkey IN (5, 9)"' in text


def test_tables_of_the_warehouse(lakesieve: Run, here: Path) -> None:
    """Each table is listed with its indexes, as text and as JSON; there is no Spark."""
    done = lakesieve("tables")

    assert done.exit_code == 0, done.stderr
    assert done.stdout.split() == [
        "table",
        "format",
        "indexes",
        "lake.db.other",
        "iceberg",
        "none",
        TABLE,
        "iceberg",
        "id,",
        "text",
    ]
    document = json.loads(lakesieve("tables", "--json").stdout)
    assert document[1] == {
        "name": TABLE,
        "format": "iceberg",
        "indexes": ["id", "text"],
        "error": None,
    }


def test_a_table_that_cannot_be_read_hides_no_other(lakesieve: Run, tmp_path: Path) -> None:
    """The list says why."""
    folder = tmp_path / "wh" / "db" / "broken" / "metadata"
    folder.mkdir(parents=True)
    (folder / "v1.metadata.json").write_text("{}")

    done = lakesieve("tables", "--warehouse", str(tmp_path / "wh"))

    assert done.exit_code == 0
    assert "lake.db.broken" in done.stdout


def test_no_tables_say_what_to_do(lakesieve: Run, tmp_path: Path) -> None:
    """An empty list is no error, and names the options that lead elsewhere."""
    done = lakesieve("tables", "--warehouse", str(tmp_path))

    assert (done.exit_code, done.stdout) == (0, "")
    assert "--warehouse or --catalog" in done.stderr


def test_an_unknown_catalog_is_named(lakesieve: Run) -> None:
    """One line, before anything else."""
    done = lakesieve("tables", "--catalog", "nowhere")

    assert done.exit_code == 1
    assert "has no catalog 'nowhere'" in done.stderr


def test_freshness(lakesieve: Run, table: str) -> None:
    """``list`` and ``show`` count the live files that are covered, and say what to do."""
    listed, shown = lakesieve("list", table).stdout, lakesieve("show", table, "id").stdout

    assert "2 of 3" in listed
    assert "min ago" in listed
    assert "no: 2 of 3 live data files; queries read the other 1 until: lakesieve refresh" in shown


def test_variables_stand_for_options(
    lakesieve: Run, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``LAKESIEVE_WAREHOUSE`` and ``LAKESIEVE_CATALOG``; what is typed wins over both."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAKESIEVE_WAREHOUSE", str(warehouse))
    assert "text" in lakesieve("list", TABLE).stdout
    monkeypatch.setenv("LAKESIEVE_CATALOG", "nowhere")
    assert "nowhere" in lakesieve("tables").stderr

    typed = lakesieve("tables", "--warehouse", str(warehouse))

    assert TABLE in typed.stdout


@pytest.mark.parametrize("form", [("--format", "json"), ("--json",)], ids=" ".join)
def test_json_by_either_name(lakesieve: Run, table: str, form: tuple[str, ...]) -> None:
    """``--format json`` means ``--json``, and starts no Spark."""
    done = lakesieve("list", table, *form)

    assert json.loads(done.stdout)[0]["name"] == "id"
    assert done.stderr == ""


def test_json_where_no_format_is_set_up(lakesieve: Run, here: Path) -> None:
    """Commands without formats of tables take ``--format json`` as well, and nothing else."""
    assert json.loads(lakesieve("tables", "--format", "json").stdout)[1]["name"] == TABLE

    wrong = lakesieve("tables", "--format", "csv")

    assert wrong.exit_code == 2
    assert "only json is a format here" in wrong.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("list", "warehouse/db/t"), "Did you mean iceberg:warehouse/db/t?"),
        (("list", "warehouse/"), "Did you mean iceberg:warehouse/?"),
        (("list", "db.t"), "Did you mean lake.db.t?"),
        (("list", "warehouse"), "Did you mean iceberg:warehouse?"),
        (("list", "excel:t"), "'excel' is not a table format"),
        (("files", TABLE, "text = polars"), "Did you mean 'polars'?"),
        (("files", TABLE, "text IN (polars, 'b')"), "Did you mean 'polars'?"),
        (("files", TABLE, "day > 2026-01-31"), "Did you mean '2026-01-31'?"),
        (("files", TABLE, "id"), "TRUE cannot be compared with the column id"),
        (("files", TABLE, "id = 'x'"), "'x' cannot be compared with the column id"),
        (("files", TABLE, " "), "The predicate is empty"),
        (("files", TABLE, "id = 5", "--timezone", "Mars"), "The time zone 'Mars' is unknown"),
        (("create", TABLE, "nothing"), "has no column nothing"),
        (("create", TABLE, "id"), "already has an index id"),
        (("create", TABLE, "small", "--budget", "lots"), "'lots' is not a budget"),
        (("create", "lake.db.nothing", "id"), "There is no table lake.db.nothing"),
        (("refresh", TABLE, "nothing"), "has no index nothing"),
        (("refresh", "hudi:t"), "There is no runtime of hudi tables"),
        (("upsert", TABLE, "--rows", "no.csv", "--on", "id"), "no.csv cannot be read"),
        (("advise", TABLE, "--queries", "no.sql"), "no.sql cannot be read"),
        (("delete", TABLE, "--keys", "-", "--on", "id"), "nothing on standard input"),
    ],
    ids=lambda given: given if isinstance(given, str) else " ".join(given),
)
def test_mistakes_are_one_line_before_spark(
    lakesieve: Run, here: Path, arguments: tuple[str, ...], words: str
) -> None:
    """Nothing says that Spark starts when something is wrong that needs no Spark to be known."""
    done = lakesieve(*arguments)

    assert (done.exit_code, done.stdout) == (1, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert "Starting Spark" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [("upsert", "--rows"), ("insert-new", "--rows"), ("delete", "--keys")],
    ids=lambda command: command[0],
)
def test_a_directory_of_files_is_not_changed(
    lakesieve: Run, tmp_path: Path, command: tuple[str, str]
) -> None:
    """A table whose rows cannot be changed is refused before Spark starts, with the next step."""
    name, option = command
    (tmp_path / "files").mkdir()
    file = tmp_path / "files" / "a.parquet"
    pq.write_table(pa.table({"id": [1]}), file)
    done = lakesieve(name, f"parquet:{tmp_path}/files", option, str(file), "--on", "id")

    assert done.exit_code == 1
    assert "whose rows cannot be changed by commits" in done.stderr
    assert "CONVERT TO DELTA" in done.stderr
    assert "Starting Spark" not in done.stderr


def test_a_missing_package_is_one_line(
    lakesieve: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without PySpark the command says what to install, and not that Spark starts."""
    monkeypatch.setitem(sys.modules, "pyspark", None)

    done = lakesieve("refresh", TABLE)

    assert done.stderr == (
        'error: PySpark is not installed. Install it: pip install "lakesieve[spark]"\n'
    )


def test_a_busy_port_is_one_line(lakesieve: Run, here: Path) -> None:
    """The server announces itself only when it can listen."""
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        done = lakesieve("serve", "--port", str(port))

    assert done.exit_code == 1
    assert done.stderr.startswith(f"error: Another program listens on port {port} of 127.0.0.1.")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("id\n5\n6\n", ["5", "6"]),
        ("5\n6\n", ["5", "6"]),
        ("name,ID\nx,5\n", ["5"]),
        ("\ufeffid\r\n5\r\n", ["5"]),
    ],
    ids=["csv", "one a line", "other columns", "windows"],
)
def test_keys_from_standard_input(table: str, sent: str, keys: list[str]) -> None:
    """CSV with a header, or one key a line."""
    done = CliRunner().invoke(
        build_app(), ["contains", table, "id", "--keys", "-", "--json"], input=sent
    )

    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["keys"] == len(keys)


def test_parquet_from_standard_input(table: str, tmp_path: Path) -> None:
    """A Parquet file is known by its first bytes."""
    pq.write_table(pa.table({"id": [5, 6, 1000]}), tmp_path / "keys.parquet")
    sent = (tmp_path / "keys.parquet").read_bytes()

    done = CliRunner().invoke(
        build_app(), ["contains", table, "id", "--keys", "-", "--json"], input=sent
    )

    assert json.loads(done.stdout)["keys"] == 3


def test_columns_of_other_names_are_no_keys(table: str) -> None:
    """A header without the key column is refused: its values could be keys of something else."""
    done = CliRunner().invoke(
        build_app(), ["contains", table, "id", "--keys", "-"], input="name,other\nx,5\n"
    )

    assert done.exit_code == 1
    assert "no column id; its columns are name, other" in done.stderr


def test_keys_reach_a_delete(session: Session) -> None:
    """One key a line becomes a CSV file with the key column's name."""
    seen: list[str] = []

    def delete(keys: str, **_: object) -> None:
        seen.append(Path(keys).read_text(encoding="utf-8"))
        raise RuntimeError("seen")

    session.answers("delete", delete)
    CliRunner().invoke(build_app(), ["delete", TABLE, "--keys", "-", "--on", "id"], input="5\n6\n")

    assert seen == ['"id"\n5\n6\n']


def context(**params: object) -> Any:
    """Return what the shell gives a completion."""
    return SimpleNamespace(params=params)


def test_completion_knows_tables_and_indexes(warehouse: Path) -> None:
    """Names that begin with the text at the cursor."""
    given = context(table=TABLE, warehouse=str(warehouse), catalog=None)

    assert names_of_tables(given, "lake.") == ["lake.db.other", TABLE]
    assert names_of_tables(given, "lake.db.t") == [TABLE]
    assert index_names(given, "") == ["id", "text"]
    assert index_names(given, "t") == ["text"]


@pytest.mark.parametrize(
    "params",
    [{}, {"table": "lake.db.nothing"}, {"table": TABLE, "catalog": "nowhere"}, {"table": None}],
    ids=str,
)
def test_completion_never_fails(
    params: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell at its prompt gets no names, and no message."""
    assert names_of_tables(context(**params), "x") == []
    assert index_names(context(**params), "") == []
    assert capsys.readouterr() == ("", "")
