"""Catalogues, groups of files and choices among them, made in Java."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

from lakesieve.spark.rule.sources import RULE
from lakesieve.spark.versions.janino import JavaSources

KEEP_SET = JavaSources(*RULE[: RULE.index("spark/rule/KeepSet") + 1])
SECRET = bytes(range(32))


def digest(path: str) -> bytes:
    return hashlib.sha256(SECRET + path.encode()).digest()[:16]


def catalogue(jvm: Any, paths: list[str]) -> Any:
    """A ``CatalogueFiles`` of these paths, sent in two parts."""
    made = KEEP_SET.new(jvm, "lakesieve.CatalogueFiles", len(paths))
    for some in (paths[:3], paths[3:]):
        made.add(b"".join(map(digest, some)))
    return made


def file_group(jvm: Any, paths: list[str]) -> Any:
    """A ``FileGroup`` of these paths."""
    words = [word for path in paths for word in struct.unpack("<qq", digest(path))]
    digests = jvm._jvm.java.lang.reflect.Array.newInstance(jvm._jvm.java.lang.Long.TYPE, len(words))
    for at, word in enumerate(words):
        digests[at] = word
    return KEEP_SET.new(jvm, "lakesieve.FileGroup", digests)


def array(jvm: Any, items: list[Any]) -> Any:
    """A Java array of objects of one class."""
    made = jvm._jvm.java.lang.reflect.Array.newInstance(items[0].getClass(), len(items))
    for at, item in enumerate(items):
        made[at] = item
    return made


def keep_set(jvm: Any, catalogues: list[list[list[str]]], tree: dict[str, Any]) -> Any:
    """A ``KeepSet``: of each index the paths of its catalogues, and the tree of answers."""
    indexes = [array(jvm, [catalogue(jvm, one) for one in names]) for names in catalogues]
    reader = jvm._jvm.com.fasterxml.jackson.databind.ObjectMapper()
    as_map = reader.readValue(json.dumps(tree), jvm._jvm.java.util.HashMap().getClass())
    return KEEP_SET.new(jvm, "lakesieve.KeepSet", array(jvm, indexes), as_map, SECRET, None)
