"""A hook of the documentation's site: names in docstrings link to their place on the page.

Docstrings name functions as Sphinx does: ``:func:`lakesieve.upsert```.
"""

from __future__ import annotations

import re
from typing import Any

_ROLE = re.compile(r":(?:func|meth|class):<code>~?([\w.]+)</code>")
_ID = re.compile(r'\bid="([\w.]+)"')


def on_page_content(html: str, **_: Any) -> str:
    """Turn each role into a link, or into the name alone where the page does not have it."""
    places = set(_ID.findall(html))

    def linked(found: re.Match[str]) -> str:
        name = found[1]
        place = next((id_ for id_ in (name, f"lakesieve.{name}") if id_ in places), None)
        code = f"<code>{name}</code>"
        return code if place is None else f'<a href="#{place}">{code}</a>'

    return _ROLE.sub(linked, html)
