"""Look up files by an index with the installed package alone, without Spark and without a JVM.

    python tools/try_wheel.py

CI runs it in an environment that has nothing but the wheel; the index is built by the kit of the
tests, ``tests/kit``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lakesieve as ls
from lakesieve.tables.opening import open_table

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.kit.building import build_index

FILES = 4


def main() -> None:
    """Index a folder of Parquet files, then find the only file that holds a key.

    Raises:
        SystemExit: Other files were found.
    """
    with tempfile.TemporaryDirectory() as folder:
        for number in range(FILES):
            ids = range(number, 100, FILES)
            pq.write_table(pa.table({"id": list(ids)}), Path(folder) / f"{number}.parquet")

        def read(path: str) -> pa.Array:
            file = path.removeprefix("file:").partition("#")[0]
            return pq.read_table(file).column("id").combine_chunks()

        name = f"parquet:{folder}"
        build_index(open_table(name), "id", read)
        found = ls.find_files(name, "id = 50")
    names = [Path(path).name for path in found.paths]
    sys.stdout.write(f"{names} of {found.total} files; {[str(r) for r in found.reasons]}\n")
    if names != ["2.parquet"] or "pyspark" in sys.modules:
        raise SystemExit("The index did not answer.")


if __name__ == "__main__":
    main()
