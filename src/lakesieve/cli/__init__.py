"""The command line: parse, call, render."""

from __future__ import annotations

from lakesieve.cli.app import build_app, main

__all__ = ["build_app", "main"]
