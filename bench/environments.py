"""The environments of the versions of Spark, beside each other in the folder of the project."""

from __future__ import annotations

from pathlib import Path

__all__ = ["ROOT", "SPARK_LINES", "python_of"]

ROOT = Path(__file__).parents[1]
SPARK_LINES = {"4.1": ".venv", "3.5": ".venv-3.5"}


def python_of(line: str) -> Path:
    """The Python of a version of Spark.

    Raises:
        FileNotFoundError: ``make setup`` has not made its environment.
    """
    python = ROOT / SPARK_LINES[line] / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"{python} is missing: run make setup")
    return python
