"""Writes docs/cli.md, the page of the command line, from the commands themselves."""

from __future__ import annotations

import sys
from dataclasses import fields
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import typer.main

from lakesieve.cli import build_app
from lakesieve.cli.app import chapters
from lakesieve.cli.command import ON_TABLES, Command, Run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
_HEAD = """# Command line

<!-- `python tools/cli_reference.py` writes this page from the commands; a test compares them. -->

Commands are in the order in which you meet them: look, build, keep up, change rows by key, remove
row-level deletes, serve. `lakesieve --help` and `lakesieve COMMAND --help` show the same texts.

- **Output.** Results go to stdout, progress and messages to stderr. `--json` writes the result as
  JSON, with the fields of the [Python results](api.md).
- **Exit status.** 0: the command is done. 1: it failed, or a check did not hold; one line on
  stderr says what happened and what to do next. 2: the command was used wrongly.
- **Names of tables.** `lake.tpch.lineitem` is a table of the embedded catalog, `glue.shop.orders`
  a table of the catalog `glue`. `iceberg:PATH`, `delta:PATH`, `hudi:PATH` and `parquet:PATH` name
  a table by its folder.
- **Spark.** Commands that read no rows need no Spark, and answer at once. These commands start
  Spark: `demo`, `advise`, `create`, `curve`, `refresh`, `maintain`, `clone-table`, `upsert`,
  `delete`, `insert-new`, `duplicates`, `check-unique`, `check-references`, `status` and
  `deletes`, and `verify` with `--files` or `--all`. The other commands start it only for tables
  that a session alone knows: those of other catalogs, and with `--spark-conf` or `--format`.
- **Completion.** `lakesieve --install-completion` teaches your shell commands, options, and the
  names of tables and indexes. `lakesieve --show-completion` prints what it would write.
  `lakesieve --version` prints the version.

## Common options

Most commands take these options; each command lists the names of those that it takes.
[Configuration](configuration.md) has the variables and files that change what they mean.


"""
_COMMON_EXAMPLES = """
```sh
lakesieve list lake.tpch.lineitem --warehouse warehouse --format json
lakesieve refresh lake.tpch.lineitem --spark-conf spark.sql.shuffle.partitions=8 --debug --dry-run
```

<!-- not run: the catalog and the places are examples -->
```sh
lakesieve list shop.orders --catalog glue --location s3://bucket/indexes
lakesieve files delta_db.orders "time > '2026-01-31 12:00'" --format delta --timezone Europe/Vienna
```
"""
_NOT_RUN = {
    "tables --catalog": "the catalog is an example",
    "| lakesieve": "tests/cli gives the command its standard input",
    "--watch": "it goes on until it is stopped",
    "lakesieve serve": "it serves until it is stopped; tests/serve starts it",
    "lakesieve demo": "make demo runs it, with its data of a gigabyte",
    "lakesieve rollback": "only an older index has this commit; tests/spark/test_lifecycle.py",
    "lakesieve clone ": "it takes a registered copy of the table; tests/spark/test_lifecycle.py",
    "lakesieve spark-jar": "tests/spark/extension writes the jar and uses it",
}
"""Parts of the command lines that the test of the page does not run, each with the reason."""


def reference() -> str:
    """Return the page."""
    known = dict(_commands(typer.main.get_command(build_app())))
    common = {one.name: one for one in known["create"].params if one.name in ON_TABLES}
    parts = [_HEAD, _table([common[one.name] for one in fields(Run) if one.name in common])]
    parts.append(_COMMON_EXAMPLES)
    for title, commands in chapters().items():
        parts.append(f"\n## {title}\n")
        parts += [_section(one, known[one.name]) for one in commands]
    return "".join(parts)


def _commands(app: Any) -> Iterator[tuple[str, Any]]:
    """Yield the commands by their names, those of a group by two words."""
    for name, one in app.commands.items():
        for inner, command in getattr(one, "commands", {"": one}).items():
            yield f"{name} {inner}".strip(), command


def _section(described: Command, command: Any) -> str:
    own = [one for one in command.params if one.name not in described.options]
    shared = [one.opts[0] for one in command.params if one.name in described.options]
    paragraphs = command.help.split("\n\n")
    text = "\n\n".join(fill(each, 100, break_on_hyphens=False) for each in paragraphs)
    if described.more:
        page = described.more.partition("#")[0].removesuffix(".md")
        text += f"\n\nMore: [{page}]({described.more})."
    parts = [f"\n### lakesieve {described.name}\n\n{text}\n", *_examples(described.lines)]
    parameters = [one for one in own if one.name != "help" and not one.hidden]
    if parameters:
        parts.append(f"\n{_table(parameters)}")
    parts.append(f"\n[Common options](#common-options): {', '.join(f'`{n}`' for n in shared)}\n")
    return "".join(parts)


def _examples(lines: Sequence[str]) -> Iterator[str]:
    """Yield the blocks of a command's examples: those that a test runs, and each other reason."""
    for why, some in groupby(sorted(lines, key=_why), _why):
        yield f"\n<!-- not run: {why} -->\n" if why else "\n"
        yield "\n".join(["```sh", *some, "```", ""])


def _why(line: str) -> str:
    """Return why the test of the page does not run a command line; empty if it does."""
    return next((why for part, why in _NOT_RUN.items() if part in line), "")


def _table(parameters: Sequence[Any]) -> str:
    lines = ["| | default | |", "| --- | --- | --- |"]
    lines += [f"| `{_name(p)}` | {_default(p)} | {_text(p)} |" for p in parameters]
    return "\n".join([*lines, ""])


def _name(parameter: Any) -> str:
    value = parameter.metavar or parameter.type.name.upper()
    if parameter.param_type_name == "argument":
        return str(value)
    names = ", ".join(parameter.opts)
    return names if parameter.is_flag else f"{names} {value}".replace("|", "\\|")


def _default(parameter: Any) -> str:
    default = parameter.default
    if default is None or default is False or callable(default):
        return ""
    return f"`{default:.4g}`" if isinstance(default, float) else f"`{default}`"


def _text(parameter: Any) -> str:
    text = " ".join((parameter.help or "").split()).replace("|", "\\|")
    variable = getattr(parameter, "envvar", None)
    return f"{text} Variable: `{variable}`." if variable else text


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else PAGE).write_text(reference(), encoding="utf-8")
