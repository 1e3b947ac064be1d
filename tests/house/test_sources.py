"""The house rules that a linter does not check."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakesieve.storage import HADOOP_PREFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
JAVA = sorted((ROOT / "jvm" / "src").rglob("*.java"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
LINES_OF_A_MODULE = 450
LINES_OF_A_FUNCTION = 60
DOCUMENTED = re.findall(
    r"^::: ([\w.]+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_of(path: Path) -> str:
    """The name by which a source file is imported."""
    names = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_modules_and_functions_are_short(path: Path) -> None:
    """A module fits into 450 lines and a function, without its examples, into 60."""
    text = path.read_text(encoding="utf-8")
    # a list: names repeat, those of methods for example
    lengths = [
        (node.name, node.end_lineno - node.lineno + 1 - _lines_of_examples(node))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno
    ]

    assert text.count("\n") <= LINES_OF_A_MODULE
    assert [(name, lines) for name, lines in lengths if lines > LINES_OF_A_FUNCTION] == []


def _lines_of_examples(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of the examples in a docstring, with their heading and the one above."""
    _, heading, examples = (ast.get_docstring(function) or "").partition("Examples:\n")
    return examples.count("\n") + 3 if heading else 0


@pytest.mark.parametrize("path", JAVA, ids=name_of)
def test_classes_and_methods_are_short(path: Path) -> None:
    """So do a Java file and a method."""
    lines = path.read_text(encoding="utf-8").splitlines()
    methods = [
        (line.strip(), _lines_of_block(lines[start:], margin))
        for start, line in enumerate(lines)
        if line.endswith("{") and len(margin := line[: len(line) - len(line.lstrip())]) in {2, 4}
    ]

    assert len(lines) <= LINES_OF_A_MODULE
    assert [(name, length) for name, length in methods if length > LINES_OF_A_FUNCTION] == []


def _lines_of_block(lines: list[str], margin: str) -> int:
    """Count the lines up to the end of the block that the first one begins."""
    # parameters of a record may be indented more than its end
    return next(
        (n for n, line in enumerate(lines, 1) if n > 1 and line.startswith(f"{margin}}}")), 0
    )


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_listed_names_exist(path: Path) -> None:
    """Every name in a module's ``__all__`` exists there, and is listed once."""
    has_list = any(
        isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
    )
    imported: Any = importlib.import_module(module_of(path)) if has_list else None
    names = imported.__all__ if has_list else []

    assert len(set(names)) == len(names)
    assert [name for name in names if not hasattr(imported, name)] == []


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_tests_state_their_property(path: Path) -> None:
    """Every test, hypothesis rules included, has a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    silent = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and not ast.get_docstring(node)
    ]

    assert silent == []


def test_there_is_no_drawer_for_everything() -> None:
    """No module is called utils, helpers, common or misc."""
    drawers = {"utils", "util", "helpers", "common", "misc"}

    assert [name_of(path) for path in SOURCES if path.stem.strip("_") in drawers] == []


@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_functions_explain_their_parameters(name: str) -> None:
    """Functions in the reference with two parameters or more have ``Args:``, or say who has."""
    owner, _, attribute = name.rpartition(".")
    documented = getattr(importlib.import_module(owner), attribute)
    silent = [
        function.__qualname__
        for function in _functions_of(documented)
        if len(_parameters(function)) > 1
        and not re.search(r"Args:|As for :|[Ss]ee :", inspect.getdoc(function) or "")
    ]

    assert silent == []


def _functions_of(documented: object) -> Iterator[FunctionType]:
    """Yield a function itself, the public methods of a class, or the functions of a module."""
    if inspect.isfunction(documented):
        yield documented
    elif inspect.isclass(documented):
        for base in documented.__mro__:
            methods = vars(base).items() if base.__module__.startswith("lakesieve") else ()
            yield from (
                method
                for name, method in methods
                if inspect.isfunction(method) and not name.startswith("_")
            )
    elif inspect.ismodule(documented):
        for name in documented.__all__:
            yield from _functions_of(getattr(documented, name))


def _parameters(function: FunctionType) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def test_a_driver_sends_all_storage_settings() -> None:
    """A driver without Python sends the Hadoop settings that the storage options are made of."""
    (planner,) = (ROOT / "jvm").rglob("SessionPlanner.java")
    (listed,) = re.findall(r"HADOOP =\s+List\.of\(([^)]*)\)", planner.read_text("utf-8"))
    assert tuple(re.findall(r'"([^"]+)"', listed)) == HADOOP_PREFIXES
