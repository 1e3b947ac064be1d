"""Exact secondary file-skipping indexes for the lakehouse tables you already have.

Examples:
    >>> import lakesieve as ls
    >>> lake = ls.connect(warehouse="warehouse")
    >>> lake.table("shop.orders").find_files("customer = 4711").total
    10

Importing this package loads no engine: each name is resolved at its first use. The public names,
and the modules that have them, are in ``__init__.pyi``.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import warnings
from typing import TYPE_CHECKING, Any

from lakesieve.printable import render_with
from lakesieve.version import __version__ as __version__

if TYPE_CHECKING:
    from lakesieve.printable import Renderer

_STUB = ast.parse(pkgutil.get_data(__name__, "__init__.pyi") or b"").body
_MODULES = {
    alias.name: node.module
    for node in _STUB
    if isinstance(node, ast.ImportFrom) and node.module
    for alias in node.names
}
_OLD_NAMES = {
    ast.unparse(node.targets[0]): ast.unparse(node.value)
    for node in _STUB
    if isinstance(node, ast.Assign)
}
__all__ = [name for name in _MODULES if name != "__version__"]


def _renderer() -> Renderer:
    # loads rich, which only results that are shown need
    from lakesieve.report import shown

    return shown


# the layers that make results stand below the one that renders them
render_with(_renderer)


def __getattr__(name: str) -> Any:
    if name in _OLD_NAMES:
        warnings.warn(f"{name} is now {_OLD_NAMES[name]}", DeprecationWarning, stacklevel=2)
        name = _OLD_NAMES[name]
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _MODULES[name] == __name__:
        return importlib.import_module(f"{__name__}.{name}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
