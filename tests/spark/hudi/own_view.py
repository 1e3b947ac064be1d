"""What Hudi itself says of a table's files, by way of Spark: the oracle of the reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.spark.versions.jar import own_class
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.spark.hudi.driver import HudiDriver

__all__ = ["check_files"]


def check_files(table: HudiDriver, versions: Sequence[str]) -> None:
    """Insist that the reader lists the slices of each version as Hudi's file index does."""
    reader = open_table(f"hudi:{table.folder}")
    for spec in (None, *versions):
        version = reader.version(spec)
        live = reader.live_files(version)
        ours = zip(*(live[n].to_pylist() for n in ("location", "size", "indexable")), strict=True)
        assert sorted(ours) == sorted(_slices(table, str(version.id))), spec
    assert sorted(reader.retained_files().to_pylist()) == sorted(set(_base_files(table)))


def _slices(table: HudiDriver, instant: str) -> Iterator[tuple[str, int, bool]]:
    """Path, size, and whether the base file has exactly the rows, of each slice of a version."""
    java, index = _index(table, instant)
    for slices in java.slices(index).values():
        for one in slices:
            if not one.isEmpty():
                base = one.getBaseFile()
                log = None if base.isPresent() else one.getLatestLogFile().get()
                path = base.get().getPath() if log is None else log.getPath().toString()
                exact = java.identity(index, one) is not None
                yield str(path), int(one.getTotalFileSize()), exact


def _index(table: HudiDriver, instant: str) -> tuple[Any, Any]:
    """The file index of a read as of an instant, and the class that looks into it."""
    java: Any = own_class(table.spark, "hudi.HudiFiles")
    plan = table.frame(**{"as.of.instant": instant})._jdf.queryExecution().analyzed()
    return java, java.index(java.leaf(plan))


def _base_files(table: HudiDriver) -> Iterator[str]:
    """Base files of all groups, replaced ones too, that Hudi's view of the file system knows."""
    client = _index(table, table.version())[1].metaClient()
    jvm: Any = table.spark._jvm
    common = jvm.org.apache.hudi.common
    engine = common.engine.HoodieLocalEngineContext(client.getStorageConf())
    has_metadata = client.getTableConfig().isMetadataTableAvailable()
    config = common.config.HoodieMetadataConfig.newBuilder().enable(has_metadata).build()
    managers = common.table.view.FileSystemViewManager
    view = managers.createInMemoryFileSystemView(engine, client, config)
    for partition in common.fs.FSUtils.getAllPartitionPaths(engine, client, config):
        for groups in (view.getAllFileGroups, view.getAllReplacedFileGroups):
            found = groups(partition).iterator()
            while found.hasNext():
                bases = found.next().getAllBaseFiles().iterator()
                while bases.hasNext():
                    yield str(bases.next().getPath())
    view.close()
