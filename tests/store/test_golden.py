"""Indexes as each released version wrote them are read by this one.

``python -m tests.store.test_golden`` writes what this version's directory lacks, and nothing else.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lakesieve.format import FORMAT_VERSION, IndexDefinition, KeyColumn, catalogue_id
from lakesieve.sieve import blocks_of_pairs
from lakesieve.storage import open_storage
from lakesieve.store import (
    BlockCache,
    Changes,
    IndexReader,
    IndexStore,
    compaction_changes,
    stage_catalogue,
    stage_segment,
    verify,
)

GOLDEN = Path(__file__).parent / "golden"
FILES = 40
STORED = sorted(path.parent for path in GOLDEN.glob("v*/*/expected.json"))


def test_there_is_one_of_this_version() -> None:
    """The format version that this code writes has a golden directory."""
    assert any(path.parent.name == f"v{FORMAT_VERSION}" for path in STORED)


@pytest.mark.parametrize("stored", STORED, ids=lambda path: f"{path.parent.name} {path.name}")
def test_old_indexes_are_read(stored: Path) -> None:
    """Every commit opens, every checksum matches, and every key is in its files."""
    store = IndexStore(open_storage(str(stored / "index")))
    expected = json.loads((stored / "expected.json").read_text(encoding="utf-8"))
    state = store.snapshot()

    assert [commit.operation for commit, _ in store.history()] == expected["operations"]
    assert verify(store).is_sound
    assert _files_of(store, [_code(key) for key, _ in expected["keys"]]) == [
        files for _, files in expected["keys"]
    ]
    assert len(_files_of(store, [_code(key) for key in expected["absent"]])) == len(
        expected["absent"]
    )
    reader = IndexReader(store, state, BlockCache())
    for low, high, files in expected["ranges"]:
        hits = reader.lookup([(_code(low), _code(high))])
        assert hits is not None
        assert set(files) <= set(_names(reader, state, hits))


def _files_of(store: IndexStore, codes: list[Any]) -> list[list[str]]:
    state = store.snapshot()
    reader = IndexReader(store, state, BlockCache())
    answers = []
    for code in codes:
        end = code + 1 if isinstance(code, int) else code + b"\0"
        hits = reader.lookup([(code, end)])
        assert hits is not None
        answers.append(_names(reader, state, hits))
    return answers


def _names(reader: IndexReader, state: Any, arrays: dict[str, np.ndarray]) -> list[str]:
    files = {entry.id: reader.loader.catalogue(entry).column("path") for entry in state.catalogues}
    return sorted(
        {files[name][int(unit)].as_py() for name, units in arrays.items() for unit in units}
    )


def _code(value: Any) -> Any:
    return value if isinstance(value, int) else base64.b64decode(value)


def _plain(code: Any) -> Any:
    return code if isinstance(code, int) else base64.b64encode(code).decode("ascii")


def _contents() -> dict[str, list[Any]]:
    """Keys of every physical form."""
    random = np.random.default_rng(2024)
    words = [b"alpha", b"be", b"gamma-delta", b"", b"\xff", b"z\0y", "größe".encode()]
    return {
        "integers": [-(2**63), -1, 0, 2**63 - 1, *range(100, 400), *range(1000, 4000, 7)],
        "random": sorted({int(key) for key in random.integers(-(2**62), 2**62, 300)}),
        "names": [b"Customer#%09d" % n for n in range(0, 600, 2)],
        "text": sorted(
            {b"%s/%s/%d" % (words[a], words[b], n) for a, b, n in random.integers(0, 7, (300, 3))}
        ),
        "paths": sorted(
            b"https://%s.example.com/%s/%d" % (words[at % 3], word * 12, n)
            for at, word in enumerate((b"archive-", b"big", b"news", b"shop"))
            for n in range(0, 300, 2 + at)
        ),
        "bytes": sorted({random.bytes(int(n)) for n in random.integers(1, 40, 300)}),
    }


def _write(folder: Path, keys: list[Any]) -> None:
    random = np.random.default_rng(len(keys))
    physical = pa.binary() if isinstance(keys[0], bytes) else pa.int64()
    definition = IndexDefinition(
        name="k",
        index_uuid="golden",
        table_format="iceberg",
        table_uuid="t",
        table_location="/t",
        columns=(KeyColumn(field_id=1, name="k", type="any", key_kind="integer"),),
        created_at="2026-01-31T00:00:00+00:00",
    )
    store = IndexStore(open_storage(str(folder / "index")))
    found: dict[Any, set[str]] = {}
    for number, operation in enumerate(("create", "refresh", "refresh")):
        names = [f"/t/{number}-{n}.parquet" for n in range(FILES)]
        # in order but for some, and every tenth key in several files
        units = np.arange(len(keys)) * FILES // len(keys)
        late = random.random(len(keys)) < 0.2
        units[late] = random.integers(0, FILES, int(late.sum()))
        pairs = [(key, int(unit)) for key, unit in zip(keys, units, strict=True)]
        pairs += [(key, int(n)) for key in keys[::10] for n in random.integers(0, FILES, 3)]
        for key, unit in pairs:
            found.setdefault(key, set()).add(names[unit])
        files = pa.table(
            {
                "path": names,
                "size": [1] * FILES,
                "records": [10] * FILES,
                "has_null": [False] * FILES,
                "has_value": [True] * FILES,
            }
        )
        catalogue = catalogue_id(files.column("path"))
        segments = [
            stage_segment(store.storage, blocks, unit_count=FILES, catalogue=catalogue)
            for blocks in blocks_of_pairs(
                pa.array([key for key, _ in pairs], physical),
                np.array([unit for _, unit in pairs], np.int32),
                max_pairs=250,
            )
        ]
        entry = stage_catalogue(store.storage, files, segments=segments, definition=definition)
        changes = Changes(
            operation=operation,
            table_version={"id": str(number)},
            add_catalogues=(entry,),
            add_segments=tuple(segments),
        )
        if operation == "create":
            store.create(definition, changes)
        else:
            store.commit(store.snapshot(), changes)
        if number == 1:
            merged = compaction_changes(store, store.snapshot())
            assert merged is not None
            store.commit(store.snapshot(), merged)
    ordered = sorted(found)
    absent = [key + 1 if isinstance(key, int) and key < 2**62 else key for key in ordered[::9]]
    document = {
        "operations": [commit.operation for commit, _ in store.history()],
        "keys": [[_plain(key), sorted(found[key])] for key in ordered],
        "absent": [_plain(key) for key in absent],
        "ranges": [
            [
                _plain(ordered[at]),
                _plain(ordered[at + 5]),
                sorted(set().union(*(found[key] for key in ordered[at : at + 5]))),
            ]
            for at in range(0, len(ordered) - 5, 25)
        ],
    }
    text = json.dumps(document, indent=None, separators=(",", ":"))
    (folder / "expected.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Write the golden directory of this version."""
    for name, keys in _contents().items():
        folder = GOLDEN / f"v{FORMAT_VERSION}" / name
        if not folder.exists():
            _write(folder, keys)


if __name__ == "__main__":
    main()
