"""The suite that every table format passes; a format supplies only how to do what it asks for.

Subclass :class:`TableContract` in a test module, and give pytest the fixtures ``spark`` (a session)
and ``make_table`` (a function that makes a fresh :class:`tests.kit.driver.Driver`).
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.kit.alike import check_queries, views_of
from tests.kit.generated import FILES, KEYS, ROWS, predicate, rows_of
from tests.kit.reports import internal_errors

import lakesieve as ls
from lakesieve.errors import LakesieveError
from lakesieve.index.reasons import ReasonCode
from lakesieve.spark.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.kit.driver import Driver

QUERIES = depth("QUERIES", test=1, soak=6)
PREDICATES = 6
STEPS = 3


def _refusal(call: Callable[[], object]) -> str:
    """The code of the error that a call ends in, with a hint; of others the error itself."""
    try:
        call()
    except LakesieveError as error:
        return str(error.kind) if error.hint else repr(error)
    return "none"


class TableContract:
    """What holds for tables of every format.

    ``keys`` are the columns to index; a subclass for a variant that reads the same data files as
    another one may take fewer, among them ``i`` and ``s``.
    """

    keys: Sequence[str] = KEYS

    def index_each(self, spark: Any, table: Driver, columns: Sequence[str]) -> None:
        """Make an index of each column, all in one scan."""
        ls.create_indexes(table.name, [[column] for column in columns], spark=spark)

    def indexed(self, spark: Any, make_table: Callable[[], Driver]) -> Driver:
        """A table of all rows with an index on ``l``."""
        table = make_table()
        table.create(rows_of(spark, 0))
        table.append(rows_of(spark))
        ls.create_index(table.name, ["l"], spark=spark)
        return table

    def check(self, spark: Any, query: str) -> tuple[int, int]:
        """Insist on equal rows with skipping off and on; tells files before and after."""
        ls.disable(spark)
        expected = sorted(map(repr, spark.sql(query).collect()))
        ls.enable(spark)
        try:
            actual = sorted(map(repr, spark.sql(query).collect()))
            pruned = ls.last_pruning(spark)
        finally:
            ls.disable(spark)
        assert actual == expected, query
        assert internal_errors(pruned) == [], query
        return sum(p.files_total for p in pruned), sum(p.files_read for p in pruned)

    def check_generated(
        self, spark: Any, relations: Sequence[str], columns: Sequence[str], seed: str
    ) -> None:
        """Check generated predicates on several versions, and that many of them skip files."""
        drawn = random.Random(seed)
        total = read = 0
        with views_of(spark, relations) as views:
            for number in range(QUERIES):
                queries = [
                    (drawn.choice(views), predicate(drawn, columns)) for _ in range(PREDICATES)
                ]
                before, after = check_queries(spark, queries, summed=number == 0)
                total, read = total + before, read + after
        assert read < total

    def test_same_rows_in_every_version(self, spark: Any, make_table: Callable[[], Driver]) -> None:
        """Through deletes, updates, appends and compaction, every version gives the same rows."""
        table = make_table()
        table.create(rows_of(spark, 0))
        table.append(rows_of(spark))
        versions = [table.version()]
        # the others come when rows of all files have been deleted
        early = self.keys[::2] if table.has_versions else ()
        self.index_each(spark, table, early)
        table.delete("id % 10 = 3")
        versions.append(table.version())
        late = [column for column in self.keys if column not in early]
        if table.has_versions:
            self.index_each(spark, table, late)
        table.append(rows_of(spark, 100, files=1))
        versions.append(table.version())
        table.delete("i BETWEEN 20 AND 60")
        table.update("i = i + 1, s = concat(s, '!')", "l % 7 = 1")
        versions.append(table.version())
        if not table.has_versions:
            self.index_each(spark, table, late)
        relations = [table.relation(v) for v in dict.fromkeys(versions)]
        self.check_generated(spark, relations, self.keys, type(table).__name__)
        table.compact()
        query = f"SELECT * FROM {table.relation()} WHERE i = 7 OR s = 'k5!'"
        self.check(spark, query)
        if table.reads_changed_files:
            for column in ("i", "s"):
                ls.open_index(table.name, column, spark=spark).refresh()
            total, read = self.check(spark, query)
            assert read < total

    def test_partitions_of_any_name(self, spark: Any, make_table: Callable[[], Driver]) -> None:
        """Folders with blanks, signs, accents and for nulls are kept apart and found again."""
        table = make_table()
        table.create(rows_of(spark, 0, folders=True), "p")
        table.append(rows_of(spark, files=3, folders=True))
        columns: tuple[str, ...] = ("i", "s", "d")
        self.index_each(spark, table, columns)
        if table.stores_partition_values:
            columns = (*columns, "p")
            self.index_each(spark, table, ("p",))
        else:
            refused = _refusal(lambda: ls.create_index(table.name, ["p"], spark=spark))
            assert refused == "unsupported-type"

        self.check_generated(spark, [table.relation()], columns, type(table).__name__)
        conditions = (
            f"SELECT * FROM {table.relation()} WHERE p <=> {value} AND i > 400"
            for value in ("NULL", "'x y'", "'50%+é/ü'", "'a=b'", "'%20'", "'none'")
        )
        self.check(spark, " UNION ALL ".join(conditions))

    def test_the_formats_own_skipping_is_told(
        self, spark: Any, make_table: Callable[[], Driver]
    ) -> None:
        """Of a table without an index, as many files are told as Spark's own scan reads."""
        table = make_table()
        table.create(rows_of(spark, 0, folders=True), "p")
        table.append(rows_of(spark, files=4, folders=True))
        told = {}
        for condition in ("id < 300", "p = 'x y'", "p <=> NULL AND id > 2000"):
            total, read = self.check(spark, f"SELECT id FROM {table.relation()} WHERE {condition}")
            found = ls.find_files(table.name, condition, spark=spark)
            told[condition] = found.left_by_format
            assert (len(found.paths), found.uncovered) == (told[condition], 0), condition
            assert (told[condition], told[condition]) == (total, read), condition

        is_unread = ReasonCode.STATISTICS_UNREAD in {reason.code for reason in found.reasons}
        assert (told["p = 'x y'"] < found.total) is not is_unread

    def test_a_string_is_one_column(self, spark: Any, make_table: Callable[[], Driver]) -> None:
        """Whatever asks for columns takes the name of one; its letters are no columns."""
        table = make_table()
        rows = rows_of(spark, 20, files=1)
        table.create(rows)
        table.append(rows)

        assert ls.create_index(table.name, "id", spark=spark).info().columns == ("id",)
        assert ls.check_unique(table.name, "id", spark=spark).on == ("id",)
        assert ls.check_references(rows, "id", table.name, "id", spark=spark).holds
        if table.has_versions:
            for change in (ls.upsert, ls.delete, ls.insert_new):
                done = change(rows, table.entry, on="id", spark=spark, dry_run=True)
                assert (done.on, done.keys) == (("id",), 20)

    def test_a_point_query_opens_one_file(
        self, spark: Any, make_table: Callable[[], Driver]
    ) -> None:
        """A key that is in one file opens that file, however the table is named."""
        table = self.indexed(spark, make_table)
        found = ls.find_files(table.name, "l = 4726", spark=spark)

        assert (len(found.paths), found.total) == (1, FILES)
        assert spark.read.parquet(*found.paths).count() == ROWS / FILES
        for relation in table.relations():
            total, read = self.check(spark, f"SELECT * FROM {relation} WHERE l = 4726")
            assert (read, total >= read) == (1, True)

    def test_new_files_are_read(self, spark: Any, make_table: Callable[[], Driver]) -> None:
        """Files that came after the index are read by every query, and reported as uncovered."""
        table = self.indexed(spark, make_table)
        table.append(rows_of(spark, 60, files=2))
        query = f"SELECT id FROM {table.relation()} WHERE l = 4726"

        self.check(spark, query)
        ls.enable(spark)
        spark.sql(query).collect()
        (pruned,) = ls.last_pruning(spark)
        ls.disable(spark)

        # the format's own skipping may have taken some of them
        assert 0 < pruned.uncovered <= 2
        assert "uncovered-files" in {str(reason.code) for reason in pruned.reasons}
        assert ls.find_files(table.name, "l = 4726", spark=spark).uncovered == 2

    def test_columns_are_not_mistaken(self, spark: Any, make_table: Callable[[], Driver]) -> None:
        """A renamed column keeps its index; one dropped and added again has none."""
        table = make_table()
        if not table.can_rename:
            pytest.skip("the format cannot rename columns")
        table.create(rows_of(spark, 0))
        table.append(rows_of(spark))
        self.index_each(spark, table, ("l", "i"))
        table.rename("l", "renamed")
        table.drop_and_add("i", "INT")
        table.append(rows_of(spark, 60, files=2).withColumnRenamed("l", "renamed"))

        _, read = self.check(spark, f"SELECT id FROM {table.relation()} WHERE renamed = 4726")
        assert read <= 3
        total, read = self.check(spark, f"SELECT id FROM {table.relation()} WHERE i IS NULL")
        assert read == total
        self.check(spark, f"SELECT id FROM {table.relation()} WHERE i = 7")

    def test_a_recreated_table_is_not_fooled(
        self, spark: Any, make_table: Callable[[], Driver]
    ) -> None:
        """An index that a dropped table left behind says nothing of its successor."""
        table = self.indexed(spark, make_table)
        handle = ls.open_index(table.name, "l", spark=spark)
        before = open_table(spark, table.name).reader.uuid
        table.recreate(rows_of(spark, 60, files=2))
        query = f"SELECT id FROM {table.relation()} WHERE l = 4726"

        total, read = self.check(spark, query)

        assert read == total
        if open_table(spark, table.name).reader.uuid != before:
            refusal = _refusal(handle.refresh)
            # some catalogs delete a table's folder, with the index
            assert refusal in {"table-replaced", "index-not-found"}, refusal
        else:
            files, uncovered = handle.refresh().files, handle.files("l = 4726").uncovered
            assert (files, uncovered) == (2, 0), (files, uncovered)
        self.check(spark, query)

    def test_a_handle_is_of_one_table(self, spark: Any, make_table: Callable[[], Driver]) -> None:
        """No method of an index speaks of another table that has the name of its own now."""
        table = make_table()
        table.create(rows_of(spark, 0))
        table.append(rows_of(spark, 60, files=2))
        name = table.entry
        index = ls.create_index(name, ["l"], spark=spark)
        keys, commit = spark.range(1).selectExpr("id AS l"), index.info().commit
        calls: dict[str, Callable[[], object]] = {
            "files": lambda: index.files("l = 4726"),
            "files at a commit": lambda: index.at(commit).files("l = 4726"),
            "explain": lambda: index.explain("l = 4726"),
            "locate": lambda: index.locate(keys),
            "refresh": index.refresh,
            "refresh all": lambda: index.refresh(all_refs=True),
            "refresh dry": lambda: index.refresh(dry_run=True),
            "compact": index.compact,
            "compact dry": lambda: index.compact(dry_run=True),
            "verify": index.verify_rows,
            "clone": lambda: index.clone(name, name="other"),
        }

        table.supplant(rows_of(spark, 90, files=3))
        refusals = {method: _refusal(call) for method, call in calls.items()}
        assert refusals == dict.fromkeys(calls, "table-replaced"), refusals
        assert index.info().files == 2

        spark.sql(f"DROP TABLE {name}")
        refusals = {method: _refusal(call) for method, call in calls.items()}
        assert set(refusals.values()) <= {"table-not-found", "index-not-found"}, refusals

    def test_indexes_live_with_their_table(
        self, spark: Any, make_table: Callable[[], Driver]
    ) -> None:
        """Through drawn changes of the table and upkeep of its indexes, no row is ever missed."""
        table = make_table()
        table.create(rows_of(spark, 0))
        table.append(rows_of(spark, 240, files=4))
        drawn = random.Random(type(table).__name__)
        indexes = ls.create_indexes(table.name, [["x"], ["s", "t"]], spark=spark)
        versions = [table.version()]
        for _ in range(STEPS):
            number = drawn.randrange(240)
            change = drawn.randrange(4)
            if change == 0:
                table.append(rows_of(spark, drawn.choice((1, 30)), files=drawn.choice((1, 2))))
            elif change == 1:
                table.delete(f"id % 7 = {number % 7} OR x > 100")
            elif change == 2:
                table.update("x = -x, s = concat(s, 'é')", f"id < {number}")
            else:
                table.compact()
            versions.append(table.version())
            for index in indexes:
                if drawn.random() < 0.6:
                    index.refresh()
                if drawn.random() < 0.3:
                    index.compact()
            relations = [table.relation(version) for version in dict.fromkeys(versions)]
            with views_of(spark, relations) as views:
                columns = ("x", "s", "t", "l")
                queries = [
                    (drawn.choice(views), predicate(drawn, columns)) for _ in range(PREDICATES)
                ]
                check_queries(spark, queries, hashed="xxhash64(s, x) % 1000")
        for index in indexes:
            index.refresh()
            assert index.verify_rows(files=None).wrong == ()
            assert index.refresh().files == 0

    def test_commands_change_the_same_rows(
        self, spark: Any, make_table: Callable[[], Driver]
    ) -> None:
        """Changes made with skipping on leave the table as those made with it off."""
        left = []
        for switch in (ls.disable, ls.enable):
            table = make_table()
            table.create(rows_of(spark, 0))
            table.append(rows_of(spark))
            ls.create_index(table.name, ["l"], spark=spark)
            switch(spark)
            table.delete("l = 4726 OR l IS NULL")
            table.update("i = -1", "l BETWEEN 100 AND 9000")
            table.delete("l IN (9452, 14178) AND s IS NOT NULL")
            ls.disable(spark)
            rows = spark.sql(f"SELECT * FROM {table.relation()}")
            # those of the format itself tell which write a row is of
            rows_left = rows.select(*(name for name in rows.columns if not name.startswith("_")))
            left.append(sorted(map(repr, rows_left.collect())))

        assert left[0] == left[1]
