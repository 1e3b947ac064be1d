"""Functions of ours in Spark's Python workers."""

from __future__ import annotations

import importlib
import sys
import zipfile
from typing import TYPE_CHECKING
from zipimport import zipimporter

from lakesieve.tables.workers import forget_archives

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_archives_are_forgotten_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing reads the directory of a jar again, yet modules in it can still be imported."""
    jar = tmp_path / "some.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("module_in_a_jar.py", "told = 7")
        archive.writestr("another_in_a_jar.py", "told = 8")
    monkeypatch.syspath_prepend(jar)
    assert importlib.import_module("module_in_a_jar").told == 7
    assert str(jar) in sys.path_importer_cache
    others = {k for k, v in sys.path_importer_cache.items() if not isinstance(v, zipimporter)}

    forget_archives()

    assert set(sys.path_importer_cache) == others
    assert importlib.import_module("another_in_a_jar").told == 8
