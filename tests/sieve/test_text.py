"""Text codes keep the order of the strings they were made for, and never lose one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lakesieve.sieve import SharedPrefixes, TextCode

if TYPE_CHECKING:
    import numpy as np

letters = st.sampled_from([b"", b"\0", b"a", b"b", b"z", b"\xff", b"-", b"0", b"9"])
words = st.lists(letters, max_size=6).map(b"".join)
prefixes = st.sampled_from([b"", b"Customer#", b"\xff", b"\0\0"])
plain_lists = st.tuples(prefixes, st.sets(words, min_size=1, max_size=30)).map(
    lambda drawn: sorted(drawn[0] + word for word in drawn[1])
)
hosts = st.sampled_from([b"a", b"", b"b", b"b-", b"b0", b"news-archive-of-all-the-years", b"zz"])
pages = st.tuples(hosts, hosts).map(b"/".join)
numbers = st.integers(0, 10**6).map(lambda number: b"%d" % number)


@st.composite
def hierarchies(draw: st.DrawFn) -> list[bytes]:
    """Keys under a few prefixes that a code of positions cannot hold."""
    prefixes = draw(st.sets(pages, min_size=1, max_size=4))
    tails = draw(st.sets(numbers, min_size=48, max_size=60))
    return sorted(b"https://" + head + b"/" + tail for head in prefixes for tail in tails)


key_lists = plain_lists | hierarchies()


def _headed(keys: list[bytes]) -> tuple[TextCode, np.ndarray]:
    """Return a code with prefixes, even if a plain code would do."""
    found = TextCode._with_shared_prefixes(pa.array(keys, pa.binary()))
    assume(found is not None)
    assert found is not None
    return found


def _fitted(keys: list[bytes]) -> tuple[TextCode, np.ndarray]:
    if keys[0].startswith(b"https://"):
        return _headed(keys)
    found = TextCode.fit(pa.array(keys, pa.binary()))
    assume(found is not None)
    assert found is not None
    return found


@given(key_lists)
def test_keys_have_codes_of_their_own(keys: list[bytes]) -> None:
    """Codes ascend with the strings, are found again one by one, and fit into 63 bits."""
    text, codes = _fitted(keys)
    again, known, _ = text.encode(pa.array(keys, pa.binary()))

    assert text.is_valid
    assert codes.tolist() == again.tolist() == sorted(set(codes.tolist()))
    assert known.all()
    assert 0 <= codes[0] <= codes[-1] < 2**63


@given(key_lists, st.none() | words, st.none() | words, st.booleans())
def test_intervals_hold_all_their_keys(
    keys: list[bytes], low: bytes | None, high: bytes | None, prefixed: bool
) -> None:
    """A key between two strings has its code between theirs, in single and in bulk look-ups."""
    text, codes = _fitted(keys)
    if prefixed:
        low, high = (None if end is None else text.prefix + end for end in (low, high))
    start, end = text.interval(low, high)
    firsts, lasts = text.intervals([(low, high)] * 40)

    for key, code in zip(keys, codes.tolist(), strict=True):
        if (low is None or low <= key) and (high is None or key < high):
            assert start <= code < end
            assert all((firsts <= code) & (code <= lasts))
            assert len(firsts) == 40


@given(key_lists, words)
def test_strings_that_are_no_keys_are_known_as_such(keys: list[bytes], other: bytes) -> None:
    """A string is rounded down: keys up to it have codes up to its code, and others do not."""
    text, codes = _fitted(keys)
    result, known, whole = text.encode(pa.array([other], pa.binary()))

    for key, code in zip(keys, codes.tolist(), strict=True):
        if key <= other:
            assert code <= result[0]
        else:
            assert code > result[0] or (known[0] and code == result[0] and not whole[0])
        if key == other:
            assert known[0]


@given(key_lists)
def test_codes_are_given_as_strings_between_keys(keys: list[bytes]) -> None:
    """A decoded code is above all keys of lower codes and not above keys of its own code."""
    text, codes = _fitted(keys)
    decoded = text.decode(codes).to_pylist()

    assert all(shown <= key for shown, key in zip(decoded, keys, strict=True))
    assert all(key < shown for key, shown in zip(keys, decoded[1:], strict=False))


@given(key_lists, key_lists)
def test_a_union_knows_the_keys_of_both(first: list[bytes], second: list[bytes]) -> None:
    """Under the union of two codes all their keys are known and in order."""
    both = [_fitted(first)[0], _fitted(second)[0]]
    union = TextCode.union(both)
    kinds = {
        text.shared_prefixes and (text.shared_prefixes.delimiter, text.shared_prefixes.count)
        for text in both
    }
    assert (union is None) == (len(kinds) > 1)
    if union is None:
        return
    assert union.is_valid
    keys = sorted({*first, *second})
    codes, known, _ = union.encode(pa.array(keys, pa.binary()))

    assert known.all()
    assert codes.tolist() == sorted(codes.tolist())
    assert TextCode.union([both[0], None]) is None


@pytest.mark.parametrize(
    "alphabets",
    [
        ((),),
        ((2, 1),),
        ((1, 1),),
        ((-1, 5),),
        ((5, 257),),
        ((0,), (1, 2)),
        ((1, 2),) * 63,
        ((7,), *((1, 2),) * 63),
        ((7,),) * 129,
    ],
    ids=[
        *("empty", "descending", "twice", "negative", "no byte", "after the end"),
        *("2**63", "2**63 behind one", "many positions"),
    ],
)
def test_stored_codes_are_checked(alphabets: tuple[tuple[int, ...], ...]) -> None:
    """Alphabets that are invalid, or whose codes do not fit, are refused."""
    assert not TextCode(b"", alphabets).is_valid
    assert TextCode(b"", ((1, 2),) * 62).is_valid


@pytest.mark.parametrize(
    "prefixes",
    [
        SharedPrefixes(47, 1, ()),
        SharedPrefixes(47, 1, (b"b/", b"a/")),
        SharedPrefixes(47, 1, (b"a/", b"a/")),
        SharedPrefixes(47, 1, (b"a",)),
        SharedPrefixes(47, 1, (b"a/b/",)),
        SharedPrefixes(47, 2, (b"a/",)),
        SharedPrefixes(47, 0, (b"a",)),
        SharedPrefixes(256, 1, (b"a/",)),
    ],
    ids=["none", "descending", "twice", "endless", "longer", "shorter", "no delimiter", "no byte"],
)
def test_stored_prefixes_are_checked(prefixes: SharedPrefixes) -> None:
    """Prefixes that are out of order, or of which one begins another, are refused."""
    assert not TextCode(b"", ((1, 2),), prefixes).is_valid
    assert TextCode(b"", ((1, 2),), SharedPrefixes(47, 1, (b"a/", b"b/"))).is_valid
    assert not TextCode(b"a", ((1, 2),), SharedPrefixes(47, 1, (b"a/", b"b/"))).is_valid


@given(hierarchies())
def test_prefixes_are_found_where_the_keys_are_too_wide(keys: list[bytes]) -> None:
    """Keys that 63 bits cannot hold by position are coded with shared prefixes, in any order."""
    wide = [key + b"/" + b"%020d" % 0 for key in keys]
    text, codes, whole = TextCode.of(pa.array(wide[::-1], pa.binary()))

    assert whole
    assert codes.tolist() == sorted(codes.tolist(), reverse=True)
    assert text.shared_prefixes is None or text.size < 2**63


def test_prefixes_are_read_as_they_were_written() -> None:
    """Joined prefixes are split again, and a prefix without an end is refused."""
    prefixes = SharedPrefixes(47, 2, (b"//", b"a//", b"a/b/", b"abc//"))

    assert SharedPrefixes.split(b"".join(prefixes.texts), 47, 2) == prefixes
    for joined in (b"", b"a/", b"a/b/c", b"a/b/c/"):
        with pytest.raises(ValueError, match="prefixes"):
            SharedPrefixes.split(joined, 47, 2)
