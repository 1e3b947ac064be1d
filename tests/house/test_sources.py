"""The house rules that a linter does not check."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
JAVA = sorted((ROOT / "jvm" / "src").rglob("*.java"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
LINES_OF_A_MODULE = 400
LINES_OF_A_FUNCTION = 60


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module_of(path: Path) -> str:
    """The name by which a source file is imported."""
    names = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_modules_and_functions_are_short(path: Path) -> None:
    """A module fits into 400 lines and a function into 60."""
    text = path.read_text(encoding="utf-8")
    # a list: names repeat, those of methods for example
    lengths = [
        (node.name, node.end_lineno - node.lineno + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno
    ]

    assert text.count("\n") <= LINES_OF_A_MODULE
    assert [(name, lines) for name, lines in lengths if lines > LINES_OF_A_FUNCTION] == []


@pytest.mark.parametrize("path", JAVA, ids=name_of)
def test_classes_and_methods_are_short(path: Path) -> None:
    """So do a Java file and a method."""
    lines = path.read_text(encoding="utf-8").splitlines()
    methods = [
        (line.strip(), lines.index(f"{margin}}}", start) - start + 1)
        for start, line in enumerate(lines)
        if line.endswith("{")
        and len(margin := line[: len(line) - len(line.lstrip())]) in {2, 4}
        and f"{margin}}}" in lines[start:]
    ]

    assert len(lines) <= LINES_OF_A_MODULE
    assert [(name, length) for name, length in methods if length > LINES_OF_A_FUNCTION] == []


@pytest.mark.parametrize(
    "path", [path for path in SOURCES if not path.name.startswith("_")], ids=name_of
)
def test_public_modules_say_what_they_export(path: Path) -> None:
    """Every public module has ``__all__``, and all of its names exist there."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    (exported,) = (
        ast.literal_eval(node.value)
        for node in body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    imported = importlib.import_module(module_of(path))

    assert len(set(exported)) == len(exported)
    assert [name for name in exported if not hasattr(imported, name)] == []


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


@pytest.mark.parametrize(
    "path",
    [path for path in SOURCES if not path.name.startswith("_") and path.parent.name != "cli"],
    ids=name_of,
)
def test_public_functions_explain_their_arguments(path: Path) -> None:
    """Public functions of two parameters or more have ``Args:``, but for commands and tests.

    Commands explain theirs by ``--help``.
    """
    silent = [
        node.name
        for node in _public_functions(ast.parse(path.read_text(encoding="utf-8")))
        if len(_arguments(node)) > 1
        and not re.search(r"Args:|As for :|As the storage does", ast.get_docstring(node) or "")
    ]

    assert silent == []


def _public_functions(tree: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public_functions(node)
        elif (
            isinstance(node, ast.FunctionDef)
            and not node.name.startswith(("_", "test_"))
            # what the last one explains holds for its overloads
            and "overload" not in map(ast.unparse, node.decorator_list)
        ):
            yield node


def _arguments(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    names = [argument.arg for argument in every]
    return [name for name in names if name not in {"self", "cls"}]
