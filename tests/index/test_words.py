"""Words of texts as keys, without an engine: trees, definitions, look-ups and their limits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.errors import CorruptIndexError, UnsupportedError
from lakesieve.format import IndexDefinition, KeyColumn, catalogue_id, encode_segment
from lakesieve.index.definition import define
from lakesieve.index.expression_conditions import Expressions
from lakesieve.index.expressions import UnknownColumnError, key_expression, stored_tree
from lakesieve.index.key_filters import UsableIndex, on_keys
from lakesieve.index.opened import OpenedIndex
from lakesieve.index.scan_decision import column_types, keep_tree
from lakesieve.predicate import KeysWith, Ranges, bind, rows_where, source_of_many
from lakesieve.predicate.parse import parse_sql
from lakesieve.sieve import LONGEST_WORD, blocks_of_pairs
from lakesieve.storage import open_storage
from lakesieve.store import BlockCache, Changes, IndexStore, stage_catalogue
from lakesieve.store.compact import compaction_changes
from lakesieve.tables import Column

if TYPE_CHECKING:
    from collections.abc import Mapping

COLUMNS: dict[tuple[str, ...], Column] = {
    ("s",): Column(path=("s",), field_id=4, type="string", kind="string"),
    ("n",): Column(path=("n",), field_id=5, type="int", kind="integer"),
    ("c",): Column(path=("c",), field_id=6, type="string", kind="other"),
}
FILES = 4
PART = {"type": "string", "kind": "string", "scale": 0}


def _key(path: str = "s") -> Column:
    tree = ["words", {"col": [path], "type": "string"}]
    stored, sources = stored_tree(tree, COLUMNS)
    (column,) = key_expression(f"words({path})", stored, sources, [PART])
    return column


def _definition() -> IndexDefinition:
    column = _key()
    key = KeyColumn(field_id=column.field_id, name="words(s)", type="string", key_kind="string")
    return IndexDefinition(
        name="n",
        index_uuid="i",
        table_format="iceberg",
        table_uuid="t",
        table_location="/t",
        columns=(key,),
        created_at="",
        expression=column.expression,
    )


def test_definitions_are_stored() -> None:
    """A definition is read as it was written; its tree, kind and budget must agree."""
    definition = _definition()
    assert definition.has_whole_keys
    document = json.loads(json.dumps(definition.to_json()))
    assert document["kind"] == "sieve-words"
    assert document["expression"]["tree"] == '["words",{"field":4,"type":"string"}]'
    assert IndexDefinition.from_json(document) == definition
    forged: list[Mapping[str, Any]] = [
        document | {"kind": "sieve-elements"},
        document | {"kind": "sieve-expression"},
        document | {"budget": "8 bits"},
    ]
    for wrong in forged:
        with pytest.raises((ValueError, TypeError)):
            IndexDefinition.from_json(dict(wrong))
    for path in ("n", "c", "nothing"):
        with pytest.raises(UnknownColumnError):
            _key(path)
    assert source_of_many("WORDS( r.s )") == ("words", "r.s")


def test_no_budget() -> None:
    """A budget would leave out words."""
    table: Any = None
    with pytest.raises(UnsupportedError, match="cannot have a budget"):
        define(table, [_key()], "n", budget="8 bits", absent_hits=0.1, compaction="auto")


class _Opened:
    """An opened index of one definition."""

    def __init__(self) -> None:
        self.definition = _definition()


def test_conditions_find_the_words_of_their_text() -> None:
    """A condition on the text asks the index of its words."""
    opened: Any = _Opened()
    usable = [UsableIndex(index=opened, columns=opened.definition.columns)]
    condition = parse_sql("s LIKE '%abc%'")
    found = Expressions.of(condition, usable, COLUMNS)
    bound = bind(condition, column_types(COLUMNS), strict=True, words=found.words)
    assert on_keys(rows_where(bound), usable) == KeysWith(field_id=0, part=b"abc", at_end=False)


_WORDS = st.sampled_from([b"a", b"ab", b"abc", b"b", b"ac", b"cab", b"x" * LONGEST_WORD])
_PAIRS = st.lists(st.tuples(_WORDS, st.integers(0, FILES - 1)), min_size=1, max_size=20)
_number = iter(range(10**9))


def _store(*parts: list[tuple[bytes, int]], whole: bool = True) -> IndexStore:
    """Store pairs of words and files, with a catalogue of its own for each part."""
    store = IndexStore(open_storage(f"memory://words-{next(_number)}"))
    definition = _definition()
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


def _index(store: IndexStore) -> OpenedIndex:
    return OpenedIndex(store, store.snapshot(), BlockCache(limit=300))


def _kept(index: OpenedIndex, part: bytes, *, at_end: bool) -> set[str]:
    found = index.may_contain(part, at_end=at_end)
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


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that is too large to be searched is not, and cut keys are refused."""
    pairs = [(f"word{n}".encode(), n % FILES) for n in range(30)]
    index = _index(_store(pairs))
    assert _kept(index, b"ord1", at_end=False) == {f"0-{n}" for n in range(FILES)}
    monkeypatch.setattr("lakesieve.store.reader.MANY_WORD_GROUPS", 3)
    assert index.may_contain(b"ord1", at_end=False) is None
    cut = _index(_store([(b"abc", 0), (b"abx", 1)], whole=False))
    with pytest.raises(CorruptIndexError, match="not whole words"):
        cut.may_contain(b"b", at_end=False)


def test_many_parts_of_words_are_not_searched() -> None:
    """Each part is searched among all words, so that only a few are; the reason says so."""
    index = _index(_store([(f"word{n}".encode(), n % FILES) for n in range(30)]))
    usable = [UsableIndex(index=index, columns=index.definition.columns)]

    def reasons(count: int) -> list[str]:
        condition = parse_sql(" OR ".join(f"s LIKE '%ord{n}%'" for n in range(count)))
        words = Expressions.of(condition, usable, COLUMNS).words
        bound = bind(condition, column_types(COLUMNS), strict=True, words=words)
        return [str(reason.code) for reason in keep_tree(rows_where(bound), usable).reasons]

    assert reasons(5) == ["not-selective"]
    assert reasons(100) == ["look-up-too-large"]
