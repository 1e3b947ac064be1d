"""The examples in docstrings of public names, and a table on which they run."""

from __future__ import annotations

import doctest
import inspect
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from tests.engines.tables import index_of

import lakesieve as ls
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["FILES", "ROWS", "TABLE", "examples_of", "needs_spark", "run", "table_without_spark"]

TABLE, FILES, ROWS = "lake.shop.orders", 10, 10_000
_FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _public() -> Iterator[tuple[str, Any]]:
    """Yield what users can call or hold, by its full name."""
    for name in ls.__all__:
        known = getattr(ls, name)
        if not inspect.ismodule(known):
            yield f"ls.{name}", known
            yield from _methods(f"ls.{name}", known)
            continue
        for inner in known.__all__:
            held = getattr(known, inner)
            if inspect.ismodule(held):
                yield from ((f"ls.{name}.{inner}.{n}", getattr(held, n)) for n in held.__all__)
            else:
                yield f"ls.{name}.{inner}", held


def _methods(path: str, owner: Any) -> Iterator[tuple[str, Any]]:
    """Yield the public methods of a class, those of its public bases excepted."""
    public = [known for name in ls.__all__ if inspect.isclass(known := getattr(ls, name))]
    for base in inspect.getmro(owner) if inspect.isclass(owner) else ():
        if base is not owner and base in public:
            return
        if base.__module__.partition(".")[0] != "lakesieve":
            continue
        for name, method in vars(base).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                yield f"{path}.{name}", method


PUBLIC = dict(_public())


def examples_of(name: str) -> list[doctest.Example]:
    """Return the examples in the docstring of a public name."""
    return doctest.DocTestParser().get_examples(inspect.getdoc(PUBLIC[name]) or "")


def needs_spark(name: str) -> bool:
    """Return whether the examples use a session of Spark."""
    return any("spark" in example.source for example in examples_of(name))


def run(name: str, names: dict[str, Any]) -> str:
    """Run the examples of a public name, and return what they did not print as they say."""
    told: list[str] = []
    test = doctest.DocTest(examples_of(name), dict(names), name, None, None, None)
    doctest.DocTestRunner(optionflags=_FLAGS, verbose=False).run(test, out=told.append)
    return "".join(told)


def table_without_spark(folder: Path) -> None:
    """Write the table of the examples into a warehouse, with indexes on two of its columns."""
    place = folder / "warehouse" / "shop" / "orders"
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder / "warehouse"))
    catalog.create_namespace("shop")
    columns = [("id", pa.int64()), ("customer", pa.int64()), ("tenant", pa.int32())]
    table = catalog.create_table("shop.orders", pa.schema(columns), location=str(place))
    step = ROWS // FILES
    for start in range(0, ROWS, step):
        ids = range(start, start + step)
        values = [list(ids), [id_ * 7919 % 10007 for id_ in ids], [id_ % 3 for id_ in ids]]
        table.append(pa.table(values, schema=pa.schema(columns)))
    # as a catalog that is a folder has it
    newest = table.metadata_location.removeprefix("file://")
    shutil.copy(newest, place / "metadata" / "v1.metadata.json")
    (place / "metadata" / "version-hint.text").write_text("1")
    for column in ("customer", "id"):
        opened = open_table(TABLE, warehouse=str(folder / "warehouse"))
        index_of(opened, column, covers=lambda _: True)
