from __future__ import annotations

import json

import pytest

from lakesieve.index.reasons import Reason, ReasonCode
from lakesieve.report import to_document, to_json


def test_codes_become_plain_text() -> None:
    """A coded reason is its stable text in JSON, not the name of a Python member."""
    reasons = (Reason(code=ReasonCode.NO_INDEX, detail="ü"),)
    document = to_document(reasons)

    assert document == [{"code": "no-index", "detail": "ü"}]
    assert type(document[0]["code"]) is str
    assert json.loads(to_json(reasons)) == document


def test_what_has_no_form_is_refused() -> None:
    """A value that JSON cannot hold is an error, not its repr."""
    with pytest.raises(TypeError, match="set has no form"):
        to_document({1})
