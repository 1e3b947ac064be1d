"""The commands that change rows by key: what they call, and how they tell it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from lakesieve.index.reasons import Reason, ReasonCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import FakeApi
    from typer.testing import Result

TABLE = "lake.db.t"


@pytest.mark.parametrize("name", ["upsert", "delete"])
def test_options_are_handed_on(lakesieve: Callable[..., Result], api: FakeApi, name: str) -> None:
    """File, key columns, transaction and refresh reach the function under their own names."""
    file = "--rows" if name == "upsert" else "--keys"
    done = lakesieve(
        *(name, TABLE, file, "people.csv", "--on", "id", "--on", "day"),
        *("--txn", "gdpr:job:7", "--no-refresh", "--location", "/indexes", "--dry-run"),
    )

    assert done.exit_code == 0, done.stderr
    assert api.arguments(name) == {
        file.strip("-"): "people.csv",
        "table": TABLE,
        "on": ["id", "day"],
        "refresh": None,
        "txn": ("gdpr:job", 7),
        "location": "/indexes",
        "dry_run": True,
    }


def test_only_new_rows_are_inserted(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """The rule for keys that are given twice reaches the function; what was there is said."""
    done = lakesieve(
        *("insert-new", TABLE, "--rows", "people.csv", "--on", "id", "--duplicates", "last")
    )

    given = api.arguments("insert_new")
    assert (given["rows"], given["on"], given["duplicates"]) == ("people.csv", ["id"], "last")
    text = " ".join(done.stdout.split())
    assert "given 100 keys by id inserted 40 rows there already 60 rows" in text
    assert "updated" not in text


def test_a_delete_is_described_in_words(lakesieve: Callable[..., Result]) -> None:
    """Rows, files and the new version, and nothing about rows that it could not touch."""
    done = " ".join(lakesieve("delete", TABLE, "--keys", "k.csv", "--on", "id").stdout.split())
    assert "given 100 keys by id deleted 60 rows searched 3 data files files 2 written" in done
    assert "version 78" in done
    assert "inserted" not in done


def test_a_dry_run_tells_rows_and_files(lakesieve: Callable[..., Result]) -> None:
    """What would be touched, and no version."""
    done = lakesieve("upsert", TABLE, "--rows", "k.csv", "--on", "id", "--dry-run")
    text = " ".join(done.stdout.split())
    assert "would be inserted 40 rows would be updated 60 rows in 3 data files" in text
    assert "version" not in text


def test_a_failed_refresh_is_said_aloud(lakesieve: Callable[..., Result], api: FakeApi) -> None:
    """The command succeeds, as the commit did, and stderr and the JSON tell the reason."""
    api.reasons = (Reason(code=ReasonCode.REFRESH_FAILED, detail="id: the disk is full"),)
    done = lakesieve("delete", TABLE, "--keys", "k.parquet", "--on", "id", "--json")
    assert done.exit_code == 0
    assert "not refreshed: refresh-failed: id: the disk is full" in done.stderr
    document = json.loads(done.stdout)
    assert document["reasons"] == [{"code": "refresh-failed", "detail": "id: the disk is full"}]


@pytest.mark.parametrize("txn", ["app", ":7", "app:seven"])
def test_transactions_have_a_number(lakesieve: Callable[..., Result], txn: str) -> None:
    """Anything but a name, a colon and a number is refused."""
    done = lakesieve("delete", TABLE, "--keys", "k.csv", "--on", "id", "--txn", txn)
    assert done.exit_code == 1
    assert "is not APP:N" in done.stderr


def test_status_suggests_upkeep_above_the_threshold(lakesieve: Callable[..., Result]) -> None:
    """The share and the command to run, as text and as JSON; below the threshold no command."""
    done = " ".join(lakesieve("status", TABLE).stdout.split())
    assert "with row-level deletes 12 of 40 data files, 30 % suggested OPTIMIZE lake.db.t" in done
    done = " ".join(lakesieve("status", TABLE, "--threshold", "0.5").stdout.split())
    assert "upkeep not due (suggested above 50 %)" in done
    document = json.loads(lakesieve("status", TABLE, "--json").stdout)
    assert (document["share"], document["suggestions"]) == (0.3, ["OPTIMIZE lake.db.t"])
