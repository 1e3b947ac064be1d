"""Streams of integers are read back unchanged, or not at all."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.format.streams import StreamError, StreamWriter, decode_stream


def encode_stream(values: np.ndarray) -> bytes:
    """Encode a single stream."""
    return StreamWriter().write("", values)


words = (
    st.integers(0, 3)
    | st.integers(250, 260)
    | st.integers(0, 2**64 - 1)
    | st.sampled_from([0, 2**63, 2**64 - 1])
)


@given(st.lists(words, max_size=300))
def test_streams_are_read_back(values: list[int]) -> None:
    """Any integers are read back, and bytes after the stream are ignored."""
    data = encode_stream(np.array(values, np.uint64))
    found, end = decode_stream(memoryview(b"xx" + data + b"behind"), 2, len(values))

    assert found.tolist() == values
    assert end == 2 + len(data)


@given(
    st.lists(words, min_size=1, max_size=60),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1),
    st.integers(0, 70),
)
def test_harmed_streams_end_in_an_error(
    values: list[int], flips: list[tuple[float, int]], length: int
) -> None:
    """Damaged streams give a stream error or the expected number of integers."""
    data = bytearray(encode_stream(np.array(values, np.uint64)))
    for position, flip in flips:
        data[int(position * len(data))] ^= flip

    with contextlib.suppress(StreamError):
        assert len(decode_stream(memoryview(data), 0, len(values))[0]) == len(values)
    with contextlib.suppress(StreamError):
        assert len(decode_stream(memoryview(data)[:length], 0, len(values))[0]) == len(values)


def test_a_stream_of_another_length_is_refused() -> None:
    """A stream holds as many values as are expected, or is refused."""
    data = memoryview(encode_stream(np.arange(5, dtype=np.uint64)))

    for count in (3, 2**20):
        with pytest.raises(StreamError):
            decode_stream(data, 0, count)


@pytest.mark.parametrize(
    ("values", "bits"),
    [
        (np.random.default_rng(0).integers(0, 500, 60_000), 9.1),
        (np.random.default_rng(0).integers(0, 20_000, 60_000), 14.7),
        (np.random.default_rng(0).geometric(0.5, 60_000), 2.1),
        (np.random.default_rng(0).exponential(2**20, 60_000).astype(np.int64), 21.7),
        (np.tile(np.arange(24), 2_500), 0.1),
    ],
    ids=["500-files", "20000-files", "gaps", "key-steps", "pattern"],
)
def test_streams_are_small(values: np.ndarray, bits: float) -> None:
    """Typical streams take hardly more than their entropy."""
    assert 8 * len(encode_stream(values.astype(np.uint64))) / len(values) < bits


@pytest.mark.parametrize("bits", [1, 7, 33, 63])
def test_long_streams_are_read_back(bits: int) -> None:
    """Low bits are packed in parts, and are read back across part boundaries."""
    random = np.random.default_rng(bits)
    for count in (16_383, 16_384, 40_001):
        values = random.integers(0, 2**bits, count, dtype=np.uint64, endpoint=True)
        found, _ = decode_stream(memoryview(encode_stream(values)), 0, count)
        assert np.array_equal(found, values)


@given(st.lists(st.lists(words, max_size=40), max_size=20))
def test_streams_of_one_name_are_read_back(streams: list[list[int]]) -> None:
    """Reusing a coding for later streams does not change their values."""
    writer = StreamWriter()
    for values in streams:
        data = writer.write("one", np.array(values, np.uint64))
        assert decode_stream(memoryview(data), 0, len(values))[0].tolist() == values


def test_streams_of_one_name_stay_small() -> None:
    """Streams with changing values are hardly larger than if each were coded alone."""
    random = np.random.default_rng(3)
    writer = StreamWriter()
    streams = [
        random.geometric(0.5 ** (1 + turn // 5), 5_000)
        if turn % 7
        else np.tile([3, 1, 9, 4], 1_000)
        for turn in range(40)
    ]
    together = sum(len(writer.write("one", values)) for values in streams)
    assert together < 1.03 * sum(len(encode_stream(values)) for values in streams)
