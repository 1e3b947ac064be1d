"""Groups of the file slices that a Hudi file index has listed."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from tests.spark.file_sets import SECRET, keep_set
from tests.spark.own_jars import check_adapters

from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SLICES = 600
WITHOUT_FILE = 300


def path(number: int) -> str:
    """Path of a base file, as Hudi names them."""
    return f"s3://b/t/{number:03}-0_0-1-2_20260101000000000.parquet"


def listed(jvm: Any) -> Any:
    """A list of file slices as a file index keeps, one of which has no base file."""
    of_hudi = jvm.org.apache.hudi.common.model
    slices = jvm.java.util.ArrayList()
    for number in range(SLICES):
        group = of_hudi.HoodieFileGroupId("", f"{number:03}-0")
        made = of_hudi.FileSlice(group, "20260101000000000")
        if number != WITHOUT_FILE:
            made.setBaseFile(of_hudi.HoodieBaseFile(path(number)))
        slices.add(made)
    return slices


def test_the_adapter_finds_its_private_members(spark: SparkSession) -> None:
    """Hudi has all private members that its adapter uses, and so has Spark."""
    assert check_adapters(spark) == {"hudi", "parquet"}


def test_groups_belong_to_a_list(spark: SparkSession) -> None:
    """Groups belong to one list object; a longer or an equal list has other groups."""
    jvm: Any = spark._jvm
    groups = own_class(spark, "hudi.SliceGroups")()
    slices = listed(jvm)

    def found(slices: Any, secret: bytes = SECRET) -> list[Any]:
        return list(groups.of(None, slices, secret))

    first = found(slices)
    assert [group.files() for group in first] == [256, 256, 88]
    assert [a.equals(b) for a, b in zip(first, found(slices), strict=True)] == [True] * 3

    copy = jvm.java.util.ArrayList(slices)
    assert [a.equals(b) for a, b in zip(first, found(copy), strict=True)] == [False] * 3
    other = found(slices, SECRET[::-1])
    assert [a.equals(b) for a, b in zip(first, other, strict=True)] == [False] * 3
    slices.add(slices.get(0))
    assert [group.files() for group in found(slices)] == [256, 256, 89]
    assert found(jvm.java.util.ArrayList()) == []


def test_a_group_with_a_kept_or_unknown_slice_is_looked_at(spark: SparkSession) -> None:
    """A group is searched if the index keeps or does not cover one of its slices."""
    jvm: Any = spark._jvm
    groups = own_class(spark, "hudi.SliceGroups")()
    names = [path(number) for number in range(SLICES) if number != WITHOUT_FILE]
    bits = sum(1 << at for at, name in enumerate(names) if name == path(SLICES - 1))
    packed = base64.b64encode(bits.to_bytes(SLICES // 8, "little")).decode()
    keep = keep_set(spark, [[names]], {"index": 0, "keep": packed})

    assert [keep.mayKeep(group) for group in groups.of(None, listed(jvm), SECRET)] == [
        False,
        True,
        True,
    ]
