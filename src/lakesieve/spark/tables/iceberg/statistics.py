"""The statistics of Iceberg's manifests through a Spark session, by metadata tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lakesieve.tables.iceberg.statistics import METRICS, DataFileRows, iceberg_statistics
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import pyarrow as pa

    from lakesieve.tables.statistics import FileStatistics


def statistics_of_files(
    schema: str, partitioning: str, list_files: Callable[..., pa.Table]
) -> FileStatistics:
    """Make the statistics of a version of an Iceberg table.

    Args:
        schema: The schema of the version, as ``TableVersion`` has it.
        partitioning: The partition specs, as ``IcebergFields.java`` writes them.
        list_files: Returns columns of the ``files`` metadata table, given in SQL.
    """
    document = json.loads(partitioning)
    specs = {int(spec_id): fields for spec_id, fields in document["specs"].items()}
    names = {int(field): str(name) for field, name in document["names"].items()}

    def read(fields: Collection[int]) -> DataFileRows:
        entries = [(metric, field) for metric in METRICS for field in sorted(fields)]
        files = list_files(
            "file_path AS path",
            "spec_id" if names else "0 AS spec_id",
            "partition" if names else "null AS partition",
            *(f"{metric}[{field}] AS {metric}_{field}" for metric, field in entries),
        )
        partitions = [
            {field: one[name] for field, name in names.items()} if one else {}
            for one in files.column("partition").to_pylist()
        ]
        return DataFileRows(
            paths=normal_paths(files.column("path")),
            spec_ids=files.column("spec_id").to_pylist(),
            partitions=partitions,
            metric=lambda metric, field: files.column(f"{metric}_{field}").to_pylist(),
        )

    return iceberg_statistics(schema, specs, read)
