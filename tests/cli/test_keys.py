"""The commands about keys: what they call, how they tell it, and their status."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from lakesieve.index.key_results import KeyCheck

if TYPE_CHECKING:
    from tests.cli.conftest import Run, Session

TABLE = "lake.db.t"
CHECK = KeyCheck(
    table=TABLE,
    on=("id", "day"),
    parent=None,
    parent_columns=(),
    version="77",
    violations=30,
    examples=(("5", "2026-01-01"), ("7", "2026-01-02")),
    files_read=3,
    files=400,
    index="id_day",
    seconds=1.5,
)


def test_a_violation_is_status_1(lakesieve: Run, session: Session) -> None:
    """The keys are shown, as text and as JSON, and the status tells a script."""
    session.answers("check_unique", CHECK)
    done = lakesieve("check-unique", TABLE, "--on", "id", "--on", "text", "--limit", "2")

    assert done.exit_code == 1
    text = " ".join(done.stdout.split())
    assert "unique id, day: no in several rows 30 keys" in text
    assert "searched 3 of 400 data files, by the index id_day" in text
    assert "these are 5, 2026-01-01 7, 2026-01-02 ... and 28 more" in text
    given = session.given("check_unique")
    assert (given["table"], given["on"], given["limit"]) == (TABLE, ["id", "text"], 2)
    document = json.loads(lakesieve("check-unique", TABLE, "--on", "id", "--json").stdout)
    assert (document["violations"], document["examples"][0]) == (30, ["5", "2026-01-01"])


def test_no_violation_is_status_0(lakesieve: Run, session: Session) -> None:
    """Nothing is listed."""
    holds = replace(CHECK, violations=0, examples=(), index=None, files_read=None)
    session.answers("check_unique", holds)

    done = lakesieve("check-unique", TABLE, "--on", "id")

    assert done.exit_code == 0
    assert "unique id, day: yes" in " ".join(done.stdout.split())


def test_references_name_both_tables(lakesieve: Run, session: Session) -> None:
    """Columns of the parent are called like those of the child, if nothing else is said."""
    session.answers("check_references", replace(CHECK, parent="lake.db.p", parent_columns=("id",)))
    done = lakesieve("check-references", TABLE, "--on", "id", "--parent", "lake.db.other")

    assert done.exit_code == 1
    assert "refers to id, day to lake.db.p (id): no" in " ".join(done.stdout.split())
    given = session.given("check_references")
    assert (given["columns"], given["parent_columns"]) == (["id"], ["id"])
    session.calls.clear()
    lakesieve(
        *("check-references", TABLE, "--on", "id", "--on", "text", "--parent", "lake.db.other"),
        *("--parent-on", "c", "--parent-on", "d"),
    )
    assert session.given("check_references")["parent_columns"] == ["c", "d"]
