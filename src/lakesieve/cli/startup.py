"""What makes a command that needs no Spark start quickly."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder

_owned: list[bool] = []


class _WithoutPandas(MetaPathFinder):
    """Finds no pandas."""

    def find_spec(self, fullname: str, *_: object) -> None:
        """Leave all but pandas to the others."""
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not used here", name="pandas")


def own_process() -> None:
    """Say that this process is there for one command alone."""
    _owned.append(True)


def leave_out_pandas() -> None:
    """Keep pyarrow from loading pandas with its first array, which takes half a second."""
    if _owned:
        sys.meta_path.insert(0, _WithoutPandas())
