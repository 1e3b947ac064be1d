"""The commands that change rows by key: what they call, and how they tell it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from lakesieve.index.reasons import Reason, ReasonCode
from lakesieve.index.result import RowChange
from lakesieve.index.table_info import TableStatus

if TYPE_CHECKING:
    from tests.cli.conftest import Run, Session

TABLE = "lake.db.t"
CHANGE = RowChange(
    table=TABLE,
    operation="upsert",
    on=("id",),
    keys=100,
    inserted=40,
    updated=60,
    deleted=0,
    files_read=3,
    files_added=2,
    files_removed=None,
    version="78",
    known=False,
    refreshed=(),
    reasons=(),
    seconds=1.5,
    dry_run=False,
)
DELETED = replace(CHANGE, operation="delete", inserted=0, updated=0, deleted=60)


@pytest.mark.parametrize("name", ["upsert", "delete"])
def test_options_are_handed_on(lakesieve: Run, session: Session, name: str) -> None:
    """File, key columns, transaction and refresh reach the function under their own names."""
    session.answers(name, CHANGE)
    file = "--rows" if name == "upsert" else "--keys"
    done = lakesieve(
        *(name, TABLE, file, "people.csv", "--on", "id", "--on", "text"),
        *("--txn", "gdpr:job:7", "--no-refresh", "--location", "/indexes", "--dry-run"),
    )

    assert done.exit_code == 0, done.stderr
    assert session.given(name) == {
        file.strip("-"): "people.csv",
        "table": TABLE,
        "on": ["id", "text"],
        "refresh": None,
        "txn": ("gdpr:job", 7),
        "location": "/indexes",
        "dry_run": True,
    }


def test_only_new_rows_are_inserted(lakesieve: Run, session: Session) -> None:
    """The rule for keys that are given twice reaches the function; what was there is said."""
    session.answers("insert_new", replace(CHANGE, operation="insert-new", updated=0))
    done = lakesieve(
        *("insert-new", TABLE, "--rows", "people.csv", "--on", "id", "--duplicates", "last")
    )

    given = session.given("insert_new")
    assert (given["rows"], given["on"], given["duplicates"]) == ("people.csv", ["id"], "last")
    text = " ".join(done.stdout.split())
    assert "given 100 keys by id inserted 40 rows there already 60 rows" in text
    assert "updated" not in text


def test_a_delete_is_described_in_words(lakesieve: Run, session: Session) -> None:
    """Rows, files and the new version, and nothing about rows that it could not touch."""
    session.answers("delete", DELETED)
    done = " ".join(lakesieve("delete", TABLE, "--keys", "k.csv", "--on", "id").stdout.split())
    assert "given 100 keys by id deleted 60 rows searched 3 data files files 2 written" in done
    assert "version 78" in done
    assert "inserted" not in done


def test_a_dry_run_tells_rows_and_files(lakesieve: Run, session: Session) -> None:
    """What would be touched, and no version."""
    session.answers("upsert", replace(CHANGE, version=None, dry_run=True))
    done = lakesieve("upsert", TABLE, "--rows", "k.csv", "--on", "id", "--dry-run")
    text = " ".join(done.stdout.split())
    assert "would be inserted 40 rows would be updated 60 rows in 3 data files" in text
    assert "version" not in text


def test_a_failed_refresh_is_said_aloud(lakesieve: Run, session: Session) -> None:
    """The command succeeds, as the commit did, and stderr and the JSON tell the reason."""
    reason = Reason(code=ReasonCode.REFRESH_FAILED, detail="id: the disk is full")
    session.answers("delete", replace(DELETED, reasons=(reason,)))
    done = lakesieve("delete", TABLE, "--keys", "k.parquet", "--on", "id", "--json")
    assert done.exit_code == 0
    assert "the index was not refreshed: id: the disk is full" in done.stderr
    assert f"Run lakesieve refresh {TABLE}." in done.stderr
    document = json.loads(done.stdout)
    assert document["reasons"] == [{"code": "refresh-failed", "detail": "id: the disk is full"}]


@pytest.mark.parametrize("txn", ["app", ":7", "app:seven"])
def test_transactions_have_a_number(lakesieve: Run, txn: str) -> None:
    """Anything but a name, a colon and a number is refused."""
    done = lakesieve("delete", TABLE, "--keys", "k.csv", "--on", "id", "--txn", txn)
    assert done.exit_code == 1
    assert "is not APP:N" in done.stderr


def test_status_suggests_upkeep_above_the_threshold(lakesieve: Run, session: Session) -> None:
    """The share and the command to run, as text and as JSON; below the threshold no command."""

    def status(table: str, *, threshold: float, **_: Any) -> TableStatus:
        return TableStatus(
            table=table,
            format="delta",
            version="7",
            files=40,
            marked_files=12,
            delete_files=0,
            form="row-level deletes",
            share=0.3,
            threshold=threshold,
            suggestions=("OPTIMIZE lake.db.t",) if threshold < 0.3 else (),
        )

    session.answers("status", status)
    done = " ".join(lakesieve("status", TABLE).stdout.split())
    assert "with row-level deletes 12 of 40 data files, 30 % suggested OPTIMIZE lake.db.t" in done
    done = " ".join(lakesieve("status", TABLE, "--threshold", "0.5").stdout.split())
    assert "upkeep not due (suggested above 50 %)" in done
    document = json.loads(lakesieve("status", TABLE, "--json").stdout)
    assert (document["share"], document["suggestions"]) == (0.3, ["OPTIMIZE lake.db.t"])
