"""Data files and tables are recognized under several spellings of their paths."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from tests.tables.spellings import SPELLINGS

import lakesieve as ls
from lakesieve.spark.tables.reading import encoded_paths
from lakesieve.spark.versions.jar import own_class
from lakesieve.tables.paths import normal_paths, table_root

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

_LETTERS = "aAsS3:/. %#é"


def test_java_spells_paths_as_python_does(spark: SparkSession) -> None:
    """Java and Python normalize the examples, and any text, alike."""
    drawn = random.Random("paths")
    texts = ["".join(drawn.choices(_LETTERS, k=drawn.randrange(10))) for _ in range(200)]
    starts = ("", "file:", "s3a://", "hdfs://N", "/", "FILE://localhost")
    names = [*SPELLINGS, *(drawn.choice(starts) + text for text in texts)]

    paths = own_class(spark, "files.FilePaths")
    spelled = [str(paths.normal(name)) for name in names]
    assert spelled == normal_paths(pa.chunked_array([names])).to_pylist()
    roots = [str(paths.root(name)) for name in names]
    assert roots == [table_root(name) for name in names]


def test_rows_name_files_as_expected(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's column has one of the two spellings of each path, whatever characters it has.

    Hadoop cannot read names with colons from a disk.
    """
    drawn = random.Random("names")
    letters = "aA +%#&=@;?~'(){}[]^|\\`!$,é漢😀" + "".join(map(chr, range(1, 32)))
    folder = tmp_path / "a+b %20 ü"
    folder.mkdir()
    for number in range(60):
        # Spark passes over names that begin with a dot or an underscore
        name = f"{number}{''.join(drawn.choices(letters, k=drawn.randrange(8)))}"
        pq.write_table(pa.table({"k": [number]}), folder / f"{name}.parquet")
    rows = spark.read.parquet(str(folder)).select("k", "_metadata.file_path").collect()
    spelled = {row.k: row.file_path for row in rows}
    assert len(spelled) == 60
    paths = [f"file:{path}" for path in map(str, folder.iterdir())]

    names = encoded_paths(spark, pa.chunked_array([paths]))

    for path, *own in zip(paths, *(texts.to_pylist() for texts in names), strict=True):
        digits = re.match(r"\d+", path.rpartition("/")[2])
        assert digits
        assert spelled[int(digits[0])] in own


def test_one_folder_is_one_table(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """An index that was made under one spelling of a folder is found under all of them."""
    folder = tmp_path / "a b"
    folder.mkdir()
    for number in range(4):
        keys = [(row * 7919) % 1009 for row in range(number * 100, number * 100 + 100)]
        pq.write_table(pa.table({"k": keys}), folder / f"{number}.parquet", write_statistics=False)
    locations = (f"{folder}", f"file://{folder}/", f"file:{folder}", f"{tmp_path}//a b")
    ls.create_index(f"parquet:{locations[1]}", ["k"], spark=spark)

    for location in locations:
        (info,) = ls.list_indexes(f"parquet:{location}", spark=spark)
        assert info.files == 4
        assert both(f"SELECT * FROM parquet.`{location}` WHERE k = 397") == (4, 1)
        assert len(ls.find_files(f"parquet:{location}", "k = 397", spark=spark).paths) == 1


def test_files_are_named_as_the_table_spells_them(
    spark: SparkSession, table: str, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """Files that Iceberg lists under other spellings are indexed, and named as listed."""
    spark.sql(f"CREATE TABLE {table} (k BIGINT) USING iceberg")
    spark.range(0, 300, 3, 1).selectExpr("id AS k").writeTo(table).append()
    # names that end as the identities of Parquet's files do
    for number in (1, 2):
        rows = pa.table({"k": pa.array(range(number, 300, 3), pa.int64())})
        pq.write_table(rows, tmp_path / f"{number}#12@34")
    spark.sql(
        f"CALL lake.system.add_files(table => '{table}', "
        f"source_table => '`parquet`.`file://{tmp_path}`')"
    )
    listed = {row[0] for row in spark.sql(f"SELECT file_path FROM {table}.files").collect()}
    assert {path[0] for path in listed} == {"/", "f"}
    index = ls.create_index(table, ["k"], spark=spark)

    assert both(f"SELECT * FROM {table} WHERE k = 151") == (3, 1)
    assert set(index.files("k = 151").paths) < listed
    keys = spark.createDataFrame([(151,), (152,)], "k BIGINT")
    pairs = index.locate(keys).pairs.collect()
    assert {row["file"] for row in pairs} < listed
    assert len(pairs) == 2
    assert index.verify_rows(files=None).wrong == ()
    assert index.refresh().files == 0
