"""The metadata file of an Iceberg table: versions, schemas and references."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.tables.contract import TableVersion
from lakesieve.tables.iceberg.schema import NAME_MAPPING, schema_document
from lakesieve.tables.moments import millis_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MAIN = "main"
"""The branch that every table has."""

LARGEST_METADATA = 1 << 30
"""Bytes of a metadata file, at most, also after decompression."""


def metadata_document(data: bytes) -> Any:
    """Read a metadata file as JSON; it may be compressed with gzip.

    Raises:
        OSError, EOFError: It cannot be decompressed.
        ValueError: It is no JSON.
    """
    if data[:2] == b"\x1f\x8b":
        with gzip.open(BytesIO(data)) as unpacked:
            data = unpacked.read(LARGEST_METADATA)
    return json.loads(data)


@dataclass(frozen=True, slots=True, eq=False)
class IcebergMetadata:
    """A metadata file of a table.

    It is read as JSON, so that types and features that only matter to readers of rows do not
    matter here.

    Raises:
        UnsupportedError: It is no metadata of a version that is known.
    """

    document: Mapping[str, Any]

    def __post_init__(self) -> None:
        known = self.document.get("format-version") in {1, 2, 3}
        named = all(isinstance(self.document.get(k), str) for k in ("table-uuid", "location"))
        if not known or not named:
            raise UnsupportedError(
                "The table's metadata is of an unknown version, or lacks its identity.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Look for a newer version of lakesieve.",
            )

    @property
    def uuid(self) -> str:
        """Identity of the table."""
        return str(self.document["table-uuid"]).lower()

    @property
    def location(self) -> str:
        """Root of the table's own files."""
        return str(self.document["location"])

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties."""
        return self.document.get("properties") or {}

    @property
    def snapshots(self) -> Sequence[Mapping[str, Any]]:
        """All snapshots that the metadata lists."""
        return self.document.get("snapshots") or ()

    def snapshot(self, snapshot_id: int | None) -> Mapping[str, Any] | None:
        """Return a snapshot by its id, if the table keeps it."""
        return next((s for s in self.snapshots if s["snapshot-id"] == snapshot_id), None)

    def references(self) -> dict[str, Mapping[str, Any]]:
        """Return the branches and tags by name, with ``main`` if the metadata lists it."""
        return dict(self.document.get("refs") or {})

    def head(self, branch: str | None = None) -> Mapping[str, Any] | None:
        """Return the newest snapshot of a branch, or of ``main`` if the branch does not exist."""
        reference = None if branch in {None, MAIN} else self.references().get(str(branch))
        if reference is None:
            return self.snapshot(self.document.get("current-snapshot-id"))
        return self.snapshot(reference["snapshot-id"])

    def history(self, snapshot: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
        """Return a snapshot and those that it descends from, the newest first."""
        by_id = {known["snapshot-id"]: known for known in self.snapshots}
        while snapshot is not None:
            yield snapshot
            snapshot = by_id.pop(snapshot.get("parent-snapshot-id"), None)

    def version(self, spec: str | int | None) -> TableVersion | None:
        """Resolve a snapshot id, an ISO timestamp, a branch or a tag, as Iceberg does.

        ``None`` is the head of ``main``. Returns ``None`` if there is no such version.
        """
        reference = None if spec is None else self.references().get(str(spec))
        if spec is None:
            snapshot = self.head()
            if snapshot is None:
                return TableVersion(id=None, schema=self.schema_document())
        elif reference is not None:
            snapshot = self.snapshot(reference["snapshot-id"])
        else:
            snapshot = self._named(str(spec))
        if snapshot is None:
            return None
        # the head and branches are read with the table's schema, all else with its own
        is_head = spec is None or (reference is not None and reference.get("type") == "branch")
        return TableVersion(
            id=str(snapshot["snapshot-id"]),
            timestamp_ms=snapshot["timestamp-ms"],
            schema=self.schema_document(None if is_head else snapshot),
        )

    def _named(self, spec: str) -> Mapping[str, Any] | None:
        if spec.isascii() and spec.isdigit() and int(spec) < 2**63:
            return self.snapshot(int(spec))
        limit = millis_of(spec)
        if limit is None:
            return None
        log = self.document.get("snapshot-log") or ()
        older = [entry["snapshot-id"] for entry in log if entry["timestamp-ms"] <= limit]
        return self.snapshot(older[-1]) if older else None

    def schema_document(self, snapshot: Mapping[str, Any] | None = None) -> str:
        """Return the table's schema, or the one that a snapshot was written with, as JSON."""
        schemas = {one.get("schema-id"): one for one in self.document.get("schemas") or ()}
        schema = None if snapshot is None else schemas.get(snapshot.get("schema-id"))
        current = schema or schemas.get(self.document.get("current-schema-id"))
        # ``schema`` is the only place of the oldest files of format version 1
        mapping = self.properties.get(NAME_MAPPING)
        return schema_document(
            current or self.document["schema"], mapping, self._identity_sources()
        )

    def partition_specs(self) -> dict[int, list[dict[str, Any]]]:
        """Return the fields of the table's partition specs, by the ids of the specs."""
        specs = self.document.get("partition-specs")
        if specs is None:
            # the only place of the oldest files of format version 1
            return {0: list(self.document.get("partition-spec") or ())}
        return {int(spec["spec-id"]): list(spec["fields"]) for spec in specs}

    def _identity_sources(self) -> set[int]:
        """Ids of the source fields of identity partitions in any of the table's specs."""
        fields = [field for spec in self.partition_specs().values() for field in spec]
        return {f["source-id"] for f in fields if f["transform"] == "identity"}
