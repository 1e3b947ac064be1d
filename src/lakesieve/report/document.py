"""Result models as JSON."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from lakesieve.printable import printable_json


def to_document(result: object) -> Any:
    """Turn a result model, or a list of them, into what ``json`` can write.

    The keys are the field names of the dataclasses, so they are as stable as the Python API.
    """
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return {f.name: to_document(getattr(result, f.name)) for f in dataclasses.fields(result)}
    if isinstance(result, (list, tuple)):
        return [to_document(item) for item in result]
    if isinstance(result, str):
        return str(result)  # the plain text of an enum's member
    if result is None or isinstance(result, (bool, int, float)):
        return result
    raise TypeError(f"{type(result).__name__} has no form in JSON")


def to_json(result: object) -> str:
    """Write a result model as indented JSON text."""
    return printable_json(json.dumps(to_document(result), indent=2, ensure_ascii=False))
