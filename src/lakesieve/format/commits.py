"""The documents of the log: commits, and checkpoints that make replaying them unnecessary."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Self

from lakesieve.errors import IndexFormatError, corrupt
from lakesieve.format.documents import checked
from lakesieve.format.entries import CatalogueEntry, SegmentEntry
from lakesieve.format.index_definition import IndexDefinition

_BROKEN = (KeyError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit of the log.

    Args:
        created_at: Time of the commit, ISO 8601 in UTC.
        write_id: Random id, by which the writer recognizes its own commit.
        parent_id: The ``write_id`` of the commit before it; empty for a root.
        definition: What is indexed. A commit with a definition is a root: its state is what it
            adds.
        retained_from: States before this commit may have been deleted.
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
        """The objects that the commit adds."""
        return (*self.add_catalogues, *self.add_segments)

    @property
    def parent(self) -> int | None:
        """Number of the commit before this one."""
        return self.number - 1 if self.parent_id else None

    def to_json(self) -> dict[str, Any]:
        """Return the commit as the body of a document."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["definition"] = None if self.definition is None else self.definition.to_json()
        plain["add_catalogues"] = [entry.to_json() for entry in self.add_catalogues]
        plain["add_segments"] = [entry.to_json() for entry in self.add_segments]
        return plain

    @classmethod
    def from_json(cls, document: dict[str, Any], path: str) -> Self:
        """Parse a commit from the body of a document; ``path`` is used in errors."""
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
                raise ValueError("a commit must have either a definition, as a root, or a parent")
        except IndexFormatError:
            raise
        except _BROKEN as error:
            raise corrupt(path, f"it is not a valid commit ({error})") from error
        return commit


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The whole state after a commit.

    It is made from the log alone, so every writer makes the same checkpoint.

    Args:
        write_id: The ``write_id`` of the commit.
        retained_from: States before this commit may have been deleted.
    """

    number: int
    write_id: str
    retained_from: int
    definition: IndexDefinition
    table_version: dict[str, Any]
    catalogues: tuple[CatalogueEntry, ...]
    segments: tuple[SegmentEntry, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the checkpoint as the body of a document."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["definition"] = self.definition.to_json()
        plain["catalogues"] = [entry.to_json() for entry in self.catalogues]
        plain["segments"] = [entry.to_json() for entry in self.segments]
        return plain

    @classmethod
    def from_json(cls, document: dict[str, Any], path: str) -> Self:
        """Parse a checkpoint from the body of a document; ``path`` is used in errors."""
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
            raise corrupt(path, f"it is not a valid checkpoint ({error})") from error
