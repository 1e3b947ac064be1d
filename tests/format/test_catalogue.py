"""File catalogues are read back unchanged, and damaged ones are refused."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.errors import CorruptIndexError
from lakesieve.format import (
    CATALOGUE_SCHEMA,
    CatalogueEntry,
    catalogue_id,
    decode_catalogue,
    encode_catalogue,
    read_origin,
)
from lakesieve.format.pages import claims

if TYPE_CHECKING:
    from collections.abc import Iterator

paths = st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=20, unique=True)


def _catalogue(files: list[str]) -> pa.Table:
    count = len(files)
    columns = {
        "path": files,
        "size": range(count),
        "records": range(100, 100 + count),
        "has_null": [at % 2 == 0 for at in range(count)],
        "has_value": [at % 3 == 0 for at in range(count)],
        "repeats": [[None, True, False][at % 3] for at in range(count)],
    }
    return pa.table({name: list(item) for name, item in columns.items()}, CATALOGUE_SCHEMA)


@given(paths)
def test_catalogues_are_read_back(files: list[str]) -> None:
    """Any names of data files, their sizes and flags survive the way to bytes and back."""
    table = _catalogue(files)

    data, entry = encode_catalogue(table)

    assert decode_catalogue(data, entry).equals(table)
    assert (entry.files, entry.size) == (len(files), len(data))


def test_any_bit_that_flips_is_refused() -> None:
    """A catalogue with any flipped bit is refused, because a wrong flag would skip a file."""
    data, entry = encode_catalogue(_catalogue(["a", "b/c", "d"]))
    for index in range(len(data)):
        harmed = bytearray(data)
        harmed[index] ^= 1
        with pytest.raises(CorruptIndexError):
            decode_catalogue(bytes(harmed), entry)


def test_the_catalogue_of_other_files_is_refused() -> None:
    """A valid catalogue that is not the wanted one is refused."""
    data, entry = encode_catalogue(_catalogue(["a", "b"]))
    other, _ = encode_catalogue(_catalogue(["a", "c"]))

    assert len(other) == len(data)
    with pytest.raises(CorruptIndexError):
        decode_catalogue(other, entry)


def test_the_id_of_other_files_is_refused() -> None:
    """Engines keep the digests of paths by the catalogue's id, so the id must be of these paths."""
    _, entry = encode_catalogue(_catalogue(["a", "b"]))
    data, other = encode_catalogue(_catalogue(["a", "c"]))

    with pytest.raises(CorruptIndexError, match="other files than the commit"):
        decode_catalogue(data, dataclasses.replace(other, id=entry.id), ["path"])


def _bomb(files: list[str], **columns: pa.Array) -> tuple[bytes, CatalogueEntry]:
    """Return a catalogue that no writer made, with the checksum of its bytes."""
    sink = io.BytesIO()
    table = _catalogue(files) if not columns else pa.table(columns)
    pq.write_table(table, sink, compression="zstd", use_dictionary=False, data_page_size=1 << 16)
    data = sink.getvalue()
    digest = hashlib.sha256(data).hexdigest()
    _, entry = encode_catalogue(_catalogue(["a"]))
    path = f"files/{digest[:40]}.parquet"
    return data, dataclasses.replace(
        entry, path=path, size=len(data), sha256=digest, files=len(files)
    )


def test_a_catalogue_that_expands_without_end_is_refused() -> None:
    """A few bytes that claim many long paths are refused before they are decoded."""
    paths = [f"{at:08d}" + "x" * 60_000 for at in range(1_500)]
    data, entry = _bomb(paths)
    assert len(data) < 80_000

    before = pa.total_allocated_bytes()
    pool_before = pa.default_memory_pool().max_memory()
    with pytest.raises(CorruptIndexError, match="its bytes cannot hold"):
        decode_catalogue(data, entry)
    with pytest.raises(CorruptIndexError, match="its bytes cannot hold"):
        read_origin(data, entry.path)
    assert pa.total_allocated_bytes() <= before
    assert pa.default_memory_pool().max_memory() == pool_before


@contextlib.contextmanager
def _most_memory() -> Iterator[list[int]]:
    """Yield a value that tells afterwards how many bytes Arrow had allocated at most."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    log: list[int] = []
    pa.set_memory_pool(pool)
    try:
        yield log
    finally:
        pa.set_memory_pool(before)
        log.append(pool.max_memory())


def _signed(data: bytes, files: int) -> CatalogueEntry:
    """Return the entry of a commit for a catalogue, with the checksum of its bytes."""
    _, entry = encode_catalogue(_catalogue(["a"]))
    digest = hashlib.sha256(data).hexdigest()
    path = f"files/{digest[:40]}.parquet"
    return dataclasses.replace(entry, path=path, size=len(data), sha256=digest, files=files)


def _repeated(name: str, rows: int, **options: Any) -> bytes:
    """Return a catalogue that repeats one path."""
    sink = io.BytesIO()
    ones, flags = pa.array(np.ones(rows, np.int64)), pa.array(np.ones(rows, bool))
    paths = pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), pa.array([name]))
    if not options.get("use_dictionary", True):
        paths = paths.cast(pa.string())
    columns = dict(
        zip(CATALOGUE_SCHEMA.names, [paths, ones, ones, flags, flags, flags], strict=True)
    )
    pq.write_table(pa.table(columns), sink, compression="zstd", **options)
    return sink.getvalue()


@pytest.mark.parametrize(
    "options",
    [
        {"store_schema": False},
        {"store_schema": True},
        {"use_dictionary": False, "column_encoding": {"path": "DELTA_BYTE_ARRAY"}},
    ],
    ids=["dictionary", "arrow-dictionary", "prefixes"],
)
def test_a_path_that_repeats_without_end_is_refused(options: dict[str, Any]) -> None:
    """Small pages that repeat one long path take little memory."""
    rows = 20_000
    data = _repeated("x" * 20_000, rows, **options)
    entry = _signed(data, rows)
    assert len(data) < 20_000

    with _most_memory() as most:
        with pytest.raises(CorruptIndexError):
            decode_catalogue(data, entry)
        with pytest.raises(CorruptIndexError):
            read_origin(data, entry.path)
    assert most[0] < 64 << 20


def _varint(number: int, length: int) -> bytes:
    """Encode a number in Thrift's compact protocol with a given number of bytes."""
    number = 2 * number
    parts = [number >> 7 * index & 127 for index in range(length)]
    return bytes([*(part | 128 for part in parts[:-1]), parts[-1]])


def test_what_the_footer_claims_is_not_believed() -> None:
    """The sizes in the page headers count, so that a footer cannot claim less."""
    data, entry = _bomb([f"{at:08d}" + "x" * 60_000 for at in range(1_500)])
    group = pq.read_metadata(io.BytesIO(data)).row_group(0)
    for claim in (group.column(0).total_uncompressed_size, group.total_byte_size):
        assert _varint(claim, 4) in data
        data = data.replace(_varint(claim, 4), _varint(9_000, 4))
    assert pq.read_metadata(io.BytesIO(data)).row_group(0).total_byte_size == 9_000

    with _most_memory() as most, pytest.raises(CorruptIndexError, match="its bytes cannot hold"):
        decode_catalogue(data, _signed(data, entry.files))
    assert most[0] < 1 << 20


@pytest.mark.parametrize("field", [1, 2, 3])
def test_a_page_header_with_a_struct_for_a_number(field: int) -> None:
    """A header whose type or size is a struct is reported as damaged."""
    sink = io.BytesIO()
    pq.write_table(_catalogue(["a"]), sink, compression="none", use_dictionary=False)
    stored = bytearray(sink.getvalue())
    footer = pq.read_metadata(io.BytesIO(stored))
    start = footer.row_group(0).column(0).data_page_offset
    # the fields before it, each the next one and of one byte, then an empty struct
    stored[start : start + 2 * field + 1] = bytes([0x15, 0] * (field - 1) + [0x1C, 0, 0])

    with pytest.raises(ValueError, match="negative or exceeds"):
        claims(bytes(stored), footer)


@given(paths, st.data())
def test_pages_are_found_as_arrow_finds_them(files: list[str], data: st.DataObject) -> None:
    """The pages of any writer are counted, and damaged headers end in an error or a count."""
    sink = io.BytesIO()
    pq.write_table(
        _catalogue(files),
        sink,
        compression=data.draw(st.sampled_from(["zstd", "none", "snappy"])),
        use_dictionary=data.draw(st.booleans()),
        data_page_version=data.draw(st.sampled_from(["1.0", "2.0"])),
        row_group_size=data.draw(st.integers(1, 20)),
        data_page_size=data.draw(st.integers(1, 200)),
        write_batch_size=1,
    )
    stored = sink.getvalue()
    result = pq.read_metadata(io.BytesIO(stored))
    columns = [
        result.row_group(g).column(c) for g in range(result.num_row_groups) for c in range(5)
    ]

    assert decode_catalogue(stored, _signed(stored, len(files)), ["size"]).num_rows == len(files)
    claimed = sum(claim.size for claim in claims(stored, result).values())
    # the footer counts the headers, too
    assert claimed <= sum(one.total_uncompressed_size for one in columns) + len(stored)
    assert claimed >= sum(8 for _ in files)
    # of booleans in pages of the second version Arrow writes runs
    plain = {
        column.path_in_schema: column.dictionary_page_offset is None
        and column.encodings in (("RLE", "PLAIN"), ("PLAIN", "RLE"))
        for column in columns
    }
    found = {name: claim.is_plain for name, claim in claims(stored, result).items()}
    assert {name: found[name] for name in plain} == plain
    harmed = bytearray(stored)
    for index in data.draw(
        st.lists(st.integers(4, result.row_group(0).column(4).data_page_offset))
    ):
        harmed[index] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(ValueError):
        assert claims(bytes(harmed), result)


def test_a_catalogue_of_more_rows_than_announced_is_refused() -> None:
    """No more data files are decoded than the commit says."""
    data, entry = _bomb([str(at) for at in range(1_000)])

    with pytest.raises(CorruptIndexError, match="other files"):
        decode_catalogue(data, dataclasses.replace(entry, files=999))


def test_columns_that_nobody_wants_are_refused() -> None:
    """A file with other columns than a catalogue is refused."""
    many = {f"c{at}": pa.array([1]) for at in range(200)}
    for columns in (many, {"path": pa.array(["a"])}):
        data, entry = _bomb(["a"], **columns)
        with pytest.raises(CorruptIndexError):
            decode_catalogue(data, entry)


@given(paths, st.integers(0, 3), st.sampled_from([pa.string(), pa.large_string()]))
def test_one_list_of_paths_has_one_name(files: list[str], cut: int, kind: pa.DataType) -> None:
    """A list of paths has the same id, however it lies in memory."""
    whole = pa.array(files, kind)
    padded = pa.array(["x" * 7, *files, "y"], kind).slice(1, len(files))
    parts = pa.chunked_array([whole[:cut], whole[cut:]], kind)
    joined = "".join(files).encode()
    ends = np.cumsum([0, *(len(name.encode()) for name in files)]).astype("<i8")
    result = hashlib.sha256(ends.tobytes() + joined).hexdigest()[:40]

    assert {catalogue_id(one) for one in (whole, padded, parts)} == {result}


def test_some_columns_are_read_alone() -> None:
    """Flags are read without the paths, under the same checksum."""
    table = _catalogue(["a", "b", "c"])
    data, entry = encode_catalogue(table)

    names = ["has_null", "has_value"]
    assert decode_catalogue(data, entry, names).equals(table.select(names))
    with pytest.raises(CorruptIndexError):
        decode_catalogue(data[:-1] + b"x", entry, names)
