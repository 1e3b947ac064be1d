"""The description of Apache Hudi tables on Spark."""

from __future__ import annotations

from lakesieve.spark.tables.formats import FormatSpec
from lakesieve.spark.tables.hudi.table import HudiTable

HUDI = FormatSpec(
    name="hudi",
    at=lambda spark, path: HudiTable(spark, path, is_path=True),
    named=lambda spark, name, _: HudiTable(spark, name, is_path=False),
    runtime="org.apache.hudi.HoodieFileIndex",
    packages={"3.5": "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.2.0"},
    settings={
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    },
    catalog_class="org.apache.spark.sql.hudi.catalog.HoodieInternalV2Table",
    copying="Copy the files, and create new indexes for the copy.",
)
