"""Words of texts: the cases of the specification, and what is refused of words alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import IllegalArgumentException
from tests.depth import depth
from tests.sieve.test_words import CASES
from tests.spark.many_keys.words import (
    characters,
    check_letters,
    drawn_regex,
    drawn_text,
    literal,
)

import lakesieve as ls
from lakesieve.errors import UnsupportedError
from lakesieve.predicate.regex_parts import patterns_of_regex
from lakesieve.sieve import WordPart

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from lakesieve.predicate.expression import TextPattern


def test_cases_of_the_rule(spark: SparkSession, tmp_path: Path) -> None:
    """The build on Spark has exactly the words of the cases of the specification."""
    folder = tmp_path / "cases"
    rows = spark.createDataFrame(list(enumerate(CASES)), "id INT, message STRING")
    rows.coalesce(1).write.parquet(str(folder))
    table = f"parquet:{folder}"
    index = ls.create_index(table, "words(message)", spark=spark, rows_per_block=1)
    for at, text in enumerate(CASES):
        if CASES[text] and all(len(word) < 256 for word in CASES[text]):
            rows_found = index.files(f"message = {literal(text)}").row_ranges
            assert rows_found is not None
            assert rows_found[0] is not None
            assert at in {row for start, end in rows_found[0] for row in range(start, end)}
    assert index.info().keys == len({word for words in CASES.values() for word in words})


def test_letters_that_become_ascii(spark: SparkSession) -> None:
    """In Spark's lower case, ASCII letters come from few characters, and no separator appears."""
    every = characters()
    table = spark.createDataFrame([("\n".join(every),)], "c STRING")
    (row,) = table.selectExpr("lower(c) AS c").collect()
    check_letters(every, row.c.split("\n"))


@pytest.mark.parametrize("language", ["", "tr", "az", "lt"])
def test_letters_in_other_languages(spark: SparkSession, language: str) -> None:
    """The same holds in the lower case of Java and ICU in each language with rules of its own."""
    jvm: Any = spark._jvm
    text = "\n".join([*characters(), "I\u0307x"])
    locale = jvm.java.util.Locale(language)
    lowered = [jvm.org.apache.commons.lang3.StringUtils.lowerCase(text, locale)]
    if not spark.version.startswith("3."):
        icu = jvm.com.ibm.icu
        lowered.append(icu.lang.UCharacter.toLowerCase(icu.util.ULocale(language), text))
    part = WordPart(text=b"ix", is_folded=True)
    for lower in lowered:
        *letters, dotted = lower.split("\n")
        check_letters(characters(), letters)
        # Turkish drops the dot behind the letter
        found = part.are_in(pa.array(["I\u0307x".encode()], pa.binary()))
        assert found[0].as_py() or "ix" not in dotted


def _has(pattern: TextPattern, text: str) -> bool:
    """The slow twin: whether a text has the parts of a pattern in their order."""
    data = text.encode()
    if pattern.is_folded:
        data = data.lower()
    if pattern.begins and not data.startswith(pattern.parts[0]):
        return False
    for part in pattern.parts:
        _, found, data = data.partition(part)
        if not found:
            return False
    return True


_ODD_REGEX = (
    *(
        r"\x61",
        r"\u0061",
        r"\p{L}",
        "(?=a)",
        "(?!a)",
        "(?<n>a)",
        "(?x)",
        "(?i:a)",
        "[]a]",
        "[a&&b]",
    ),
    *(
        "[[a]b]",
        r"\1",
        r"\A",
        r"\z",
        r"\R",
        r"\E",
        r"\Q",
        "**",
        "{",
        "}",
        "]",
        "(",
        ")",
        "(?>ab)",
        "|",
    ),
)


def test_regular_expressions(spark: SparkSession) -> None:
    """Every text in which Java finds a match has one of the patterns of the expression."""
    jvm: Any = spark._jvm
    drawn = random.Random("regex 1")
    read = matched = 0
    for _ in range(depth("REGEX", test=300, soak=20_000)):
        regex = drawn_regex(drawn)
        if drawn.random() < 0.2:
            at = drawn.randrange(len(regex) + 1)
            regex = regex[:at] + drawn.choice(_ODD_REGEX) + regex[at:]
        patterns = patterns_of_regex(regex)
        try:
            compiled = jvm.java.util.regex.Pattern.compile(regex)
        except IllegalArgumentException:
            continue
        read += bool(patterns)
        for text in {drawn_text(drawn, 8, alike=regex) for _ in range(8 if patterns else 0)}:
            if compiled.matcher(text).find():
                matched += 1
                assert any(_has(pattern, text) for pattern in patterns), (regex, text)
    assert read > 50
    assert matched > 50


def test_no_budget(spark: SparkSession, tmp_path: Path) -> None:
    """Budgets are refused: they would leave out words that a search needs."""
    folder = tmp_path / "texts"
    spark.sql("SELECT 'a b' AS message").write.parquet(str(folder))
    with pytest.raises(UnsupportedError, match="cannot have a budget"):
        ls.create_index(f"parquet:{folder}", "words(message)", spark=spark, budget="8 bits")
    with pytest.raises(UnsupportedError, match="cannot have a budget"):
        ls.trade_offs(f"parquet:{folder}", "words(message)", spark=spark)
