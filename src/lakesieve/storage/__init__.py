"""Storage of bytes: read, read ranges, create exclusively, list and delete.

Object stores are reached with obstore, and HDFS with its own client.
"""

from __future__ import annotations

from lakesieve.storage.background import Background, all_at_once
from lakesieve.storage.clients import fingerprint
from lakesieve.storage.hadoop import HADOOP_PREFIXES, StorageOptions, hadoop_options
from lakesieve.storage.local_disk import write_file
from lakesieve.storage.location import local_path, normalized
from lakesieve.storage.lru_cache import LruCache
from lakesieve.storage.objects import (
    ObjectInfo,
    Storage,
    elsewhere,
    open_object,
    open_storage,
)
from lakesieve.storage.trust import (
    INDEX_FOLDER,
    TRUSTED_ROOTS,
    is_below,
    is_same_place,
    trusted_folders,
)

__all__ = [
    "HADOOP_PREFIXES",
    "INDEX_FOLDER",
    "TRUSTED_ROOTS",
    "Background",
    "LruCache",
    "ObjectInfo",
    "Storage",
    "StorageOptions",
    "all_at_once",
    "elsewhere",
    "fingerprint",
    "hadoop_options",
    "is_below",
    "is_same_place",
    "local_path",
    "normalized",
    "open_object",
    "open_storage",
    "trusted_folders",
    "write_file",
]
