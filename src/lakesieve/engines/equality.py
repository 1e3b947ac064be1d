"""Equality deletes of Iceberg tables, applied to the rows of candidate files in Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.engines.field_ids import names_by_id
from lakesieve.errors import ErrorKind, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.tables.iceberg.manifest_files import ListedFile


class EqualityDeletes:
    """Applies the equality deletes of one scan, whose delete files are read once."""

    def __init__(self) -> None:
        self._read: dict[str, pa.Table] = {}

    def alive(
        self, rows: pa.Table, deletes: Sequence[ListedFile], names: Mapping[int, str], io: Any
    ) -> pa.Table:
        """Remove the rows that are equal to a deleted row. Null equals null.

        Args:
            rows: Of one data file, with the fields that deletes compare.
            deletes: The delete files that apply to it.
            names: The column of each field id.
            io: PyIceberg's ``FileIO``.

        Raises:
            UnsupportedError: A delete file is of another format, or compares what is not there.
        """
        gone = np.zeros(rows.num_rows, bool)
        for delete in deletes:
            keys = self._keys(delete, names, rows.schema, io)
            gone |= _matches(rows.select(keys.column_names), keys)
        return rows.filter(pa.array(~gone)) if gone.any() else rows

    def _keys(
        self, delete: ListedFile, names: Mapping[int, str], schema: pa.Schema, io: Any
    ) -> pa.Table:
        path = delete.path
        if path not in self._read:
            if delete.value("file_format") != "parquet":
                raise _unread(
                    path, f"the file has the format {delete.value('file_format').upper()}"
                )
            ids = delete.value("equality_ids") or []
            with io.new_input(path).open() as opened:
                file = pq.ParquetFile(opened, coerce_int96_timestamp_unit="us")
                stored = names_by_id(file.schema_arrow)
                missing = [i for i in ids if i not in stored or i not in names]
                if missing:
                    raise _unread(path, f"the file or the table lacks the field ids {missing}")
                self._read[path] = file.read(columns=[stored[i] for i in ids]).rename_columns(
                    [names[i] for i in ids]
                )
        keys = self._read[path]
        return keys.cast(pa.schema([schema.field(name) for name in keys.column_names]))


def _unread(path: str, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"The equality deletes in {path} cannot be applied without Spark: {why}.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint="Convert the equality deletes: lakesieve deletes convert TABLE.",
    )


def _matches(rows: pa.Table, keys: pa.Table) -> np.ndarray:
    """Which rows are among the keys, all columns together."""
    count = rows.num_rows
    codes = np.zeros(count + keys.num_rows, np.int64)
    for name in rows.column_names:
        both = pa.chunked_array([*rows.column(name).chunks, *keys.column(name).chunks])
        encoded = both.combine_chunks().dictionary_encode(null_encoding="encode")
        values = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        pairs = codes * (len(encoded.dictionary) + 1) + values
        # numbers of what is there keep the product of many columns small
        codes = np.unique(pairs, return_inverse=True)[1]
    return np.isin(codes[:count], codes[count:])
