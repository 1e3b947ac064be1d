"""What all commands share: their common options, the session, and how they end."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from lakesieve.cli.options import option
from lakesieve.defaults import WAREHOUSE
from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from dataclasses import Field

    from lakesieve.cli.session import Session
    from lakesieve.index.access import TableAccess
    from lakesieve.report import Output
    from lakesieve.tables import TableReader

_PANEL = {"rich_help_panel": "Common options"}
_AS_THEY_ARE = (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError)
"""Exceptions that end a command in another way than a line on stderr and status 1."""

_FOR_GOOD = (ErrorKind.TABLE_NOT_FOUND, ErrorKind.NOT_A_TABLE)
"""Kinds of errors that a Spark session would end in as well."""

WITHOUT_SESSION = ("json", "debug")
"""Common options of the commands that start no session."""

WITHOUT_TABLE = ("json", "spark_conf", "debug")
"""Common options of the commands that work on no table of the user's."""

WITHOUT_SPARK = ("warehouse", "catalog", "location", *WITHOUT_SESSION)
"""Common options of the commands that never start Spark."""

WITHOUT_LOCATION = ("warehouse", "catalog", "timezone", "formats", *WITHOUT_TABLE)
"""Common options of the commands whose indexes, if any, are found without being told."""

ON_TABLES = ("warehouse", "catalog", "timezone", "location", "formats", *WITHOUT_TABLE)
"""Common options of the commands that work on a table."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of one command, with the options that commands have in common."""

    warehouse: Annotated[
        str,
        option(
            "Folder of the embedded Iceberg catalog `lake`.",
            metavar="DIR",
            envvar="LAKESIEVE_WAREHOUSE",
            **_PANEL,
        ),
    ] = WAREHOUSE
    catalog: Annotated[
        str | None,
        option(
            "Use this catalog of PyIceberg's configuration, also in Spark.",
            metavar="NAME",
            envvar="LAKESIEVE_CATALOG",
            **_PANEL,
        ),
    ] = None
    timezone: Annotated[
        str | None,
        option(
            "Zone of timestamps written without one: by default UTC, or the session's zone.",
            metavar="ZONE",
            **_PANEL,
        ),
    ] = None
    location: Annotated[
        str | None,
        option(
            "Folder of the table's indexes, if it is not the table's own folder.",
            metavar="URI",
            **_PANEL,
        ),
    ] = None
    formats: Annotated[
        list[str] | None,
        option(
            "Set up Spark's catalog for `delta` or `hudi` tables; `json` means --json.",
            "--format",
            metavar="NAME",
            **_PANEL,
        ),
    ] = None
    json: Annotated[bool, option("Write the result as JSON.", "--json", **_PANEL)] = False
    spark_conf: Annotated[
        list[str] | None,
        option("Pass a setting to Spark; repeat the option for more.", metavar="K=V", **_PANEL),
    ] = None
    debug: Annotated[
        bool,
        option("Show Spark's own messages, and the traceback of an error.", "--debug", **_PANEL),
    ] = False
    # the texts of the command's own arguments, names of tables among them
    arguments: tuple[str, ...] = ()

    @cached_property
    def output(self) -> Output:
        """The output for progress and hints. A command returns its result and does not write it."""
        from lakesieve.report import Output

        return Output(json=self.json)

    @cached_property
    def settings(self) -> dict[str, str]:
        """The Spark settings that were given as ``K=V``."""
        settings = {}
        for text in self.spark_conf or ():
            key, equals, value = text.partition("=")
            if not key.strip() or not equals:
                raise typer.BadParameter(f"{text!r} is not K=V", param_hint="--spark-conf")
            settings[key.strip()] = value
        return settings

    def session(
        self,
        *tables: str,
        check: Callable[[TableReader], object] = lambda _: None,
        formats_of: Iterable[str] = (),
        warehouse: str | None = None,
    ) -> Session:
        """Start Spark with the formats of ``--format`` and those that the names of tables imply.

        What would fail afterwards is found first: a machine without Java, a table that is not
        there, whatever ``check`` refuses about the first table. ``formats_of`` are names of
        tables that are not looked up.
        """
        # neither is needed to show help, nor by what only looks things up
        from lakesieve.cli.session import start_session
        from lakesieve.spark.local import check_machine
        from lakesieve.tables.iceberg.spark_settings import spark_settings
        from lakesieve.tables.names import formats_named

        implied = formats_named([*self.arguments, *tables, *formats_of])
        formats = tuple(dict.fromkeys(["iceberg", *(self.formats or ()), *implied]))
        conf = {} if self.catalog is None else dict(spark_settings(self.catalog))
        if self.timezone is not None:
            conf["spark.sql.session.timeZone"] = self.timezone
        check_machine(formats)
        for number, table in enumerate(tables):
            self._check(table, check if number == 0 else lambda _: None)
        self.output.say("Starting Spark (the first start downloads Iceberg's jar) ...")
        return start_session(
            warehouse or self.warehouse, formats, conf | self.settings, debug=self.debug
        )

    def _check(self, table: str, check: Callable[[TableReader], object]) -> None:
        """Raise what a session would raise about a table, if no session is needed to know it."""
        from lakesieve.tables.opening import open_table

        if not self._is_reachable(table):
            if self.catalog is None and not (self.settings or self.formats):
                _suggest(table, self.warehouse)
            return
        try:
            reader = open_table(table, catalog=self.catalog, warehouse=self.warehouse)
            reader.columns(reader.version())
        except LakesieveError as error:
            if error.kind in _FOR_GOOD:
                raise
            # a session may read what this process cannot
            return
        check(reader)

    def _is_reachable(self, table: str) -> bool:
        """Return whether a table can be looked up without a session."""
        from lakesieve.tables.opening import can_open

        return not (self.settings or self.formats) and can_open(table, catalog=self.catalog)

    def reach(self, table: str) -> dict[str, Any]:
        """Return the arguments by which a look-up reaches a table: without Spark where it can."""
        from lakesieve.cli.session import leave_out_pandas

        if not self._is_reachable(table):
            return {"spark": self.session(table), "location": self.location}
        leave_out_pandas()
        if self.timezone is not None:
            from lakesieve.predicate.literals import zone_of

            zone_of(self.timezone)
        return {"location": self.location, **self.catalogs()}

    def catalogs(self) -> dict[str, Any]:
        """Return the arguments by which look-ups without a session find tables."""
        return {
            "catalog": self.catalog,
            "warehouse": self.warehouse,
            "timezone": self.timezone or "UTC",
        }

    def access(self, table: str) -> TableAccess:
        """Return how a table and its indexes are reached: without Spark where it can."""
        from lakesieve.index.access import without_engine

        reach = self.reach(table)
        if "spark" in reach:
            from lakesieve.spark.session.access import access_by

            return access_by(reach["spark"])
        return without_engine(**self.catalogs())


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: a function of a :class:`Run` and its own arguments that returns a result."""

    name: str  # with the name of its group in front of it, if it is in one
    function: Callable[..., object]  # its docstring is the command's help
    options: Sequence[str]  # the common options that it takes
    examples: Sequence[str]  # command lines; the program's name is added where they lack it
    more: str  # the page of the documentation that tells more, if there is one

    @property
    def lines(self) -> list[str]:
        """The examples as they are typed."""
        return [one if "lakesieve " in one else f"lakesieve {one}" for one in self.examples]

    def add_to(self, apps: Mapping[str, typer.Typer], title: str) -> None:
        """Register the command. Its own parameters come first, then the common options."""
        hints = get_type_hints(Run, include_extras=True)
        common = [
            _parameter(one, hints)
            for one in fields(Run)
            if one.name in self.options and one.default is not MISSING
        ]
        if "formats" not in self.options:
            common.append(_JSON_ALONE)
        # what it returns is of modules that take their time to load
        self.function.__annotations__.pop("return", None)
        _, *own = inspect.signature(self.function, eval_str=True).parameters.values()
        grouped: dict[str, Any] = {
            one.name: one.annotation for one in own if is_dataclass(one.annotation)
        }
        parameters = [each for one in own for each in _expanded(one)]

        def entry(context: typer.Context, **given: Any) -> None:
            _settle(context, given)
            if "formats" not in self.options and given.pop("formats"):
                raise typer.BadParameter("only json is a format here", param_hint="--format")
            shared = {name: given.pop(name) for name in self.options}
            texts = tuple(_texts(given.values()))
            for name, kind in grouped.items():
                mine = {one.name: given.pop(one.name) for one in fields(kind)}
                given[name] = kind(**mine)
            self._run(Run(arguments=texts, **shared), given)

        group, _, name = self.name.rpartition(" ")
        context = inspect.Parameter(
            "context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
        )
        entry.__name__ = name
        # paragraphs without their line breaks, for terminals of any width
        paragraphs = inspect.cleandoc(self.function.__doc__ or "").split("\n\n")
        entry.__doc__ = "\n\n".join(" ".join(each.split()) for each in paragraphs)
        entry.__signature__ = inspect.Signature([context, *parameters, *common])  # type: ignore[attr-defined]
        entry.__annotations__ = {p.name: p.annotation for p in (context, *parameters, *common)}
        epilog = "\n".join(["Examples:", *(f"  {line}" for line in self.lines)])
        panel = None if group else title
        apps[group].command(name, rich_help_panel=panel, epilog=epilog)(entry)

    def _run(self, run: Run, given: dict[str, Any]) -> None:
        try:
            # a mistake among the settings ends the command before it begins
            _ = run.settings
            result = self.function(run, **given)
            # None: it has written what there was to write
            if result is not None:
                run.output.result(result)
            results = result if isinstance(result, list) else [result]
            if not all(getattr(one, "holds", True) for one in results):
                raise typer.Exit(1)
        except Exception as error:
            if run.debug or isinstance(error, _AS_THEY_ARE):
                raise
            if isinstance(error, LakesieveError):
                message = str(error)
            else:
                first = str(error).strip().partition("\n")[0]
                message = f"{type(error).__name__}: {first} (--debug shows the traceback)"
            run.output.error(message)
            raise typer.Exit(1) from None


def command(
    name: str,
    options: Sequence[str] = ON_TABLES,
    *,
    examples: Sequence[str],
    more: str = "",
) -> Callable[[Callable[..., object]], Command]:
    """Make a command of a function ``(run, own arguments...) -> result``."""
    return lambda function: Command(
        name=name, function=function, options=options, examples=examples, more=more
    )


def _suggest(table: str, warehouse: str) -> None:
    """Refuse a table name without a known catalog if a similar name is a table.

    Raises:
        InvalidInputError: A folder has this name, or a table name in the embedded catalog ends
            with it.
    """
    from lakesieve.tables.listing import table_names
    from lakesieve.tables.names import format_of

    likely = [name for name in table_names(warehouse=warehouse) if name.endswith(f".{table}")]
    if Path(table).is_dir():
        likely.append(f"{format_of(table)}:{table}")
    if likely:
        raise InvalidInputError(
            f"{table} is in no known catalog.",
            kind=ErrorKind.NOT_A_TABLE,
            hint=f"Did you mean {' or '.join(likely)}?",
        )


def _expanded(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return a parameter, or each option of a group of common options."""
    if not is_dataclass(parameter.annotation):
        return [parameter]
    hints = get_type_hints(parameter.annotation, include_extras=True)
    return [_parameter(one, hints) for one in fields(parameter.annotation)]


def _parameter(one: Field[Any], hints: Mapping[str, Any]) -> inspect.Parameter:
    default = inspect.Parameter.empty if one.default is MISSING else one.default
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(one.name, keyword, annotation=hints[one.name], default=default)


_JSON_ALONE = inspect.Parameter(
    "formats",
    inspect.Parameter.KEYWORD_ONLY,
    annotation=Annotated[list[str] | None, option("Only `json`.", "--format", hidden=True)],
    default=None,
)
"""``--format json`` of the commands that set up no format of tables."""


def _settle(context: typer.Context, given: dict[str, Any]) -> None:
    """Bring the options that belong together into line."""
    formats = given.get("formats")
    if formats and "json" in formats:
        # where other programs say --format json
        given |= {"json": True, "formats": [name for name in formats if name != "json"] or None}
    typed, variable = _sources(context, "warehouse", "catalog")
    if typed == "COMMANDLINE" and variable == "ENVIRONMENT":
        # what was typed wins over a variable that names another catalog
        given["catalog"] = None


def _sources(context: typer.Context, *names: str) -> list[str]:
    """Return where each option comes from: ``COMMANDLINE``, ``ENVIRONMENT``, ``DEFAULT``."""
    sources = map(context.get_parameter_source, names)
    return ["" if source is None else source.name for source in sources]


def _texts(given: Iterable[Any]) -> list[str]:
    """Return the arguments that are text, also if they are in lists."""
    lists = (each if isinstance(each, list | tuple) else [each] for each in given)
    return [text for each in lists for text in each if isinstance(text, str)]
