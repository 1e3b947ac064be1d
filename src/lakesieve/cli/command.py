"""What all commands share: their common options, the session, and how they end."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from lakesieve.cli.options import option
from lakesieve.defaults import WAREHOUSE
from lakesieve.errors import LakesieveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lakesieve.cli.session import Session
    from lakesieve.report import Output

_PANEL = {"rich_help_panel": "Session and output"}
_AS_THEY_ARE = (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError)
"""Exceptions that end a command in another way than a line on stderr and status 1."""

WITHOUT_SESSION = ("json", "debug")
"""Common options of the commands that start no session."""

WITHOUT_TABLE = ("json", "spark_conf", "debug")
"""Common options of the commands that work on no table of the user's."""

WITHOUT_LOCATION = ("warehouse", "catalog", "timezone", "formats", *WITHOUT_TABLE)
"""Common options of the commands whose indexes, if any, are found without being told."""

ON_TABLES = ("warehouse", "catalog", "timezone", "location", "formats", *WITHOUT_TABLE)
"""Common options of the commands that work on a table."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of one command, with the options that commands have in common."""

    warehouse: Annotated[
        str, option("Directory of the embedded Iceberg catalog `lake`.", metavar="DIR", **_PANEL)
    ] = WAREHOUSE
    catalog: Annotated[
        str | None,
        option("A catalog of PyIceberg's configuration, for Spark, too.", metavar="NAME", **_PANEL),
    ] = None
    timezone: Annotated[
        str | None,
        option(
            "Of timestamps that are written without one; by default UTC, or Spark's.",
            metavar="ZONE",
            **_PANEL,
        ),
    ] = None
    location: Annotated[
        str | None,
        option(
            "Where the table's indexes are, if not in the table's own folder.",
            metavar="URI",
            **_PANEL,
        ),
    ] = None
    formats: Annotated[
        list[str] | None,
        option(
            "Set up `delta` or (Spark 3.5) `hudi` for tables of a catalog; "
            "the names `delta:PATH` and `hudi:PATH` do so by themselves.",
            "--format",
            metavar="NAME",
            **_PANEL,
        ),
    ] = None
    json: Annotated[bool, option("Write the result as JSON.", "--json", **_PANEL)] = False
    spark_conf: Annotated[
        list[str] | None,
        option("A Spark setting; may be given several times.", metavar="K=V", **_PANEL),
    ] = None
    debug: Annotated[
        bool,
        option("Show Spark's own messages, and the traceback of an error.", "--debug", **_PANEL),
    ] = False
    # the texts of the command's own arguments, names of tables among them
    arguments: tuple[str, ...] = ()

    @cached_property
    def output(self) -> Output:
        """Where the command says what it does; its result is returned, not written."""
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

    def session(self, warehouse: str | None = None, tables: Iterable[str] = ()) -> Session:
        """Start Spark with the formats of ``--format`` and those that the names of tables imply.

        ``tables`` are names of tables besides those among the command's arguments.
        """
        # neither is needed to show help, nor by what only looks things up
        from lakesieve.cli.session import start_session
        from lakesieve.tables.iceberg.spark_settings import spark_settings
        from lakesieve.tables.names import formats_named

        implied = formats_named([*self.arguments, *tables])
        formats = dict.fromkeys(["iceberg", *(self.formats or ()), *implied])
        conf = {} if self.catalog is None else dict(spark_settings(self.catalog))
        if self.timezone is not None:
            conf["spark.sql.session.timeZone"] = self.timezone
        self.output.say("Starting Spark (the first start downloads Iceberg's jar) ...")
        return start_session(
            warehouse or self.warehouse, tuple(formats), conf | self.settings, debug=self.debug
        )

    def reach(self, table: str) -> dict[str, Any]:
        """Return the arguments by which a look-up reaches a table: without Spark where it can."""
        from lakesieve.cli.session import leave_out_pandas
        from lakesieve.tables.opening import can_open

        if self.settings or self.formats or not can_open(table, catalog=self.catalog):
            return {"spark": self.session(), "location": self.location}
        leave_out_pandas()
        return {
            "location": self.location,
            "catalog": self.catalog,
            "warehouse": self.warehouse,
            "timezone": self.timezone or "UTC",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: a function of a :class:`Run` and its own arguments that returns a result."""

    name: str  # with the name of its group in front of it, if it is in one
    function: Callable[..., object]  # its docstring is the command's help
    options: Sequence[str]  # the common options that it takes

    def add_to(self, apps: Mapping[str, typer.Typer], title: str) -> None:
        """Register it; ``typer`` sees its own parameters, then the common options."""
        hints = get_type_hints(Run, include_extras=True)
        keyword = inspect.Parameter.KEYWORD_ONLY
        common = [
            inspect.Parameter(one.name, keyword, annotation=hints[one.name], default=one.default)
            for one in fields(Run)
            if one.name in self.options and one.default is not MISSING
        ]
        # what it returns is of modules that take their time to load
        self.function.__annotations__.pop("return", None)
        _, *parameters = inspect.signature(self.function, eval_str=True).parameters.values()

        def entry(**given: Any) -> None:
            shared = {name: given.pop(name) for name in self.options}
            self._run(Run(arguments=tuple(_texts(given.values())), **shared), given)

        group, _, name = self.name.rpartition(" ")
        entry.__name__ = name
        entry.__doc__ = self.function.__doc__
        entry.__signature__ = inspect.Signature([*parameters, *common])  # type: ignore[attr-defined]
        entry.__annotations__ = {p.name: p.annotation for p in (*parameters, *common)}
        apps[group].command(name, rich_help_panel=None if group else title)(entry)

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
    name: str, options: Sequence[str] = ON_TABLES
) -> Callable[[Callable[..., object]], Command]:
    """Make a command of a function ``(run, own arguments...) -> result``."""
    return lambda function: Command(name=name, function=function, options=options)


def _texts(given: Iterable[Any]) -> list[str]:
    """Return the arguments that are text, those in lists among them."""
    lists = (each if isinstance(each, list | tuple) else [each] for each in given)
    return [text for each in lists for text in each if isinstance(text, str)]
