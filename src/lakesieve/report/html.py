"""Pages made of templates: complete in themselves, everything that is put in escaped."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lakesieve.report import units

if TYPE_CHECKING:
    from collections.abc import Sequence


def rendered(
    template: str, *, title: str, command: str, toc: Sequence[tuple[str, str]], **values: object
) -> str:
    """Render a page; ``toc`` has the anchor and the title of each of its sections."""
    # a second of imports that only pages need
    from jinja2 import Environment, PackageLoader

    templates = Environment(
        loader=PackageLoader("lakesieve.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "count": units.count,
        "size": units.size,
        "figure": units.figure,
        "times": units.times,
        "share": lambda share: units.percent(share, 1),
    }
    made = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return templates.get_template(template).render(
        title=title, command=command, toc=toc, made=made, **values
    )
