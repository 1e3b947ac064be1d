"""Tables as other people make them: a drawn story of one table, and its checks."""

from __future__ import annotations

import functools
import random
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from tests.kit.reports import internal_errors
from tests.spark.foreign.values import (
    Field,
    arrow_rows,
    draw_fields,
    draw_predicate,
    literal,
    write,
)

import lakesieve as ls
from lakesieve.errors import LakesieveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Route", "Story", "Tally"]

PREDICATES = 6
ROUTES = 2
FOUND = 2
INDEXES = 2
CASE = "spark.sql.caseSensitive"
ZONE = "spark.sql.session.timeZone"
ZONES = ("America/New_York", "UTC", "Asia/Kolkata")


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a run of stories came to."""

    cases: int = 0
    indexes: int = 0
    routes: int = 0
    unreadable: int = 0
    skipping: int = 0

    def add(self, other: Tally) -> None:
        """Count another run too."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A way to the rows of a table.

    Args:
        label: What the user writes.
        frame: The rows in a session.
        name: The table that lakesieve finds the same rows' files in.
    """

    label: str
    frame: Callable[[SparkSession], DataFrame]
    name: str | None = None


class Story:
    """One table, made and changed by drawn steps, and read in drawn ways.

    Args:
        sessions: The sessions that take part.
        folder: A new folder of its own.
        seed: Draws everything.
    """

    format: ClassVar[str]
    encodes_paths: ClassVar[bool] = True
    """Whether a row tells its file's path as a URL."""
    own_skipping: ClassVar[str | None] = None
    """Setting of the format's own skipping, where that loses rows by itself."""

    def __init__(self, sessions: Sequence[SparkSession], folder: Path, seed: int) -> None:
        self.sessions = sessions
        self.spark = sessions[0]
        self.folder = folder
        self.drawn = random.Random(f"{self.format} {seed}")
        self.table = f"{self.format}_{seed}"
        self.fields: list[Field] = []
        self.log: list[str] = [f"{type(self).__name__} seed {seed}"]
        self.indexes: list[tuple[str, str]] = []
        self.indexed: list[Field] = []
        self.tally = Tally(cases=1)
        self._clock = time.time() - 100_000
        self._rows = 0

    # what a format supplies

    def make(self) -> None:
        """Make the table with a few files."""
        raise NotImplementedError

    def steps(self) -> Sequence[Callable[[], None]]:
        """What may happen to the table now."""
        raise NotImplementedError

    def routes(self) -> Sequence[Route]:
        """The ways to its rows now."""
        raise NotImplementedError

    def names(self) -> Sequence[str]:
        """By which lakesieve may know it."""
        raise NotImplementedError

    def forget(self) -> None:
        """Drop what catalogs have of it."""

    # the story

    def run(self) -> Tally:
        """Make the table, change it before and after indexes are built, and read it each time."""
        settings = {at: self.spark.conf.get(at) for at in (CASE, ZONE)}
        try:
            self.make()
            self.step(self.drawn.choice((1, 1, 2)))
            self.build()
            if self.drawn.random() < 0.3:
                self.check(1)
            self.step(self.drawn.choice((0, 1, 2, 2)))
            self.check(ROUTES)
            if self.drawn.random() < 0.4:
                self.refresh()
                self.step(self.drawn.choice((0, 1)))
                self.check(ROUTES)
        except Exception as error:
            error.add_note("\n  ".join(self.log))
            raise
        finally:
            for session in self.sessions:
                ls.disable(session)
                for name, value in settings.items():
                    session.conf.set(name, str(value))
            self.forget()
        return self.tally

    def sql(self, text: str) -> DataFrame:
        """Run a statement and tell of it."""
        self.log.append(text)
        return self.spark.sql(text)

    def any_session(self) -> SparkSession:
        """One of the sessions."""
        at = self.drawn.randrange(len(self.sessions))
        self.log.append(f"in session {at}:")
        return self.sessions[at]

    def step(self, count: int) -> None:
        """Change the table, or a session, a few times."""
        for _ in range(count):
            if self.drawn.random() < 0.1:
                step = self.drawn.choice((self._set_case, self._set_zone))
            else:
                step = self.drawn.choice(self.steps())
            self.log.append(f"-- {step.__name__}")
            with self.unless_refused():
                step()

    @contextmanager
    def unless_refused(self) -> Iterator[None]:
        """Ignore a step that Spark refuses."""
        try:
            yield
        except (PySparkException, Py4JJavaError) as error:
            self.log.append(f"   refused: {str(error).splitlines()[0][:200]}")

    def _set_case(self) -> None:
        session, value = self.any_session(), self.drawn.choice(("true", "false"))
        self.log.append(f"SET {CASE}={value}")
        session.conf.set(CASE, value)

    def _set_zone(self) -> None:
        session, value = self.any_session(), self.drawn.choice(ZONES)
        self.log.append(f"SET {ZONE}={value}")
        session.conf.set(ZONE, value)

    def build(self) -> None:
        """Index drawn columns through drawn names."""
        # columns whose values are not in the files come first
        odd = [at for at in self.fields if at.extra] or self.fields
        chosen = self.drawn.sample(odd, min(len(odd), 1))
        chosen += self.drawn.sample(self.fields, len(self.fields))
        for at in {at.key: at for at in chosen}.values():
            if len(self.indexes) == INDEXES:
                return
            name, session = self.drawn.choice(self.names()), self.any_session()
            index = f"i{len(self.indexes)}"
            self.log.append(f"create_index({name!r}, [{at.key!r}], name={index!r})")
            try:
                ls.create_index(name, [at.key], spark=session, name=index)
            except LakesieveError as error:
                self.log.append(f"   refused: {error}")
                continue
            self.indexes.append((name, index))
            self.indexed.append(at)
            self.tally.indexes += 1

    def refresh(self) -> None:
        """Bring one of the indexes up to date."""
        if not self.indexes:
            return
        name, index = self.drawn.choice(self.indexes)
        self.log.append(f"open_index({name!r}, {index!r}).refresh()")
        try:
            ls.open_index(name, index, spark=self.any_session()).refresh()
        except LakesieveError as error:
            self.log.append(f"   refused: {error}")

    # what must hold

    def check(self, count: int) -> None:
        """Read in drawn ways with skipping off and on, and find the files of the rows."""
        routes = list(self.routes())
        for route in self.drawn.sample(routes, min(count, len(routes))):
            session = self.any_session()
            self.log.append(f"read {route.label}")
            self.tally.routes += 1
            if not self._read_alike(session, route):
                self.tally.unreadable += 1

    def _read_alike(self, session: SparkSession, route: Route) -> bool:
        """Check that a route gives equal rows with skipping on; return false if unreadable."""
        ls.disable(session)
        try:
            frame = route.frame(session)
            spelled = {name.lower(): name for name in frame.columns}
            known = [at for at in self.fields if at.name.lower() in spelled]
            if not known:
                return False
            names = {at.name: spelled[at.name.lower()] for at in known}
            indexed = [at for at in known if at in self.indexed or at.extra] or known
            conditions = [
                draw_predicate(self.drawn, known if n % 3 == 2 else indexed, names)
                for n in range(PREDICATES)
            ]
            # what is in no file, and so nowhere else than in the mind of a catalog
            conditions += [
                f"{names[at.name]} <=> {literal(value)}"
                for at in known
                for value in self.drawn.sample([None, *at.extra], min(2, len(at.extra)))
            ]
            rows = _answered(frame, conditions, F.input_file_name()).collect()
            truth = self._truth(session, route, conditions)
        except (PySparkException, Py4JJavaError) as error:
            self.log.append(f"   unreadable: {str(error).splitlines()[0][:200]}")
            return False
        ls.enable(session)
        actual = _answered(route.frame(session), conditions).collect()
        pruned = ls.last_pruning(session)
        ls.disable(session)

        said = "; ".join(conditions)
        expected = sorted(repr(tuple(row)[:-1]) for row in rows)
        found = sorted(repr(tuple(row)) for row in actual)
        lost, more = _beyond(expected, found), _beyond(found, expected if truth is None else truth)
        assert (lost, more) == ([], []), f"{said}: lost {lost[:5]}, more {more[:5]}"
        assert internal_errors(pruned) == [], said
        if sum(p.files_read for p in pruned) < sum(p.files_total for p in pruned):
            self.tally.skipping += 1
        if route.name is not None:
            self._found(session, route.name, conditions, rows)
        return True

    def _truth(
        self, session: SparkSession, route: Route, conditions: Sequence[str]
    ) -> list[str] | None:
        """The rows without the format's own skipping, which may lose some that ours leaves."""
        if self.own_skipping is None:
            return None
        session.conf.set(self.own_skipping, "false")
        try:
            rows = _answered(route.frame(session), conditions).collect()
        finally:
            session.conf.unset(self.own_skipping)
        return sorted(repr(tuple(row)) for row in rows)

    def _found(
        self, session: SparkSession, name: str, conditions: Sequence[str], rows: Sequence[Any]
    ) -> None:
        for at, condition in enumerate(conditions[:FOUND]):
            files = {self._plain(row[-1]) for row in rows if row[0] == at}
            found = {_local(path) for path in ls.find_files(name, condition, spark=session).paths}
            assert files <= found, (name, condition)

    def _plain(self, file: str) -> str:
        return _local(unquote(file) if self.encodes_paths else file)

    # for the formats

    def draw_columns(self, *, nested: bool = True) -> None:
        """Draw the columns that the table begins with."""
        self.fields = draw_fields(self.drawn, ("a", "b", "Cc"), nested=nested)

    def rows(self, fields: Sequence[Field] | None = None) -> pa.Table:
        """Rows of a new file."""
        count = self.drawn.randrange(3, 10)
        self._rows += count
        chosen = self.fields if fields is None else fields
        return arrow_rows(self.drawn, chosen, self._rows - count, count)

    def write(self, path: Path, rows: pa.Table) -> None:
        """Write a file by hand, a second later than the one before."""
        self._clock += 1
        self.log.append(f"write {path.relative_to(self.folder)}: {', '.join(rows.column_names)}")
        write(path, rows, self._clock)

    def staged(self) -> str:
        """New rows in a file elsewhere, for an INSERT."""
        path = self.folder / "staged" / f"{self._rows}.parquet"
        self.write(path, self.rows())
        listed = ", ".join(["id", *(at.name for at in self.fields)])
        return f"SELECT {listed} FROM parquet.`{path}`"


def _answered(frame: DataFrame, conditions: Sequence[str], *more: Any) -> DataFrame:
    answers = (frame.where(at).select(F.lit(n), "*", *more) for n, at in enumerate(conditions))
    return functools.reduce(lambda left, right: left.unionAll(right), answers)


def _beyond(paths: Sequence[str], others: Sequence[str]) -> list[str]:
    """Those of some that others have not, as often as they are there more."""
    return sorted((Counter(paths) - Counter(others)).elements())


def _local(path: str) -> str:
    return "/" + path.removeprefix("file:").lstrip("/")
