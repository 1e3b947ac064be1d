"""Hatch's build hook: a wheel carries the jars of jvm/, built where sources changed.

``LAKESIEVE_WITHOUT_JARS=1`` makes a wheel without them, for environments without Spark; no JDK is
needed then. An editable installation takes the jars from the tree, where ``make setup`` builds
them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))
from build_jars import build, versions

__all__ = ["JarsHook"]


class JarsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Build the jars, and have the wheel carry them."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the jars to Hatch.

        Args:
            version: The kind of wheel, ``standard`` or ``editable``.
            build_data: What Hatch packs.
        """
        if version == "editable" or os.environ.get("LAKESIEVE_WITHOUT_JARS") == "1":
            return
        try:
            jars = [build(spark, only_jar=True) for spark in versions()]
        except RuntimeError as error:
            self.app.abort(f"error: {error}")
        for jar in jars:
            build_data["force_include"][str(jar)] = f"lakesieve/spark/jars/{jar.name}"
