"""Whether the Java of this machine suits Spark, said before Spark is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lakesieve.errors import SetupError
from lakesieve.spark.local import check_java

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("1.8.0_412", "Java 8 .* is too old"),
        ("11.0.25", "Java 11 .* is too old"),
        ("17.0.15", None),
        ("21.0.8", None),
        ("25.0.3", "Java 25 .* is too new for Spark before 4.2"),
    ],
)
def test_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, problem: str | None
) -> None:
    """Java below 17 is refused, and above 23 by the Spark of these tests."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if problem is None:
        check_java()
    else:
        with pytest.raises(SetupError, match=problem) as raised:
            check_java()
        assert "JAVA_HOME" in str(raised.value.hint)
