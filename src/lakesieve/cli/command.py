"""What all commands share: their common options, the session, and how they end."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakesieve.cli import startup
from lakesieve.errors import LakesieveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lakesieve.cli.session import Session
    from lakesieve.report import Output

_PANEL = "Session and output"
_AS_THEY_ARE = (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError)
"""Exceptions that end a command in another way than a line on stderr and status 1."""

EVERYWHERE: dict[str, tuple[Any, Any]] = {
    "json": (
        Annotated[
            bool,
            typer.Option("--json", help="Write the result as JSON.", rich_help_panel=_PANEL),
        ],
        False,
    ),
    "spark_conf": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--spark-conf",
                metavar="K=V",
                help="A Spark setting; may be given several times.",
                rich_help_panel=_PANEL,
            ),
        ],
        None,
    ),
    "debug": (
        Annotated[
            bool,
            typer.Option(
                "--debug",
                help="Show Spark's own messages, and the traceback of an error.",
                rich_help_panel=_PANEL,
            ),
        ],
        False,
    ),
}
"""Options of every command: name to annotation and default."""

WITHOUT_SESSION = {name: option for name, option in EVERYWHERE.items() if name != "spark_conf"}
"""Options of the commands that start no session."""

ON_TABLES: dict[str, tuple[Any, Any]] = {
    "warehouse": (
        Annotated[
            str,
            typer.Option(
                metavar="DIR",
                help="Directory of the embedded Iceberg catalog `lake`.",
                rich_help_panel=_PANEL,
            ),
        ],
        "warehouse",
    ),
    "catalog": (
        Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="A catalog of PyIceberg's configuration, for Spark, too.",
                rich_help_panel=_PANEL,
            ),
        ],
        None,
    ),
    "timezone": (
        Annotated[
            str | None,
            typer.Option(
                metavar="ZONE",
                help="Of timestamps that are written without one; by default UTC, or Spark's.",
                rich_help_panel=_PANEL,
            ),
        ],
        None,
    ),
    "location": (
        Annotated[
            str | None,
            typer.Option(
                metavar="URI",
                help="Where the table's indexes are, if not in the table's own folder.",
                rich_help_panel=_PANEL,
            ),
        ],
        None,
    ),
    "formats": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--format",
                metavar="NAME",
                help="Set up `delta` or (Spark 3.5) `hudi` for tables of a catalog; "
                "the names `delta:PATH` and `hudi:PATH` do so by themselves.",
                rich_help_panel=_PANEL,
            ),
        ],
        None,
    ),
    **EVERYWHERE,
}
"""Options of the commands that work on a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one command."""

    output: Output  # where it says what it does; its result is returned, not written
    spark_conf: Mapping[str, str]  # further Spark settings
    debug: bool  # hide nothing
    warehouse: str = "warehouse"  # directory of the embedded catalog
    catalog: str | None = None  # name of a catalog in PyIceberg's configuration
    timezone: str | None = None  # the zone of timestamps that are written without one
    location: str | None = None  # where the table's indexes are, if not in its own folder
    formats: Sequence[str] | None = None  # table formats to set up besides Iceberg
    # the text of the command's own arguments, names of tables among them
    arguments: Sequence[str] = ()

    def session(self, warehouse: str | None = None, tables: Iterable[str] = ()) -> Session:
        """Start Spark with the formats of ``--format`` and those that the names of tables imply."""
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
            warehouse or self.warehouse,
            tuple(formats),
            conf | dict(self.spark_conf),
            debug=self.debug,
        )

    def reach(self, table: str) -> dict[str, Any]:
        """How a table is reached by what only looks things up: without Spark where that is enough.

        Returns:
            Arguments of such functions as ``ls.list_indexes``.
        """
        from lakesieve.tables.opening import can_open

        if self.spark_conf or self.formats or not can_open(table, catalog=self.catalog):
            return {"spark": self.session(), "location": self.location}
        startup.leave_out_pandas()
        return {
            "location": self.location,
            "catalog": self.catalog,
            "warehouse": self.warehouse,
            "timezone": self.timezone or "UTC",
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: a function of a :class:`Run` and its own arguments that returns a result."""

    name: str
    function: Callable[..., object]  # what it does; the docstring is its help
    options: Mapping[str, tuple[Any, Any]]  # the common options that it takes

    def add_to(self, app: typer.Typer) -> None:
        """Register it; ``typer`` sees its own parameters, then the common options."""
        common = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default
            )
            for name, (annotation, default) in self.options.items()
        ]
        # what it returns is of modules that take their time to load
        self.function.__annotations__.pop("return", None)
        _, *parameters = inspect.signature(self.function, eval_str=True).parameters.values()

        def entry(**given: Any) -> None:
            shared = {name: given.pop(name) for name in self.options}
            self._run(shared, given)

        entry.__name__ = self.name
        entry.__doc__ = self.function.__doc__
        entry.__signature__ = inspect.Signature([*parameters, *common])  # type: ignore[attr-defined]
        entry.__annotations__ = {p.name: p.annotation for p in (*parameters, *common)}
        app.command(self.name)(entry)

    def _run(self, shared: dict[str, Any], given: dict[str, Any]) -> None:
        from lakesieve.report import Output

        output = Output(json=shared.pop("json"))
        conf = _settings(shared.pop("spark_conf", None) or [])
        run = Run(output=output, spark_conf=conf, arguments=_texts(given.values()), **shared)
        try:
            result = self.function(run, **given)
            # None: it has written what there was to write
            if result is not None:
                output.result(result)
            results = result if isinstance(result, list) else [result]
            if not all(getattr(one, "holds", True) for one in results):
                raise typer.Exit(1)
        except LakesieveError as error:
            if run.debug:
                raise
            output.error(str(error))
            raise typer.Exit(1) from None
        except Exception as error:
            if run.debug or isinstance(error, _AS_THEY_ARE):
                raise
            first = str(error).strip().partition("\n")[0]
            output.error(f"{type(error).__name__}: {first} (--debug shows the traceback)")
            raise typer.Exit(1) from None


def command(
    name: str, options: Mapping[str, tuple[Any, Any]]
) -> Callable[[Callable[..., object]], Command]:
    """Make a command of a function ``(run, own arguments...) -> result``."""
    return lambda function: Command(name=name, function=function, options=options)


def _texts(given: Iterable[Any]) -> list[str]:
    """The arguments that are text, those in lists among them."""
    lists = (each if isinstance(each, list | tuple) else [each] for each in given)
    return [text for each in lists for text in each if isinstance(text, str)]


def _settings(given: list[str]) -> dict[str, str]:
    """Split ``K=V`` texts."""
    settings = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key.strip() or not equals:
            raise typer.BadParameter(f"{text!r} is not K=V", param_hint="--spark-conf")
        settings[key.strip()] = value
    return settings
