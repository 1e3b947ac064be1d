"""Which branch of an Iceberg table a session reads, and to which branch it commits.

The rules are Iceberg's own: the branch in the identifier, then the session's ``spark.wap.branch``
if the table has ``write.wap.enabled``, then ``main``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, InvalidInputError, UnsupportedError
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.java_classes import has_class
from lakesieve.tables.names import parse_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAIN = "main"
_VERSION = re.compile(r"snapshot_id_(?P<id>\d+)|at_timestamp_\d+|tag_(?P<tag>.*)", re.DOTALL)
_BRANCH_PREFIX = "branch_"
_ENABLED = "write.wap.enabled"
_WAP_ID, _WAP_BRANCH = "spark.wap.id", "spark.wap.branch"
# in Iceberg's runtimes since a scan reads the snapshot that its table was loaded with
_PINNED_SINCE = "org.apache.iceberg.spark.TimeTravel"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSelector:
    """A table's identifier and the branch that was selected in it.

    Args:
        table: Identifier of the table itself.
        branch: The branch; ``None`` if the identifier selects none.
    """

    table: str
    branch: str | None = None


def selector_of(name: str, java: Any, branch: str | None) -> TableSelector:
    """Split an identifier such as ``catalog.database.table.branch_audit``.

    Raises:
        InvalidInputError: The identifier selects one version of a table.
    """
    parts = parse_name(name).identifier()
    last = parts[-1]
    table = name.removesuffix(f".{last}").removesuffix(f".{quoted(last)}")
    if branch is not None and last == f"{_BRANCH_PREFIX}{branch}":
        return TableSelector(table=table, branch=branch)
    version = _VERSION.fullmatch(last)
    # a table may be called like a version
    if version is None or str(java.name()).endswith(f".{last}"):
        return TableSelector(table=name)
    meant = version["id"] or version["tag"]
    raise InvalidInputError(
        f"{name} selects one version of a table.",
        kind=ErrorKind.NOT_A_TABLE,
        hint=f"Name the table, {table}, and give its version as an argument"
        + (f": version={meant!r}." if meant else "."),
    )


class BranchRules:
    """The branch that is read and written by a session, for one table.

    Args:
        spark: The session.
        name: The table's name, for messages.
        selected: The branch in the table's identifier.
    """

    def __init__(self, spark: SparkSession, name: str, selected: str | None) -> None:
        self._spark = spark
        self._name = name
        self.selected = selected

    def reads_ids(self, java: Any) -> bool:
        """Return whether Spark reads a snapshot of the table by its id in this session."""
        branch = self.session_branch(java)
        return branch is None or branch not in java.refs() or self.pins_snapshots

    @property
    def pins_snapshots(self) -> bool:
        """Whether this version of Iceberg reads the snapshot that a table was loaded with."""
        return has_class(self._spark, _PINNED_SINCE)

    def session_branch(self, java: Any) -> str | None:
        """Return the WAP branch that the session has set, if the table obeys it.

        Raises:
            InvalidInputError: The session has a WAP id, too.
        """
        branch = self._setting(java, _WAP_BRANCH)
        staged = self._setting(java, _WAP_ID)
        if branch is not None and staged is not None:
            raise InvalidInputError(
                f"The session has set both {_WAP_ID} ({staged}) and {_WAP_BRANCH} ({branch}), and "
                f"{self._name} has {_ENABLED}.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Unset one of them.",
            )
        return branch

    def read_branch(self, java: Any) -> str | None:
        """Return the branch whose head is the current version; ``None`` for ``main``.

        A WAP branch that nobody has written to yet is read as ``main``.

        Raises:
            InvalidInputError: The session's settings contradict each other.
        """
        if self.selected is not None:
            return self.selected
        branch = self.session_branch(java)
        return branch if branch is not None and branch in java.refs() else None

    def write_branch(self, java: Any) -> str | None:
        """Return the branch to commit to; ``None`` for ``main``.

        Raises:
            InvalidInputError: The session's settings contradict each other.
            UnsupportedError: A commit would be staged, or Iceberg refuses it.
        """
        staged = self._setting(java, _WAP_ID)
        if staged is not None and self._setting(java, _WAP_BRANCH) is None:
            raise UnsupportedError(
                f"The session's {_WAP_ID} ({staged}) stages its commits to {self._name}, so that "
                "no reader sees them.",
                kind=ErrorKind.UNSUPPORTED_SESSION,
                hint=f"Change the rows on a branch, by {_WAP_BRANCH}; or unset {_WAP_ID}.",
            )
        branch = self.session_branch(java)
        if self.selected is None:
            return branch
        if branch is not None and not self.pins_snapshots:
            raise UnsupportedError(
                f"This version of Iceberg commits to no branch that is named, {self._name}, while "
                f"the session has set {_WAP_BRANCH} ({branch}).",
                kind=ErrorKind.UNSUPPORTED_SESSION,
                hint=f"Unset {_WAP_BRANCH}.",
            )
        return self.selected

    def _setting(self, java: Any, name: str) -> str | None:
        """A setting of the session, if the table has write-audit-publish."""
        if str(java.properties().get(_ENABLED)).lower() != "true":
            return None
        return self._spark.conf.get(name, None)
