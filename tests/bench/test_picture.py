"""The picture of the README is the drawing of the result that is kept beside it."""

from __future__ import annotations

import json

import pytest
from bench.picture import ASSETS, SCHEMES, draw


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pictures_are_drawn_from_the_stored_result(scheme: str) -> None:
    """``python -m bench.picture --result docs/assets/before-after.json`` changes nothing."""
    result = json.loads((ASSETS / "before-after.json").read_text(encoding="utf-8"))
    picture = (ASSETS / f"before-after-{scheme}.svg").read_text(encoding="utf-8")
    assert draw(result, scheme) == picture
    for query in result["queries"]:
        assert query["files_on"] < query["files_off"]
