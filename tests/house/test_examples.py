"""Every public name has an example, which a test runs."""

from __future__ import annotations

import pytest
from tests.docstrings import PUBLIC, examples_of


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_has_an_example(name: str) -> None:
    """Functions, classes and public methods show how they are called; no example is skipped."""
    examples = examples_of(name)

    assert examples
    assert [example.source for example in examples if "SKIP" in example.source] == []
