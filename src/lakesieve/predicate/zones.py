"""Time zones by the names that Spark's session setting takes: regions and fixed offsets."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from lakesieve.errors import ErrorKind, InvalidInputError

_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(?:(\d{1,2})(?::(\d{1,2})(?::(\d\d))?)?|(\d\d)(\d\d)(\d\d)?)", re.ASCII
)
# as Java has them; elsewhere they are regions with a history
_FIXED = {"Z": "+00", "UT": "+00", "EST": "-05", "MST": "-07", "HST": "-10"}


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo:
    """The time zone of a name such as ``Europe/Berlin``, ``+01:00`` or ``UTC-8``.

    Raises:
        InvalidInputError: No such zone is known on this machine.
    """
    found = _OFFSET.fullmatch(_FIXED.get(name, name))
    try:
        if found is None:
            return ZoneInfo(name)
        sign, *fields = found.groups()
        written = zip(fields[:3], fields[3:], strict=True)
        hours, minutes, seconds = (int(first or second or 0) for first, second in written)
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(offset if sign == "+" else -offset) if offset else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidInputError(
            f"The time zone {name!r} is not known.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Set spark.sql.session.timeZone to a region such as Europe/Berlin or an offset "
            "such as +01:00, or write times with their offset.",
        ) from error
