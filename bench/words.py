"""The index of words beside Lance's NGRAM index and tantivy: the same texts, in one run."""

from __future__ import annotations

import re
import time
from functools import partial
from typing import TYPE_CHECKING, Protocol

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import tantivy

import lakesieve as ls
from bench.keys_kinds import MESSAGE, REQUEST, request_id
from bench.measure import Measured, bytes_below, in_turn, note
from lakesieve.store.cache import shared_cache

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from lakesieve.index import FileMatches

__all__ = ["ROWS", "run"]

ROWS = 4_000_000
_BLOCK = 20_000
_FILES = 8
# what a writer of tantivy may hold in memory before it writes to disk
_HEAP = 1 << 30
_MOST_HITS = 1_000_000
_LOOK_UPS = {1_000_000: 50, 30_000_000: 500}
"""Numbers of different words, and how many milliseconds a look-up may take."""

# of these, parts are searched beyond ten million words; what spark.lakesieve.memory=1600m gives
_CACHE = 1 << 30


class _Peer(Protocol):
    """An index of texts.

    Args:
        size: Bytes of the index.
        seconds: How long it took to create the index, once the texts were there.
    """

    size: int
    seconds: float

    def blocks(self, text: str) -> set[int]:
        """Return the row blocks that the index names for texts that contain another one."""

    def rows(self, text: str) -> int:
        """Return how many texts contain another one."""


class _Words:
    """An index on the words of the texts in Parquet files."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._table = f"parquet:{folder}"
        start = time.perf_counter()
        ls.create_index(
            self._table, "words(message)", spark=spark, name="words", rows_per_block=_BLOCK
        )
        self.seconds = time.perf_counter() - start
        # without Spark, as the others
        self.index = ls.open_index(self._table, "words")
        self.size = self.index.info().bytes
        self._dataset = ls.engines.arrow.dataset(self._table)
        # by data file: the number of its first row in the table, and of its rows
        self._extents: dict[str, tuple[int, int]] = {}
        first = 0
        for fragment in _in_order(folder).get_fragments():
            count = fragment.count_rows()
            self._extents[f"file:{fragment.path}"] = (first, count)
            first += count

    def look_up(self, text: str) -> FileMatches:
        """Return the files and row ranges for a text."""
        return self.index.files(f"message LIKE '%{text}%'")

    def blocks(self, text: str) -> set[int]:
        matches = self.look_up(text)
        ranges = matches.row_ranges or (None,) * len(matches.paths)
        blocks: set[int] = set()
        for path, of_file in zip(matches.paths, ranges, strict=True):
            before, count = self._extents[path]
            for first, end in of_file or ((0, count),):
                blocks.update(range((before + first) // _BLOCK, (before + end - 1) // _BLOCK + 1))
        return blocks

    def rows(self, text: str) -> int:
        wanted = pc.match_substring(pc.field("message"), text)
        return int(self._dataset.to_table(["id"], filter=wanted).num_rows)


class _Ngrams:
    """Lance's NGRAM index. Lance itself checks the rows that the index names."""

    def __init__(self, folder: Path, root: Path) -> None:
        place = root / f"lance-{time.time_ns()}"
        self._dataset = lance.write_dataset(_in_order(folder), place)
        start = time.perf_counter()
        self._dataset.create_scalar_index("message", "NGRAM")
        self.seconds = time.perf_counter() - start
        self.size = bytes_below(place / "_indices")

    def blocks(self, text: str) -> set[int]:
        return _blocks_of(self._found(text)["id"])

    def rows(self, text: str) -> int:
        return int(self._found(text).num_rows)

    def _found(self, text: str) -> pa.Table:
        return self._dataset.to_table(["id"], filter=f"contains(message, '{text}')")


class _Tokens:
    """An index of tantivy with a document for each text, cut into words in lower case."""

    def __init__(self, folder: Path, root: Path) -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("message", stored=False, index_option="basic")
        builder.add_unsigned_field("id", stored=True)
        self._schema = builder.build()
        place = root / f"tantivy-{time.time_ns()}"
        place.mkdir()
        index = tantivy.Index(self._schema, path=str(place))
        start = time.perf_counter()
        writer = index.writer(heap_size=_HEAP)
        for batch in _in_order(folder).to_batches(columns=["id", "message"]):
            columns = (batch.column(name).to_pylist() for name in ("id", "message"))
            for number, message in zip(*columns, strict=True):
                writer.add_document(tantivy.Document(id=number, message=message))
        writer.commit()
        writer.wait_merging_threads()
        self.seconds = time.perf_counter() - start
        self.size = bytes_below(place)
        index.reload()
        self._searcher = index.searcher()

    def _hits(self, text: str) -> list[tuple[float, tantivy.DocAddress]]:
        words = re.findall(r"[^\W_]+", text.lower())
        parts = [tantivy.Query.regex_query(self._schema, "message", f".*{w}.*") for w in words]
        all_of = tantivy.Query.boolean_query([(tantivy.Occur.Must, part) for part in parts])
        return list(self._searcher.search(all_of, _MOST_HITS, count=False).hits)

    def blocks(self, text: str) -> set[int]:
        found = [self._searcher.doc(address)["id"][0] for _, address in self._hits(text)]
        return _blocks_of(pa.array(found, pa.int64()))

    def rows(self, text: str) -> int:
        return len(self._hits(text))


def _in_order(folder: Path) -> ds.Dataset:
    return ds.dataset(sorted(map(str, folder.glob("*.parquet"))))


def _blocks_of(numbers: pa.Array | pa.ChunkedArray) -> set[int]:
    return set(np.unique(np.asarray(numbers) // _BLOCK).tolist())


def _needles(rows: int) -> dict[str, str]:
    """Return texts that are sought in the messages of a number of rows."""
    request = request_id(rows // 3)
    return {
        "a request id": request,
        "a part of a request id": request[3:13],
        "a rare word": "deadlock",
        "words with separators": f"request={request[:5]}",
    }


def run(spark: SparkSession, root: Path, *, rows: int = ROWS) -> Iterator[Measured]:
    """Write log messages as Parquet files, index them in each way, and search them in turn."""
    folder = root / f"messages-{time.time_ns()}"
    rows -= rows % (_BLOCK * _FILES)
    note(f"writing {rows:,} messages")
    messages = spark.range(0, rows, 1, _FILES).selectExpr("id", f"{MESSAGE} AS message")
    messages.write.option("compression", "zstd").parquet(str(folder))
    of_text = int(messages.selectExpr("sum(octet_length(message))").head()[0])
    note("indexing them with lakesieve")
    words = _Words(spark, folder)
    note("indexing them with Lance")
    ngrams = _Ngrams(folder, root)
    note("indexing them with tantivy")
    peers: dict[str, _Peer] = {
        "lakesieve": words,
        "Lance NGRAM": ngrams,
        "tantivy": _Tokens(folder, root),
    }
    for name, peer in peers.items():
        yield Measured(
            name=f"size of {name}",
            value=100 * peer.size / of_text,
            unit="% of the text",
            at_most=7 if peer is words else None,
            details={"built in": f"{peer.seconds:.1f} s", "text": f"{of_text / 1e6:.0f} MB"},
        )
    for name, text in _needles(rows).items():
        yield from _searched(name, text, folder, words, peers)
    for count, at_most in _LOOK_UPS.items():
        yield from _looked_up(spark, root, count, at_most)


def _searched(
    name: str, text: str, folder: Path, words: _Words, peers: dict[str, _Peer]
) -> Iterator[Measured]:
    """Yield how many blocks are named in vain, and how long searches take."""
    wanted = pc.match_substring(pc.field("message"), text)
    there = _blocks_of(_in_order(folder).to_table(["id"], filter=wanted)["id"])
    named = {way: peer.blocks(text) for way, peer in peers.items()}
    for way, blocks in named.items():
        if not there <= blocks:
            raise AssertionError(f"{name}: {way} misses a block")
    yield Measured(
        name=f"{name}: blocks that lakesieve names in vain",
        value=len(named["lakesieve"] - there),
        unit="blocks",
        details={"with a match": len(there)} | {way: len(blocks) for way, blocks in named.items()},
    )
    actions = {"look-up": partial(words.look_up, text)} | {
        way: partial(peer.rows, text) for way, peer in peers.items()
    }
    times = in_turn(actions)
    yield Measured(
        name=f"{name}: time of a search with Lance against lakesieve, rows read",
        value=times["Lance NGRAM"] / times["lakesieve"],
        unit="x",
        details={way: f"{1e3 * took:.1f} ms" for way, took in times.items()},
    )


def _looked_up(spark: SparkSession, root: Path, count: int, at_most: float) -> Iterator[Measured]:
    """Yield how long look-ups take among a number of different words, once the index was read."""
    folder = root / f"ids-{time.time_ns()}"
    note(f"writing and indexing {count:,} identifiers")
    shared_cache().resize(_CACHE)
    rows = spark.range(0, count, 1, _FILES)
    rows.selectExpr("id", f"{REQUEST} AS message").write.parquet(str(folder))
    words = _Words(spark, folder)
    request = request_id(count // 3)
    looked_up = {
        "a whole identifier": f"message LIKE '%{request}%'",
        "a beginning": f"message LIKE '{request[:10]}%'",
        "a word that is nowhere": "message LIKE '%deadlock%'",
        "a part of an identifier": f"message LIKE '%{request[3:13]}%'",
    }
    for name, condition in looked_up.items():
        found = words.index.files(condition)
        took = in_turn({"look-up": partial(words.index.files, condition)})["look-up"]
        codes = {str(reason.code) for reason in found.reasons}
        if "index-used" not in codes:
            raise AssertionError(f"{name}: the index did not answer")
        yield Measured(
            name=f"{name} among {count:,} words",
            value=1e3 * took,
            unit="ms",
            at_most=at_most,
            details={
                "files": f"{found.total} -> {len(found.paths)}",
                "index": f"{words.size / 1e6:.0f} MB, built in {words.seconds:.0f} s",
            },
        )
