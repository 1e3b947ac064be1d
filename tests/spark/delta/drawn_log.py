"""Logs of Delta tables as different writers leave them, drawn from a seed."""

from __future__ import annotations

import json
import os
import random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyroaring import BitMap64
from tests.tables.delta_vectors import encoded_vector

from lakesieve.spark.versions.java_classes import java_class

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["DrawnLog"]

_ROWS = 4
_SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in (("k", "long"), ("s", "string"), ("p", "binary"))
    ],
}
_VALUES = (None, "x", "ü", "a b", "a+b", "50%", "😈", "1:2")
_FEATURES = ("deletionVectors", "v2Checkpoint")
_ICT = "delta.inCommitTimestampEnablement"
_MAP = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    {"storageType": pa.string(), "pathOrInlineDv": pa.string(), "offset": pa.int32()}
    | {"sizeInBytes": pa.int32(), "cardinality": pa.int64()}
)
_FILE = {"path": pa.string(), "partitionValues": _MAP, "size": pa.int64()}
_CHECKPOINT = pa.schema(
    {
        "protocol": pa.struct(
            {"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()}
            | dict.fromkeys(("readerFeatures", "writerFeatures"), pa.list_(pa.string()))
        ),
        "metaData": pa.struct(
            {"id": pa.string(), "schemaString": pa.string(), "configuration": _MAP}
            | {"format": pa.struct({"provider": pa.string(), "options": _MAP})}
            | {"partitionColumns": pa.list_(pa.string()), "createdTime": pa.int64()}
        ),
        "add": pa.struct(
            _FILE
            | {"modificationTime": pa.int64(), "dataChange": pa.bool_(), "stats": pa.string()}
            | {"deletionVector": _VECTOR}
        ),
        "sidecar": pa.struct(
            {"path": pa.string(), "sizeInBytes": pa.int64(), "modificationTime": pa.int64()}
        ),
        "checkpointMetadata": pa.struct({"version": pa.int64()}),
    }
)


class DrawnLog:
    """A table in a folder, with some commits and checkpoints.

    Args:
        spark: The session, which writes some of the checkpoints.
        folder: Where the table is made.
        seed: What is drawn depends on it alone.
    """

    def __init__(self, spark: SparkSession, folder: Path, seed: int) -> None:
        self._spark = spark
        self.root = folder / ("t" if seed % 2 else "ä t")
        self._log = self.root / "_delta_log"
        (self._log / "_sidecars").mkdir(parents=True)
        self._drawn = random.Random(seed)
        self.forms: list[str] = []
        self._live: list[dict[str, Any]] = []
        self._removed: list[dict[str, Any]] = []
        self._version = -1
        self._files = 0
        # from this version on, commits record their times
        self._stamped = self._drawn.choice((None, 0, 2))
        self._protocol = {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": list(_FEATURES),
            "writerFeatures": [*_FEATURES, "inCommitTimestamp", "domainMetadata"],
        }
        self._metadata = {
            "id": f"00000000-0000-0000-0000-{seed:012d}",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(_SCHEMA),
            "partitionColumns": ["p"],
            "configuration": {"delta.checkpointPolicy": "v2"},
            "createdTime": 1,
        }
        self._commit([{"protocol": self._protocol}, {"metaData": self._metadata}])
        for _ in range(self._drawn.randint(2, 6)):
            self._commit([])
            if self._drawn.random() < 0.35:
                self._checkpoint()
        self._touch()

    def times(self) -> list[str]:
        """Moments about the commits, as users name versions."""
        moments = [self._drawn.randint(900, 1100) for _ in range(3)]
        return [f"1970-01-01T00:{moment // 60:02d}:{moment % 60:02d}" for moment in moments]

    def versions(self) -> list[str]:
        """Numbers of versions that may still be there."""
        return [str(self._drawn.randint(0, self._version))]

    def _commit(self, actions: list[dict[str, Any]]) -> None:
        self._version += 1
        moment = 1_000_000 + 1000 * self._version
        if self._version == self._stamped:
            settings = {"delta.enableInCommitTimestamps": "true"}
            if self._version:
                settings |= {f"{_ICT}Version": str(self._version)}
                settings |= {f"{_ICT}Timestamp": str(moment)}
            self._metadata["configuration"] = {"delta.checkpointPolicy": "v2", **settings}
            actions = [a for a in actions if "metaData" not in a] + [{"metaData": self._metadata}]
        for _ in range(self._drawn.randint(1, 3)):
            actions += self._change()
        information: dict[str, Any] = {"timestamp": moment, "operation": "WRITE"}
        information["operationParameters"] = {}
        if self._stamped is not None and self._version >= self._stamped:
            information["inCommitTimestamp"] = moment
        self._write(f"{self._version:020d}.json", [{"commitInfo": information}, *actions])

    def _write(self, name: str, actions: Sequence[dict[str, Any]]) -> None:
        lines = [json.dumps(action, ensure_ascii=self._drawn.random() < 0.5) for action in actions]
        (self._log / name).write_text("\n".join(lines), encoding="utf-8")

    def _change(self) -> list[dict[str, Any]]:
        draw = self._drawn.random()
        if draw < 0.45 or not self._live:
            return [{"add": self._new_file()}]
        if draw < 0.5:
            return [{"txn": {"appId": "a", "version": self._version, "lastUpdated": 1}}]
        if draw < 0.55:
            return [{"add": self._new_file(), "fancy": [1]}, {"fancy": "x"}]
        chosen = self._drawn.choice(self._live)
        gone = {key: chosen[key] for key in ("path", "deletionVector") if chosen.get(key)}
        gone |= {"deletionTimestamp": 1, "dataChange": True}
        if draw < 0.75:
            gone["path"] = self._respelled(gone["path"])
            self._live.remove(chosen)
            self._removed.append(chosen)
            return [{"remove": gone}]
        if draw < 0.95:
            self._live.remove(chosen)
            marked = {**chosen, "deletionVector": self._vector()}
            self._live.append(marked)
            pair = [{"remove": gone}, {"add": marked}]
            return pair if self._drawn.random() < 0.5 else pair[::-1]
        if self._removed:
            again = self._drawn.choice(self._removed)
            return [{"add": {**again, "path": self._respelled(again["path"])}}]
        return []

    def _new_file(self) -> dict[str, Any]:
        """Write a data file; returns the action that adds it."""
        self._files += 1
        value = self._drawn.choice(_VALUES)
        folder = f"p={quote(value or '__HIVE_DEFAULT_PARTITION__', safe=' +ü')}"
        inside = f"{folder}/part-{self._files}.parquet"
        path = self.root / inside
        path.parent.mkdir(exist_ok=True)
        keys = range(self._files * 10, self._files * 10 + _ROWS)
        pq.write_table(pa.table({"k": keys, "s": [f"v{key}" for key in keys]}), path)
        action: dict[str, Any] = {
            "path": self._spelled(inside),
            "partitionValues": {"p": value},
            "size": path.stat().st_size,
            "modificationTime": 1,
            "dataChange": True,
            "stats": self._stats(),
        }
        self._live.append(action)
        return action

    def _stats(self) -> str:
        first = {"minValues": {"numRecords": 3}} if self._drawn.random() < 0.2 else {}
        return json.dumps({**first, "numRecords": _ROWS, "tightBounds": False})

    def _spelled(self, inside: str) -> str:
        draw = self._drawn.random()
        relative = quote(inside, safe="/=+-._")
        if draw < 0.7:
            return relative
        absolute = quote(f"{self.root}/{inside}", safe="/=+-._")
        return absolute if draw < 0.85 else f"file://{absolute}"

    def _respelled(self, path: str) -> str:
        """Another spelling of a path, which may be that of another file to Spark."""
        draw = self._drawn.random()
        if draw < 0.5:
            return path
        if draw < 0.6:
            return path.removeprefix("file://")
        if draw < 0.7:
            if path.startswith("/"):
                return f"file://{path}"
            return path if "://" in path else f"./{path}"
        if draw < 0.8:
            return path.replace("/part", "//part")
        if draw < 0.9:
            return path.replace("/part", "/./part")
        return path.replace("%C3", "%c3") if draw < 0.95 else path.replace("part", "%70art")

    def _vector(self) -> dict[str, Any]:
        rows = BitMap64(self._drawn.sample(range(_ROWS), self._drawn.randint(1, _ROWS - 1)))
        text = encoded_vector(rows.serialize())[1:]
        size = len(text) * 4 // 5
        kind = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": size}
        return {**kind, "cardinality": len(rows)}

    def _checkpoint(self) -> None:
        form = self._drawn.choice(
            ("spark", "spark in parts", "delta-rs", "parts", "json", "sidecars", "parquet")
        )
        self.forms.append(form)
        if form.startswith("spark"):
            part = "spark.databricks.delta.checkpoint.partSize"
            self._spark.conf.set(part, "1" if form == "spark in parts" else "1000")
            self._java_log().checkpoint()
            self._spark.conf.unset(part)
        elif form == "delta-rs":
            DeltaTable(str(self.root)).create_checkpoint()
        else:
            self._by_hand(form)
        for version in range(self._version):
            if self._drawn.random() < 0.3:
                (self._log / f"{version:020d}.json").unlink(missing_ok=True)
            else:
                break

    def _java_log(self) -> Any:
        logs = java_class(self._spark, "org.apache.spark.sql.delta.DeltaLog")
        log = logs.forTable(self._spark._jsparkSession, str(self.root))
        log.update(False, java_class(self._spark, "scala.Option").empty(), None)
        return log

    def _by_hand(self, form: str) -> None:
        """Write a checkpoint of what Spark takes for the files of the table."""
        log = self._java_log()
        rows = log.unsafeVolatileSnapshot().allFiles().toDF().toJSON().collectAsList()
        adds = [{"add": {"partitionValues": {}, **json.loads(row)}} for row in rows]
        first: list[dict[str, Any]]
        first = [{"protocol": self._protocol}, {"metaData": self._metadata}]
        stem = f"{self._version:020d}.checkpoint"
        unique = "80a083e8-7026-4e79-81be-64bd76c43a11"
        described: list[dict[str, Any]]
        described = [{"checkpointMetadata": {"version": self._version}}, *first]
        if form == "parts":
            self._table(f"{stem}.{1:010d}.{2:010d}.parquet", [*first, *adds[:1]])
            self._table(f"{stem}.{2:010d}.{2:010d}.parquet", adds[1:])
        elif form == "json":
            self._write(f"{stem}.{unique}.json", [*described, *adds])
        elif form == "parquet":
            self._table(f"{stem}.{unique}.parquet", [*described, *adds])
        else:
            size = self._table("_sidecars/s.parquet", adds)
            sidecar = {"path": "s.parquet", "sizeInBytes": size, "modificationTime": 1}
            top = [*described, {"sidecar": sidecar}]
            if self._drawn.random() < 0.5:
                self._write(f"{stem}.{unique}.json", top)
            else:
                self._table(f"{stem}.{unique}.parquet", top)

    def _table(self, name: str, actions: Sequence[dict[str, Any]]) -> int:
        def plain(value: Any) -> Any:
            """Maps as pyarrow takes them."""
            if not isinstance(value, dict):
                return value
            maps = ("configuration", "partitionValues", "options")
            return {
                key: list(entry.items()) if key in maps else plain(entry)
                for key, entry in value.items()
            }

        path = self._log / name
        pq.write_table(pa.Table.from_pylist(list(map(plain, actions)), schema=_CHECKPOINT), path)
        return path.stat().st_size

    def _touch(self) -> None:
        """Give the files of commits their times, or all that of a copy."""
        is_copied = self._drawn.random() < 0.3
        for version in range(self._version + 1):
            path = self._log / f"{version:020d}.json"
            if path.exists():
                moment = 2000 if is_copied else 1000 + version + self._drawn.choice((0, 0, -3))
                os.utime(path, (moment, moment))
