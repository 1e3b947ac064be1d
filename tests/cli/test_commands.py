"""Commands on real tables that need no Spark: what they write and return."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from tests.engines.tables import index_of
from tests.kit.building import refresh_index

import lakesieve as ls
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from tests.cli.conftest import Run, Session


def folder_of(table: str) -> Path:
    return Path(table.partition(":")[2])


def names(text: str) -> list[str]:
    """The names of the files whose paths are given, one a line."""
    return [line.rpartition("/")[2] for line in text.splitlines()]


@pytest.fixture
def refreshed(table: str) -> str:
    """The table when its index has seen the last file, too."""

    def read(path: str) -> pa.Array:
        file = path.removeprefix("file:").partition("#")[0]
        return pq.read_table(file).column("id").combine_chunks()

    refresh_index(open_table(table), "id", read)
    return table


def test_files_writes_only_paths_to_stdout(lakesieve: Run, table: str) -> None:
    """``files`` writes one path a line, and the summary to stderr."""
    done = lakesieve("files", table, "id = 3")

    assert done.exit_code == 0
    assert names(done.stdout) == ["0.parquet", "2.parquet"]
    assert done.stderr == "2 of 3 files can hold a match, 1 of them not indexed.\n"


def test_long_paths_are_not_wrapped(lakesieve: Run, tmp_path: Path) -> None:
    """A path longer than any terminal stays one line."""
    folder = tmp_path / ("x" * 200) / ("y" * 200)
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), folder / "0.parquet")

    (path,) = lakesieve("files", f"parquet:{folder}", "id = 1").stdout.splitlines()

    assert path.endswith(f"{folder}/0.parquet")


def test_files_writes_nothing_where_nothing_matches(lakesieve: Run, refreshed: str) -> None:
    """An empty answer is an empty stdout, not an empty line."""
    done = lakesieve("files", refreshed, "id = 5000")

    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "0 of 3 files can hold a match.\n"


def test_files_as_json(lakesieve: Run, table: str) -> None:
    """``files --json`` writes the whole result model."""
    shown = json.loads(lakesieve("files", table, "id = 3", "--json").stdout)

    found = ls.find_files(table, "id = 3")
    reasons = [{"code": str(reason.code), "detail": reason.detail} for reason in found.reasons]
    assert shown == {**dataclasses.asdict(found), "reasons": reasons, "indexes": ["id"]}


def test_files_of_a_version(lakesieve: Run, tmp_path: Path) -> None:
    """``--version`` is resolved by the table's format."""
    for ids in ([1], [2]):
        write_deltalake(tmp_path, pa.table({"id": ids}), mode="append")
    table = f"delta:{tmp_path}"

    assert len(lakesieve("files", table, "id > 0").stdout.splitlines()) == 2
    assert len(lakesieve("files", table, "id > 0", "--version", "0").stdout.splitlines()) == 1
    assert lakesieve("files", table, "id > 0", "--version", "7").exit_code == 1


def test_indexes_elsewhere(lakesieve: Run, table: str, tmp_path: Path) -> None:
    """``--location`` names where the table's indexes are."""
    home = tmp_path / "indexes" / open_table(table).uuid
    home.parent.mkdir()
    shutil.move(folder_of(table) / "_lakesieve", home)

    assert lakesieve("list", table).stdout == ""
    (info,) = json.loads(
        lakesieve("list", table, "--location", f"{tmp_path}/indexes", "--json").stdout
    )
    assert info["name"] == "id"


def test_a_catalog_of_pyicebergs_configuration(
    lakesieve: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--catalog`` names one, and the name of the table may leave it out."""
    uri = f"sqlite:///{tmp_path}/shop.db"
    catalog = SqlCatalog("shop", uri=uri, warehouse=str(tmp_path))
    catalog.create_namespace("db")
    rows = pa.table({"id": [1, 2]})
    catalog.create_table("db.t", schema=rows.schema).append(rows)
    for name, value in (("URI", uri), ("TYPE", "sql"), ("WAREHOUSE", str(tmp_path))):
        monkeypatch.setenv(f"PYICEBERG_CATALOG__SHOP__{name}", value)

    for name in ("db.t", "shop.db.t"):
        done = lakesieve("files", name, "id = 1", "--catalog", "shop")
        assert len(done.stdout.splitlines()) == 1, done.stderr


def test_explain_tells_why(lakesieve: Run, table: str) -> None:
    """``explain`` shows the counts, the coded reasons and the files."""
    done = lakesieve("explain", table, "id = 3")

    assert done.exit_code == 0
    for text in ("2 of 3 files, 1 skipped", "index-used", "uncovered-files", "0.parquet"):
        assert text in done.stdout


@pytest.mark.parametrize("arguments", [("list",), ("history", "id")], ids=" ".join)
def test_lists_are_json_arrays(lakesieve: Run, table: str, arguments: tuple[str, ...]) -> None:
    """What is a list in Python is an array in JSON, with a row of text for each item."""
    command, *rest = arguments
    as_json = json.loads(lakesieve(command, table, *rest, "--json").stdout)
    as_text = lakesieve(command, table, *rest).stdout

    assert len(as_json) == 1
    assert len(as_text.splitlines()) == 2


def test_an_empty_list_says_what_to_do(lakesieve: Run, tmp_path: Path) -> None:
    """A table without an index gives no output, and advice on stderr."""
    pq.write_table(pa.table({"id": [1]}), tmp_path / "0.parquet")

    done = lakesieve("list", f"parquet:{tmp_path}")

    assert (done.exit_code, done.stdout) == (0, "")
    assert f"lakesieve create parquet:{tmp_path} COLUMN" in done.stderr


def test_show_is_the_index_info(lakesieve: Run, table: str) -> None:
    """``show --json`` writes every field of the index's description."""
    shown = json.loads(lakesieve("show", table, "id", "--json").stdout)

    expected = dataclasses.asdict(ls.open_index(table, "id").info())
    fresh = {name: shown[name] for name in ("live_files", "covered_files", "committed_at")}
    assert shown == {**expected, "columns": ["id"], "types": ["long"], **fresh}
    assert (fresh["live_files"], fresh["covered_files"]) == (3, 2)


def test_drop_deletes(lakesieve: Run, table: str) -> None:
    """``drop`` deletes the index; a second one fails with status 1."""
    first, second = lakesieve("drop", table, "id"), lakesieve("drop", table, "id")

    assert first.stdout == f"Dropped the index id of {table}.\n"
    assert (first.exit_code, second.exit_code) == (0, 1)
    assert ls.list_indexes(table) == []


def test_drop_can_be_tried(lakesieve: Run, table: str) -> None:
    """``drop --dry-run`` deletes nothing."""
    done = lakesieve("drop", table, "id", "--dry-run", "--json")

    assert json.loads(done.stdout) == {"table": table, "name": "id", "dry_run": True}
    assert len(ls.list_indexes(table)) == 1


def test_compact_merges_segments(lakesieve: Run, refreshed: str) -> None:
    """A dry run tells what would be merged, a real one merges it, and then there is nothing."""
    tried = " ".join(lakesieve("compact", refreshed, "id", "--dry-run").stdout.split())
    assert tried.startswith("Would merge 2 segments")
    assert ls.open_index(refreshed, "id").info().segments == 2

    done = " ".join(lakesieve("compact", refreshed, "id").stdout.split())
    assert done.startswith("Merged 2 segments")
    assert ls.open_index(refreshed, "id").info().segments == 1
    assert json.loads(lakesieve("compact", refreshed, "id", "--json").stdout)["files"] == 3


def test_rollback_makes_an_earlier_state_the_last(lakesieve: Run, refreshed: str) -> None:
    """The index is what it was after that commit, by a new one."""
    done = lakesieve("rollback", refreshed, "id", "0", "--json")

    info = json.loads(done.stdout)
    assert (info["commit"], info["files"]) == (2, 2)
    assert [c.operation for c in ls.open_index(refreshed, "id").history()][:2] == [
        "create",
        "refresh",
    ]


def test_vacuum_deletes_what_no_kept_commit_needs(lakesieve: Run, refreshed: str) -> None:
    """A dry run deletes nothing; without an age and with one commit the merged segments go."""
    lakesieve("compact", refreshed, "id")
    arguments = ("vacuum", refreshed, "id", "--retain", "1", "--hours", "0")

    tried = json.loads(lakesieve(*arguments, "--dry-run", "--json").stdout)
    done = lakesieve(*arguments)

    assert len(tried["paths"]) > 0
    assert f"Deleted {len(tried['paths'])} objects" in " ".join(done.stdout.split())
    assert "commits from 2 on are kept" in " ".join(done.stdout.split())
    assert lakesieve("verify", refreshed, "id").exit_code == 0


def test_verify_and_repair_of_a_sound_index(lakesieve: Run, table: str) -> None:
    """Both say that nothing is damaged."""
    verified, repaired = lakesieve("verify", table, "id"), lakesieve("repair", table, "id")

    assert (verified.exit_code, repaired.exit_code) == (0, 0)
    assert "as written." in verified.stdout
    assert "Nothing is damaged" in repaired.stdout
    assert json.loads(lakesieve("verify", table, "id", "--json").stdout)["rows"] is None


def test_verify_stops_at_damage(lakesieve: Run, table: str, session: Session) -> None:
    """Where checksums fail, the damaged object is named and no data file is read."""
    (segment,) = (folder_of(table) / "_lakesieve" / "id" / "segments").iterdir()
    segment.write_bytes(segment.read_bytes()[:-9] + b"\0" * 9)
    session.answers("open_index", ls.open_index(table, "id"))

    done = lakesieve("verify", table, "id", "--all")

    assert done.exit_code == 1
    assert f"segments/{segment.name}" in done.stdout
    assert "the checksum of its footer does not match" in done.stdout
    repaired = lakesieve("repair", table, "id")
    assert segment.name in repaired.stdout
    assert lakesieve("verify", table, "id").exit_code == 0


def test_a_clone_of_an_index(lakesieve: Run, warehouse: Path, tmp_path: Path) -> None:
    """A table that shares data files gets the index, without a build."""
    copy = tmp_path / "warehouse"
    shutil.copytree(warehouse, copy)

    done = lakesieve("clone", "lake.db.t", "id", "lake.db.other", "--warehouse", str(copy))

    assert done.exit_code == 0, done.stderr
    assert "lake.db.other has the index id of lake.db.t" in " ".join(done.stdout.split())
    assert "id" in lakesieve("list", "lake.db.other", "--warehouse", str(copy)).stdout


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_keys_of_a_file_are_looked_up(
    lakesieve: Run, refreshed: str, tmp_path: Path, form: str
) -> None:
    """Other columns of the file do not matter."""
    file = tmp_path / f"keys.{form}"
    if form == "csv":
        file.write_text("name,ID\nx,5\ny,100\nz,6\n,\n")
    else:
        pq.write_table(pa.table({"name": ["x"] * 4, "ID": [5, 100, 6, None]}), file)
    run = ("contains", refreshed, "id", "--keys", str(file))

    done = lakesieve(*run)
    document = json.loads(lakesieve(*run, "--confirm", "--json").stdout)

    assert done.exit_code == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "given 4 keys absent 2 possible 2 in 2 of 3 data files absent are 100 None" in text
    assert (document["absent"], document["confirmed"]) == (2, True)


def test_a_file_of_keys_that_is_not_there_is_named(lakesieve: Run, table: str) -> None:
    """One line with what to give, and status 1."""
    done = lakesieve("contains", table, "id", "--keys", "nowhere.csv")

    assert done.exit_code == 1
    assert "nowhere.csv cannot be read" in done.stderr


def test_errors_are_one_line(lakesieve: Run, table: str) -> None:
    """What lakesieve raises on purpose becomes one line of message and hint, status 1."""
    done = lakesieve("show", table, "nope")

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {table} has no index nope. ")
    assert len(done.stderr.splitlines()) == 1


def test_debug_shows_the_traceback(lakesieve: Run, table: str) -> None:
    """With ``--debug`` the error itself comes through."""
    done = lakesieve("show", table, "nope", "--debug")

    assert type(done.exception).__name__ == "NotFoundError"
    assert done.exit_code == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",),
        ("list", "lake.db.t", "--nonsense"),
        ("nonsense",),
        ("create", "lake.db.t"),
        ("create", "lake.db.t", "--index", "b", "--name", "n"),
        ("list", "lake.db.t", "--spark-conf", "novalue"),
        ("demo", "--scale", "0"),
    ],
)
def test_wrong_usage_is_status_2(lakesieve: Run, session: Session, arguments: tuple[str]) -> None:
    """Wrong usage is reported on stderr with status 2 before Spark is started."""
    done = lakesieve(*arguments)

    assert (done.exit_code, done.stdout) == (2, "")
    assert "Starting Spark" not in done.stderr
    assert session.calls == []


def test_version_is_printed(lakesieve: Run) -> None:
    """``lakesieve --version`` prints name and version."""
    assert lakesieve("--version").stdout == f"lakesieve {ls.__version__}\n"


def test_texts_are_keys_too(lakesieve: Run, tmp_path: Path) -> None:
    """A predicate in quotes reaches an index on text as the shell hands it over."""
    for at, text in enumerate(("ä b", "c")):
        pq.write_table(pa.table({"s": [text]}), tmp_path / f"{at}.parquet")
    index_of(open_table(f"parquet:{tmp_path}"), "s", covers=lambda _: True)

    assert names(lakesieve("files", f"parquet:{tmp_path}", "s = 'ä b'").stdout) == ["0.parquet"]
