"""The data file of each row of a raw read, by a hash of its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.spark.versions.spark_versions import arrow_of, frame_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

_SALTS = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileHashes:
    """The data files of a read, by the hashes of their names.

    Args:
        hashes: Hashes in ascending order, int64.
        ordinals: For each hash the number of its file, int32.
        salt: What the hashes are mixed with.
    """

    hashes: np.ndarray
    ordinals: np.ndarray
    salt: int = 0

    @classmethod
    def of(cls, spark: SparkSession, names: Sequence[pa.ChunkedArray]) -> FileHashes:
        """Hash the names of files as Spark hashes them for the rows.

        If two hashes collide, they get another salt.

        Args:
            spark: The session.
            names: Spellings of the names; each array has the files in their order.
        """
        first, *others = names
        # a spelling that is the same as the first one must not count as another file
        differs = [pc.not_equal(first, other) for other in others]
        texts = [first, *(other.filter(own) for other, own in zip(others, differs, strict=True))]
        numbers = [np.arange(len(first)), *(np.flatnonzero(own) for own in differs)]
        spelled = pa.chunked_array([chunk for text in texts for chunk in text.chunks], pa.string())
        ordinals = np.concatenate(numbers).astype(np.int32)
        frame = frame_of(spark, pa.table({"file": spelled}))
        for salt in range(_SALTS):
            hashed = arrow_of(frame.selectExpr("file AS name", _hash(salt)))
            hashes = hashed.column("file").to_numpy()
            order = np.argsort(hashes, kind="stable")
            ascending = hashes[order]
            if (ascending[1:] != ascending[:-1]).all() and hashed.column("name").equals(spelled):
                return cls(hashes=ascending, ordinals=ordinals[order], salt=salt)
        raise LakesieveError(
            "The paths of the data files cannot be distinguished.",
            kind=ErrorKind.BUILD_INCONSISTENT,
            hint="The table lists a data file twice. Repair the table's metadata first.",
        )

    @property
    def sql(self) -> str:
        """SQL of the hash of each row's file."""
        return _hash(self.salt)

    def numbers(self, hashed: np.ndarray) -> np.ndarray:
        """Return the file numbers of rows by the hash of their file.

        Rows come in long runs of one file.
        """
        if not len(hashed):
            return np.zeros(0, np.int32)
        starts = np.concatenate(([0], np.flatnonzero(hashed[1:] != hashed[:-1]) + 1))
        run_hashes = hashed[starts]
        at = np.minimum(np.searchsorted(self.hashes, run_hashes), len(self.hashes) - 1)
        if not np.array_equal(self.hashes[at], run_hashes):
            raise LakesieveError(
                "A row came from a data file that is not in the list of live files.",
                kind=ErrorKind.BUILD_INCONSISTENT,
                hint="Nothing was committed. Please report this with the table's format version.",
            )
        return np.repeat(self.ordinals[at], np.diff(np.append(starts, len(hashed))))


def _hash(salt: int) -> str:
    return f"xxhash64(file, {salt}) AS file"
