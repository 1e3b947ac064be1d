"""Catalogs of PyIceberg's configuration as settings of Spark."""

from __future__ import annotations

import pytest

from lakesieve.errors import InvalidInputError, UnsupportedError
from lakesieve.tables.iceberg.spark_settings import spark_settings


@pytest.mark.parametrize(
    ("properties", "settings"),
    [
        (
            {"URI": "https://h/api", "WAREHOUSE": "w", "S3__REGION": "eu-1", "TOKEN": "x"},
            {"type": "rest", "uri": "https://h/api", "warehouse": "w", "client.region": "eu-1"}
            | {"token": "x"},
        ),
        ({"TYPE": "glue", "GLUE__REGION": "eu-1"}, {"type": "glue", "glue.region": "eu-1"}),
        ({"URI": "thrift://h:9083"}, {"type": "hive", "uri": "thrift://h:9083"}),
        (
            {"URI": "sqlite:////tmp/c.db", "WAREHOUSE": "file:///w"},
            {
                "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
                "uri": "jdbc:sqlite:/tmp/c.db",
                "warehouse": "file:///w",
            },
        ),
        (
            {"URI": "postgresql+psycopg2://me:secret@h:5432/db"},
            {
                "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
                "uri": "jdbc:postgresql://h:5432/db",
                "jdbc.user": "me",
                "jdbc.password": "secret",
            },
        ),
    ],
    ids=["rest", "glue", "hive", "sqlite", "postgresql"],
)
def test_kinds_of_catalogs(
    monkeypatch: pytest.MonkeyPatch, properties: dict[str, str], settings: dict[str, str]
) -> None:
    """Each kind of catalog gets its Spark settings, under the same name."""
    for name, value in properties.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__SHOP__{name}", value)

    expected = {f"spark.sql.catalog.shop.{name}": value for name, value in settings.items()}
    assert spark_settings("shop") == {
        "spark.sql.catalog.shop": "org.apache.iceberg.spark.SparkCatalog",
        **expected,
    }


def test_catalogs_that_spark_does_not_get(monkeypatch: pytest.MonkeyPatch) -> None:
    """An undescribed catalog, and a kind that only PyIceberg knows, get no settings."""
    monkeypatch.setenv("PYICEBERG_CATALOG__MEM__TYPE", "in-memory")

    with pytest.raises(InvalidInputError, match="no catalog shop"):
        spark_settings("shop")
    with pytest.raises(UnsupportedError, match="in-memory"):
        spark_settings("mem")
