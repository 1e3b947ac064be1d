"""The documents of the log: commits, and checkpoints that spare their replay."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Self

from lakesieve.errors import IndexFormatError, corrupt
from lakesieve.format.entries import CatalogueEntry, IndexDefinition, SegmentEntry, checked

_BROKEN = (KeyError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit of the log.

    Args:
        created_at: When, ISO 8601 in UTC.
        write_id: Drawn by the writer, to know its own commit again.
        parent_id: The ``write_id`` of the commit before it; empty in a root.
        definition: What is indexed; makes the commit a root, whose state is what it adds.
        retained_from: Earlier states than this commit's may be gone from now on.
        metrics: Totals of the state after it, for people.
    """

    number: int
    operation: str
    created_at: str
    writer: str
    write_id: str
    parent_id: str
    definition: IndexDefinition | None
    table_version: dict[str, Any]
    add_catalogues: tuple[CatalogueEntry, ...] = ()
    add_segments: tuple[SegmentEntry, ...] = ()
    remove_segments: tuple[str, ...] = ()
    remove_catalogues: tuple[str, ...] = ()
    retained_from: int = 0
    metrics: dict[str, Any] = field(default_factory=dict)

    @property
    def added(self) -> tuple[CatalogueEntry | SegmentEntry, ...]:
        """The objects it adds."""
        return (*self.add_catalogues, *self.add_segments)

    @property
    def parent(self) -> int | None:
        """Number of the commit before it."""
        return self.number - 1 if self.parent_id else None

    def to_json(self) -> dict[str, Any]:
        """Return the body of a document."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["definition"] = None if self.definition is None else self.definition.to_json()
        plain["add_catalogues"] = [entry.to_json() for entry in self.add_catalogues]
        plain["add_segments"] = [entry.to_json() for entry in self.add_segments]
        return plain

    @classmethod
    def from_json(cls, document: dict[str, Any], path: str) -> Self:
        """Read it from the body of a document; ``path`` is for the error."""
        try:
            plain = dict(document)
            definition = plain.pop("definition")
            parsed: dict[str, Any] = {
                "definition": None if definition is None else IndexDefinition.from_json(definition),
                "add_catalogues": tuple(map(CatalogueEntry.from_json, plain.pop("add_catalogues"))),
                "add_segments": tuple(map(SegmentEntry.from_json, plain.pop("add_segments"))),
            }
            commit = cls(**checked(cls, plain, skip=set(parsed)), **parsed)
            if (commit.definition is None) != bool(commit.parent_id):
                raise ValueError("a root has a definition and no parent, another the reverse")
        except IndexFormatError:
            raise
        except _BROKEN as error:
            raise corrupt(path, f"it is not a commit ({error})") from error
        return commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The whole state after a commit; made from the log alone, so that any writer's is the same.

    Args:
        write_id: That commit's.
        retained_from: Earlier states than this commit's may be gone.
    """

    number: int
    write_id: str
    retained_from: int
    definition: IndexDefinition
    table_version: dict[str, Any]
    catalogues: tuple[CatalogueEntry, ...]
    segments: tuple[SegmentEntry, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the body of a document."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["definition"] = self.definition.to_json()
        plain["catalogues"] = [entry.to_json() for entry in self.catalogues]
        plain["segments"] = [entry.to_json() for entry in self.segments]
        return plain

    @classmethod
    def from_json(cls, document: dict[str, Any], path: str) -> Self:
        """Read it from the body of a document; ``path`` is for the error."""
        try:
            plain = dict(document)
            parsed: dict[str, Any] = {
                "definition": IndexDefinition.from_json(plain.pop("definition")),
                "catalogues": tuple(map(CatalogueEntry.from_json, plain.pop("catalogues"))),
                "segments": tuple(map(SegmentEntry.from_json, plain.pop("segments"))),
            }
            return cls(**checked(cls, plain, skip=set(parsed)), **parsed)
        except IndexFormatError:
            raise
        except _BROKEN as error:
            raise corrupt(path, f"it is not a checkpoint ({error})") from error
