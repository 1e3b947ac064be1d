"""The descriptions of the table formats."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from lakesieve.spark.tables.contract import ChangeableTable, CopyableTable, SparkTable
from lakesieve.spark.tables.registry import FORMATS
from lakesieve.spark.versions.spark_versions import SPARK_VERSIONS

if TYPE_CHECKING:
    from lakesieve.spark.tables.formats import FormatSpec

SPECS = list(FORMATS.values())


def adapter_of(spec: FormatSpec) -> Any:
    """Return the class of a format's tables."""
    module = import_module(f"lakesieve.spark.tables.{spec.name}.table")
    (adapter,) = (
        value
        for value in vars(module).values()
        if hasattr(value, "raw_rows") and value.__module__ == module.__name__
    )
    return adapter


def methods_of(protocol: type) -> set[str]:
    """Return the methods that a class needs to fulfil a protocol."""
    return {
        name
        for parent in protocol.__mro__
        if parent.__module__.startswith("lakesieve")
        for name in vars(parent)
        if not name.startswith("_")
    }


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: str(spec.name))
def test_what_a_table_cannot_do_has_an_advice(spec: FormatSpec) -> None:
    """Every adapter fulfils the contract, and has a hint for each ability that it lacks."""
    adapter = adapter_of(spec)
    source = vars(adapter).keys() | set(adapter.__annotations__)
    # what __init__ sets
    names = source | {"reader"}

    assert methods_of(SparkTable) - names == set()
    assert (methods_of(CopyableTable) <= names) != bool(spec.copying)
    assert (methods_of(ChangeableTable) <= names) != bool(spec.changing)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: str(spec.name))
def test_every_format_runs_somewhere(spec: FormatSpec) -> None:
    """Every format has a runtime for some version of Spark, by Maven coordinates."""
    versions = [version.name for version in SPARK_VERSIONS if spec.runs_on(version.name)]

    assert versions
    assert all(package.count(":") == 2 for package in (spec.packages or {}).values())


def test_hints_for_copies_name_the_tables() -> None:
    """The hint of Delta names the table, the copy and the version that were given."""
    hint = FORMATS["delta"].copying.format(table="db.t", copy="db.c", version="7")

    assert hint.startswith("CREATE TABLE db.c SHALLOW CLONE db.t VERSION AS OF 7")
    assert "lakesieve clone db.t INDEX db.c" in hint
