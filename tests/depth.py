"""How deep tests of drawn cases go: short in ``make test``, in depth in ``make soak``.

The depth is a profile of Hypothesis, ``test`` or ``soak``: ``LAKESIEVE_DEPTH=soak`` chooses it, and
so does pytest's own option ``--hypothesis-profile=soak``.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable

Class = TypeVar("Class", bound=type)


def is_soak() -> bool:
    """Whether this is a soak; known once pytest has read its options."""
    return settings.get_current_profile_name().startswith("soak")


def depth(name: str, *, test: int, soak: int) -> int:
    """Return how many cases, steps or rounds a test draws.

    Args:
        name: ``LAKESIEVE_<NAME>`` in the environment wins over both counts.
        test: The count in ``make test``.
        soak: The count in ``make soak``.
    """
    return int(os.environ.get(f"LAKESIEVE_{name}", soak if is_soak() else test))


def in_soak(*names: str, but: str = "") -> Callable[[Class], Class]:
    """Mark some tests of a class, inherited ones too, as left to a soak.

    Args:
        names: The tests.
        but: Id of the parameter with which they run in every build.
    """
    mark = pytest.mark.in_time(but) if but else pytest.mark.soak

    def marked(cls: Class) -> Class:
        for name in names:
            setattr(cls, name, mark(_copied(getattr(cls, name))))
        return cls

    return marked


def _copied(test: Callable[..., None]) -> Callable[..., None]:
    """Return the test as a function of its own, whose marks the original does not get."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        test(*args, **kwargs)

    return run
