"""List the supported table formats. Their modules are imported at first use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakesieve.storage import StorageOptions
    from lakesieve.tables.contract import Column, TableReader

    Columns = Mapping[tuple[str, ...], Column]
    Options = Callable[..., StorageOptions]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """One table format without an engine.

    Args:
        open: Opens the table with a name, in a folder. It gets a function that makes storage
            options from the environment.
        columns: Reads the columns of a schema document.
    """

    open: Callable[[str, str, Options], TableReader]
    columns: Callable[[str], Columns]


def _iceberg(name: str, location: str, options: Options) -> TableReader:
    from lakesieve.tables.iceberg.catalogs import from_folder
    from lakesieve.tables.iceberg.table import IcebergReader

    load = partial(from_folder, location, name, options())
    return IcebergReader(name, load, options)


def _iceberg_columns(schema: str) -> Columns:
    from lakesieve.tables.iceberg.schema import columns_of_schema

    return columns_of_schema(schema)


def _delta(name: str, location: str, options: Options) -> TableReader:
    from lakesieve.tables.delta.table import DeltaReader

    return DeltaReader(name, location, options())


def _delta_columns(schema: str) -> Columns:
    from lakesieve.tables.struct_schema import delta_columns

    return delta_columns(schema)


def _hudi(name: str, location: str, options: Options) -> TableReader:
    from lakesieve.tables.hudi.table import HudiReader

    return HudiReader(name, location, options())


def _hudi_columns(schema: str) -> Columns:
    from lakesieve.tables.struct_schema import hudi_columns

    return hudi_columns(schema)


def _parquet(name: str, location: str, options: Options) -> TableReader:
    from lakesieve.tables.parquet.table import ParquetReader

    return ParquetReader(name, location, options())


def _parquet_columns(schema: str) -> Columns:
    from lakesieve.tables.struct_schema import parquet_columns

    return parquet_columns(schema)


FORMATS: dict[str, TableFormat] = {
    "iceberg": TableFormat(open=_iceberg, columns=_iceberg_columns),
    "delta": TableFormat(open=_delta, columns=_delta_columns),
    "hudi": TableFormat(open=_hudi, columns=_hudi_columns),
    "parquet": TableFormat(open=_parquet, columns=_parquet_columns),
}
"""All formats, by the prefix of a path, such as ``delta`` in ``delta:/data/events``."""


@lru_cache(maxsize=64)
def columns_of_document(name: str, schema: str) -> Columns:
    """Return the columns of a schema document of a format.

    Every query has the document of its table. With a thousand columns, it takes 10 ms to read.
    """
    return FORMATS[name].columns(schema)
