"""Numbers as a person reads them."""

from __future__ import annotations

from datetime import UTC, datetime


def count(number: int) -> str:
    """Write a count with separators: ``6,001,215``."""
    return f"{number:,}"


def plural(number: int, noun: str, nouns: str | None = None) -> str:
    """Write a count with its noun: ``1 file``, ``400 files``."""
    return f"{count(number)} {noun if number == 1 else nouns or noun + 's'}"


def size(number: int) -> str:
    """Write a number of bytes in decimal units: ``14.1 MB``."""
    value, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        # 999.95 would be shown as 1000.0
        if value < 999.95:
            break
        value, unit = value / 1000, larger
    return f"{number} B" if unit == "B" else f"{value:.1f} {unit}"


def percent(share: float, whole: float) -> str:
    """Write a share of a whole: ``94 %``, below ten with one more digit; ``-`` if there is none."""
    if not whole:
        return "-"
    value = 100 * share / whole
    return f"{value:.1f} %" if value < 9.95 else f"{value:.0f} %"


def duration(seconds: float) -> str:
    """Write a time: ``84 ms``, ``2.31 s``, ``1 min 24 s``, ``22 h 33 min``."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.995:
        return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def times(ratio: float) -> str:
    """Write a ratio: ``7.3x``, ``100x``."""
    return f"{ratio:.1f}x" if ratio < 9.95 else f"{ratio:.0f}x"


def figure(value: float, kind: str) -> str:
    """Write a figure that was measured or predicted."""
    if kind == "days":
        return days(value)
    if kind == "bytes":
        return size(round(value))
    if kind == "seconds":
        return f"-{duration(-value)}" if value <= -0.0005 else duration(max(value, 0))
    return f"{value:,.0f}" if value >= 9.95 or value == round(value) else f"{value:.1f}"


def days(number: float) -> str:
    """Write a number of days: ``3 min``, ``4.1 h``, ``2.5 days``."""
    minutes = number * 24 * 60
    if minutes < 1:
        return "1 min"
    if minutes < 60:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.1f} h" if number < 1 else f"{number:.1f} days"


def ago(moment: str | None) -> str:
    """Write how long ago a moment was, given as ISO 8601: ``5 min ago``, ``3.0 days ago``."""
    if moment is None:
        return ""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    return f"{days(max(seconds, 0) / 86400)} ago"


def unit_name(rows: int | None) -> str:
    """Write what an index tells.

    Args:
        rows: Rows of a block, or ``None`` for an index of whole data files.
    """
    return "data files" if rows is None else f"row blocks of {plural(rows, 'row')}"
