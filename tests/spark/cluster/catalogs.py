"""Servers of catalogs: Iceberg's own test server of a REST catalog, and Hive's metastore."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.jars import fetched, java_program, resolved, spark_jars
from tests.ports import free_port, wait_until_it_listens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ICEBERG = "1.11.0"
_JETTY = "12.1.14"
_REST_SERVER = "org.apache.iceberg.rest.RESTCatalogServer"
_METASTORE = "org.apache.hadoop.hive.metastore.HiveMetaStore"
_PACKAGES = (
    f"org.apache.iceberg:iceberg-core:{_ICEBERG}",
    f"org.eclipse.jetty.ee10:jetty-ee10-servlet:{_JETTY}",
    f"org.eclipse.jetty.compression:jetty-compression-server:{_JETTY}",
    f"org.eclipse.jetty.compression:jetty-compression-gzip:{_JETTY}",
    "org.xerial:sqlite-jdbc:3.50.3.0",
)
# the server is among what Iceberg tests its clients with
_OF_TESTS = {
    "iceberg-open-api": (
        "test-fixtures",
        "b0aa8636d88c24976d552ac9b3075a1315dc1ccd4fa6ed95b365901842664316",
    ),
    "iceberg-core": ("tests", "4284719a5f0eb7db01e9f784a0ed4ca8bacf7d6f9951924143afc083428d8be3"),
}


@contextmanager
def rest_catalog(folder: Path, warehouse: str) -> Iterator[str]:
    """The address of a server, until the end.

    Args:
        folder: Where its database goes.
        warehouse: Where tables go, on this machine's disk.
    """
    jars = [
        fetched(f"org/apache/iceberg/{name}/{_ICEBERG}/{name}-{_ICEBERG}-{kind}.jar", digest)
        for name, (kind, digest) in _OF_TESTS.items()
    ]
    port = free_port()
    settings = {
        "CATALOG_CATALOG__IMPL": "org.apache.iceberg.jdbc.JdbcCatalog",
        "CATALOG_URI": f"jdbc:sqlite:{folder}/catalog.db",
        "CATALOG_JDBC_SCHEMA__VERSION": "V1",
        "CATALOG_WAREHOUSE": warehouse,
        "CATALOG_REST_PORT": str(port),
    }
    command = java_program([*jars, *resolved(*_PACKAGES), spark_jars()], _REST_SERVER)
    with _running(command, port, folder, settings):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def hive_metastore(folder: Path, warehouse: str) -> Iterator[str]:
    """The address of a metastore of Hive, which PySpark has with it, until the end.

    It has no tables for locks, which Iceberg must therefore not take.

    Args:
        folder: Where its database goes.
        warehouse: Where tables go, on this machine's disk.
    """
    port = free_port()
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/db;create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "datanucleus.schema.autoCreateAll": "true",
        "datanucleus.connectionPoolingType": "none",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": warehouse,
        "hive.async.log.enabled": "false",
    }
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in settings.items()
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "hive-site.xml").write_text(f"<configuration>{properties}</configuration>")
    opens = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "net")]
    command = java_program([folder, spark_jars()], *opens, _METASTORE, "-p", str(port))
    with _running(command, port, folder, {}):
        yield f"thrift://127.0.0.1:{port}"


@contextmanager
def _running(
    command: list[str], port: int, folder: Path, settings: dict[str, str]
) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, env=os.environ | settings, stdout=log, stderr=log, cwd=folder
        )
        try:
            wait_until_it_listens(server, port, log=folder / "server.log")
            yield
        finally:
            server.terminate()
            server.wait(10)
