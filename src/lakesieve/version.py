"""The version of this package, in this place alone."""

from __future__ import annotations

__version__ = "0.1.0"
