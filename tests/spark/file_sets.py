"""Catalogues of files and choices among them, made in Java."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from lakesieve.spark.versions.jar import own_class

SECRET = bytes(range(32))


def digest(path: str) -> bytes:
    return hashlib.sha256(SECRET + path.encode()).digest()[:16]


def catalogue(jvm: Any, paths: list[str]) -> Any:
    """A ``CatalogueFiles`` of these paths, sent in two parts."""
    made = own_class(jvm, "files.CatalogueFiles")(len(paths))
    for some in (paths[:3], paths[3:]):
        made.add(b"".join(map(digest, some)))
    return made


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
    return own_class(jvm, "files.KeepSet")(array(jvm, indexes), as_map, SECRET, None)
