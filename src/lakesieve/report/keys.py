"""Answers about keys as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.report.units import count, duration, plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.index.key_results import KeyCheck
    from lakesieve.report.result import DuplicateKeys, KeysFound


def keys_found_facts(result: KeysFound) -> list[tuple[str, str]]:
    """How many of given keys a table lacks."""
    others = result.keys - result.absent
    facts = [
        ("table", result.table),
        ("version", result.version or "none yet: the table is empty"),
        ("index", result.index),
        ("given", plural(result.keys, "key")),
        ("absent", count(result.absent)),
        ("present" if result.confirmed else "possible", count(others)),
        ("in", f"{count(result.named_files)} of {plural(result.files, 'data file')}"),
    ]
    if result.uncovered:
        facts.append(("uncovered", f"{plural(result.uncovered, 'data file')} no index has seen"))
    return facts + _listed("absent are", result.examples, result.absent)


def duplicate_facts(result: DuplicateKeys) -> list[tuple[str, str]]:
    """The keys that are in several rows, and what it took to find them."""
    facts = [
        ("table", result.table),
        ("version", result.version or "none yet: the table is empty"),
        ("in several rows", f"{plural(result.count, 'key')} by {', '.join(result.on)}"),
        _searched(result.files_read, result.files, result.index),
    ]
    pairs = zip(result.keys, result.rows, strict=True)
    shown = [(*key, f"({count(rows)} rows)") for key, rows in pairs]
    return facts + _listed("these are", shown, result.count)


def key_check_facts(result: KeyCheck) -> list[tuple[str, str]]:
    """Whether keys are unique, or those that they refer to are there."""
    columns = ", ".join(result.on)
    facts = [("table", result.table)]
    if result.parent is None:
        facts.append(("unique", f"{columns}: {'yes' if result.holds else 'no'}"))
        broken, what = "in several rows", "these are"
    else:
        target = f"{result.parent} ({', '.join(result.parent_columns)})"
        facts.append(("refers to", f"{columns} to {target}: {'yes' if result.holds else 'no'}"))
        broken, what = "missing there", "missing are"
    if result.violations:
        facts.append((broken, plural(result.violations, "key")))
    if result.files_read is not None:
        facts.append(_searched(result.files_read, result.files, result.index))
    facts += _listed(what, result.examples, result.violations)
    return [*facts, ("time", duration(result.seconds))]


def _searched(read: int, files: int, index: str | None) -> tuple[str, str]:
    by = f", by the index {index}" if index else ", no index helps"
    return ("searched", f"{count(read)} of {plural(files, 'data file')}{by}")


def _listed(title: str, keys: Sequence[Sequence[str]], total: int) -> list[tuple[str, str]]:
    facts = [(title if at == 0 else "", ", ".join(key)) for at, key in enumerate(keys)]
    if keys and len(keys) < total:
        facts.append(("", f"... and {count(total - len(keys))} more"))
    return facts
