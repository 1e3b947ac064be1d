"""Words of texts, without an engine: budgets, look-ups and their limits."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.many_keys import COLUMNS, definition_of, filter_of, tree_of, usable_index

from lakesieve.errors import CorruptIndexError, UnsupportedError
from lakesieve.format import (
    IndexDefinition,
    SegmentFooter,
    catalogue_id,
    decode_row_group,
    encode_segment,
)
from lakesieve.index.definition import define
from lakesieve.index.expressions import key_expression, stored_tree
from lakesieve.index.key_filters import UsableIndex, on_keys
from lakesieve.index.opened import OpenedIndex
from lakesieve.index.scan_decision import keep_tree
from lakesieve.predicate import KeysWith, Ranges
from lakesieve.predicate.parse import parse_sql
from lakesieve.sieve import LONGEST_WORD, Blocks, WordPart, blocks_of_pairs
from lakesieve.storage import open_storage
from lakesieve.store import BlockCache, Changes, IndexStore, stage_catalogue
from lakesieve.store.compact import compaction_changes

FILES = 4


def test_no_budget() -> None:
    """A budget would leave out words."""
    stored, sources = stored_tree(tree_of("words"), COLUMNS)
    part = {"type": "string", "kind": "string", "scale": 0}
    columns = key_expression("words(s)", stored, sources, [part])
    table: Any = None
    with pytest.raises(UnsupportedError, match="cannot have a budget"):
        define(table, columns, "n", budget="8 bits", absent_hits=0.1, compaction="auto")
    definition = definition_of("words")
    assert definition.has_whole_keys
    document = json.loads(json.dumps(definition.to_json()))
    with pytest.raises(ValueError, match="budget"):
        IndexDefinition.from_json(document | {"budget": "8 bits"})


def test_conditions_find_the_words_of_their_text() -> None:
    """A condition on the text asks the index of its words."""
    usable = [usable_index(definition_of("words"))]
    rows, _ = filter_of(parse_sql("s LIKE '%abc%'"), usable)
    assert on_keys(rows, usable) == KeysWith(field_id=0, part=WordPart(text=b"abc"))


_WORDS = st.sampled_from([b"a", b"ab", b"abc", b"b", b"ac", b"cab", b"x" * LONGEST_WORD])
_PAIRS = st.lists(st.tuples(_WORDS, st.integers(0, FILES - 1)), min_size=1, max_size=20)
_number = itertools.count()


def _store(*parts: list[tuple[bytes, int]], whole: bool = True) -> IndexStore:
    """Store pairs of words and files, with a catalogue of its own for each part."""
    store = IndexStore(open_storage(f"memory://words-{next(_number)}"))
    definition = definition_of("words")
    added: list[Any] = []
    segments: list[Any] = []
    for at, pairs in enumerate(parts):
        files = pa.table(
            {
                "path": [f"{at}-{n}" for n in range(FILES)],
                "size": [1] * FILES,
                "records": [1] * FILES,
                "has_null": [False] * FILES,
                "has_value": [True] * FILES,
            }
        )
        keys = pa.array([key for key, _ in pairs], pa.binary())
        units = np.array([unit for _, unit in pairs], np.int32)
        catalogue = catalogue_id(files.column("path"))
        mine = []
        for blocks in blocks_of_pairs(keys, units, max_pairs=40, whole=whole):
            data, entry = encode_segment(
                blocks, unit_count=FILES, catalogue=catalogue, group_blocks=2
            )
            store.storage.replace(entry.path, data)
            mine.append(entry)
        added.append(stage_catalogue(store.storage, files, segments=mine, definition=definition))
        segments += mine
    store.create(
        definition,
        Changes(operation="create", add_catalogues=tuple(added), add_segments=tuple(segments)),
    )
    return store


def _index(store: IndexStore, cached: int = 50) -> OpenedIndex:
    return OpenedIndex(store, store.snapshot(), BlockCache(limit=cached))


def _kept(index: OpenedIndex, part: bytes, *, at_end: bool) -> set[str]:
    found = index.may_contain(WordPart(text=part, at_end=at_end))
    assert found is not None
    return set(index.paths().filter(pa.array(found.keep)).to_pylist())


@given(_PAIRS, _PAIRS)
def test_words_by_their_parts(one: list[tuple[bytes, int]], two: list[tuple[bytes, int]]) -> None:
    """Words are found by what they contain or end with, also after a compaction."""
    store = _store(one, two)
    pairs = [(key, f"{at}-{unit}") for at, part in enumerate((one, two)) for key, unit in part]
    before = _index(store)
    state = store.snapshot()
    changes = compaction_changes(store, state)
    assert changes is not None
    store.commit(state, changes)
    after = _index(store)
    for part in (b"a", b"b", b"ab", b"zz"):
        for at_end in (False, True):
            wanted = {
                path
                for key, path in pairs
                if len(key) >= LONGEST_WORD or (key.endswith(part) if at_end else part in key)
            }
            assert _kept(before, part, at_end=at_end) == wanted
            assert _kept(after, part, at_end=at_end) >= wanted
    for key in {key for key, _ in pairs}:
        found = after.may_match(Ranges.points([key]))
        assert found is not None
        paths = set(after.paths().filter(pa.array(found.keep)).to_pylist())
        assert paths >= {path for other, path in pairs if other == key}


def test_words_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second search among the same row groups decodes only those that have the part."""
    pairs = [(f"word{n}".encode(), n % FILES) for n in range(100, 300)]
    store = _store(pairs)
    index = OpenedIndex(store, store.snapshot(), BlockCache())
    decoded: list[int] = []

    def decode(footer: SegmentFooter, number: int, data: bytes) -> Blocks:
        decoded.append(number)
        return decode_row_group(footer, number, data)

    monkeypatch.setattr("lakesieve.store.segment_loader.decode_row_group", decode)
    assert _kept(index, b"d123", at_end=False) == {f"0-{123 % FILES}"}
    first = len(decoded)
    assert first > 10
    assert _kept(index, b"d132", at_end=False) == {f"0-{132 % FILES}"}
    assert len(decoded) == first + 1
    assert _kept(index, b"d1321", at_end=False) == set()
    assert len(decoded) == first + 1


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index is not searched if it is too large, also for the cache; cut keys are refused."""
    pairs = [(f"word{n}".encode(), n % FILES) for n in range(30)]
    store = _store(pairs)
    index, larger = _index(store), _index(store, cached=300)
    assert _kept(index, b"ord1", at_end=False) == {f"0-{n}" for n in range(FILES)}
    monkeypatch.setattr("lakesieve.store.reader.MANY_WORD_GROUPS", 3)
    assert index.may_contain(WordPart(text=b"ord1")) is None
    assert _kept(larger, b"ord1", at_end=False) == {f"0-{n}" for n in range(FILES)}
    cut = _index(_store([(b"abc", 0), (b"abx", 1)], whole=False))
    with pytest.raises(CorruptIndexError, match="not whole words"):
        cut.may_contain(WordPart(text=b"b"))


def test_a_whole_word_of_a_large_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups without a longer word are read only where the word itself would be."""
    pairs = [(f"word{n}".encode(), n % FILES) for n in range(10, 90)]
    index = _index(_store([*pairs, (b"longword42", 3)]))
    monkeypatch.setattr("lakesieve.store.reader.MANY_WORD_GROUPS", 2)
    for at_end in (False, True):
        assert _kept(index, b"word41", at_end=at_end) == {"0-1"}
        assert _kept(index, b"word42", at_end=at_end) == {"0-2", "0-3"}
        assert _kept(index, b"word95", at_end=at_end) == set()
    folded = index.may_contain(WordPart(text=b"longword42", is_folded=True))
    assert folded is not None
    assert set(index.paths().filter(pa.array(folded.keep)).to_pylist()) == {"0-3"}
    assert index.may_contain(WordPart(text=b"word4")) is None


def test_a_word_of_other_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups whose words lack a letter of the part are not read."""
    pairs = [(f"{n:06x}".encode(), n % FILES) for n in range(10, 200)]
    index = _index(_store([*pairs, (b"deadlock", 1), (b"\xe2\x84\xaaey", 2)]))
    monkeypatch.setattr("lakesieve.store.reader.MANY_WORD_GROUPS", 3)
    assert _kept(index, b"adlo", at_end=False) == {"0-1"}
    assert _kept(index, b"lock", at_end=True) == {"0-1"}
    assert index.may_contain(WordPart(text=b"00")) is None
    folded = index.may_contain(WordPart(text=b"key", is_folded=True))
    assert folded is not None
    assert set(index.paths().filter(pa.array(folded.keep)).to_pylist()) == {"0-2"}


def test_many_parts_of_words_are_not_searched() -> None:
    """Each part is searched among all words, so that only a few are; the reason says so."""
    index = _index(_store([(f"word{n}".encode(), n % FILES) for n in range(30)]))
    usable = [UsableIndex(index=index, columns=index.definition.columns)]

    def reasons(count: int) -> list[str]:
        condition = parse_sql(" OR ".join(f"s LIKE '%ord{n}%'" for n in range(count)))
        rows, _ = filter_of(condition, usable)
        return [str(reason.code) for reason in keep_tree(rows, usable).reasons]

    assert reasons(5) == ["not-selective"]
    assert reasons(100) == ["look-up-too-large"]
