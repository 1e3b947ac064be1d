"""The locks of the environments keep up with the dependencies of the project."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_dependency_is_locked(lock: str) -> None:
    """Each environment has all libraries that the package needs to run."""
    locked = re.findall(r"^([\w.-]+)==", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE)
    needed = {re.split(r"[\[<>=!~; ]", line)[0] for line in PROJECT["dependencies"]}

    assert needed - set(locked) == set()
