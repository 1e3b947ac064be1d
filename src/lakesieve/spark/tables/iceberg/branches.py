"""Find which branch of an Iceberg table a session reads, and to which branch it commits.

The rules are Iceberg's own. The branch in the identifier has precedence, then the session's
``spark.wap.branch`` if the table has ``write.wap.enabled``, then ``main``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, InvalidInputError, UnsupportedError
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.java_classes import has_class
from lakesieve.tables.iceberg.metadata import MAIN
from lakesieve.tables.moments import millis_of
from lakesieve.tables.names import parse_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesieve.tables.iceberg.metadata import IcebergMetadata

_VERSION = re.compile(r"snapshot_id_(?P<id>\d+)|at_timestamp_\d+|tag_(?P<tag>.*)", re.DOTALL)
_BRANCH_PREFIX = "branch_"
_ENABLED = "write.wap.enabled"
_WAP_ID, _WAP_BRANCH = "spark.wap.id", "spark.wap.branch"
# this class exists since the version in which a scan reads the snapshot that its table was loaded
# with
_PINNED_SINCE = "org.apache.iceberg.spark.TimeTravel"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSelector:
    """The identifier of a table, and the branch that a user's identifier selects."""

    table: str
    branch: str | None = None


def selector_of(name: str, entry: Any) -> TableSelector:
    """Split an identifier such as ``catalog.database.table.branch_audit``.

    Args:
        name: The identifier.
        entry: The catalog's entry for the identifier, Iceberg's ``SparkTable``.

    Raises:
        InvalidInputError: The identifier selects one version of a table.
    """
    branch = entry.branch()
    parts = parse_name(name).identifier()
    last = parts[-1]
    table = name.removesuffix(f".{last}").removesuffix(f".{quoted(last)}")
    if branch is not None and last == f"{_BRANCH_PREFIX}{branch}":
        return TableSelector(table=table, branch=str(branch))
    version = _VERSION.fullmatch(last)
    # a table's own name may look like a version
    if version is None or str(entry.table().name()).endswith(f".{last}"):
        return TableSelector(table=name)
    meant = version["id"] or version["tag"]
    raise InvalidInputError(
        f"{name} selects one version of a table.",
        kind=ErrorKind.NOT_A_TABLE,
        hint=f"Pass {table} as the name of the table, and the version as an argument"
        + (f": version={meant!r}." if meant else "."),
    )


@dataclass(frozen=True, slots=True)
class SessionBranches:
    """The branches of one table that a session reads and writes.

    Args:
        spark: The session. Its settings are read at each call.
        name: The table's name, for messages.
        selected: The branch in the table's identifier.
    """

    spark: SparkSession
    name: str
    selected: str | None = None

    def reads_ids(self, metadata: IcebergMetadata) -> bool:
        """Return whether Spark reads a snapshot of the table by its id in this session."""
        branch = self._wap_branch(metadata)
        return branch is None or branch not in metadata.references() or self.pins_snapshots

    @property
    def pins_snapshots(self) -> bool:
        """True if this version of Iceberg reads the snapshot that a table was loaded with."""
        return has_class(self.spark, _PINNED_SINCE)

    def resolve(self, metadata: IcebergMetadata, spec: str | int | None) -> str | int | None:
        """Return the version that a user means. The default is the branch that the session reads.

        Raises:
            InvalidInputError: It is a time, but the table's identifier selects a branch.
        """
        if spec is None:
            return self.read_branch(metadata)
        is_time = str(spec) not in metadata.references() and not str(spec).isdigit()
        if self.selected is not None and is_time and millis_of(str(spec)) is not None:
            raise InvalidInputError(
                f"{self.name} names a branch. The version of a branch cannot be given as a time.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Give a snapshot id. The metadata table 'snapshots' lists the snapshot ids.",
            )
        return spec

    def read_branch(self, metadata: IcebergMetadata) -> str | None:
        """Return the branch whose head is the current version, or ``None`` for ``main``.

        A WAP branch without commits is read as ``main``.

        Raises:
            InvalidInputError: The session's settings contradict each other.
        """
        if self.selected is not None:
            return None if self.selected == MAIN else self.selected
        branch = self._wap_branch(metadata)
        return branch if branch in metadata.references().keys() - {MAIN} else None

    def write_branch(self, metadata: IcebergMetadata) -> str | None:
        """Return the branch to commit to, or ``None`` for ``main``.

        Raises:
            InvalidInputError: The session's settings contradict each other.
            UnsupportedError: Commits would only be staged, or Iceberg refuses them.
        """
        staged = self._setting(metadata, _WAP_ID)
        if staged is not None and self._setting(metadata, _WAP_BRANCH) is None:
            raise UnsupportedError(
                f"The session's {_WAP_ID} ({staged}) stages its commits to {self.name}, so that "
                "no reader sees them.",
                kind=ErrorKind.UNSUPPORTED_SESSION,
                hint=f"Set {_WAP_BRANCH} to change the rows on a branch, or unset {_WAP_ID}.",
            )
        branch = self._wap_branch(metadata)
        if self.selected is None:
            return branch
        if branch is not None and not self.pins_snapshots:
            raise UnsupportedError(
                f"This version of Iceberg cannot commit to the named branch {self.name} while "
                f"the session has set {_WAP_BRANCH} ({branch}).",
                kind=ErrorKind.UNSUPPORTED_SESSION,
                hint=f"Unset {_WAP_BRANCH}.",
            )
        return self.selected

    def _wap_branch(self, metadata: IcebergMetadata) -> str | None:
        """Return the WAP branch that the session has set, if the table obeys it.

        Raises:
            InvalidInputError: The session also has a WAP id.
        """
        branch = self._setting(metadata, _WAP_BRANCH)
        staged = self._setting(metadata, _WAP_ID)
        if branch is not None and staged is not None:
            raise InvalidInputError(
                f"The session sets both {_WAP_ID} ({staged}) and {_WAP_BRANCH} ({branch}). A table "
                f"with {_ENABLED}, such as {self.name}, accepts only one of them.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Unset one of the two settings.",
            )
        return branch

    def _setting(self, metadata: IcebergMetadata, name: str) -> str | None:
        """Return a setting of the session if the table uses write-audit-publish, else ``None``."""
        if str(metadata.properties.get(_ENABLED)).lower() != "true":
            return None
        return self.spark.conf.get(name, None)
