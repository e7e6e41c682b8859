"""Times as logs write them, as seconds since the epoch. What cannot be read is a ValueError."""

import calendar
from datetime import UTC, datetime
from functools import lru_cache

MILLISECONDS_FROM = 1e11  # an epoch time from here on is in milliseconds
_MONTHS = {name.encode(): number for number, name in enumerate(calendar.month_abbr) if name} | {
    name.lower().encode(): number for number, name in enumerate(calendar.month_abbr) if name
}


def ncsa_time(text: bytes) -> float:
    """`10/Oct/2000:13:55:36 -0700`."""
    second = int(text[18:20])
    if second > 60:
        raise ValueError("no such second")
    return _ncsa_minute(text[:17], text[20:]) + second


@lru_cache(maxsize=4096)
def _ncsa_minute(minute: bytes, zone: bytes) -> float:
    month = _MONTHS.get(minute[3:6])
    if month is None or len(minute) != 17:
        raise ValueError("no such month")
    numbers = (int(minute[7:11]), month, int(minute[:2]), int(minute[12:14]), int(minute[15:17]))
    offset = int(zone[-4:-2]) * 3600 + int(zone[-2:]) * 60
    sign = -1 if b"-" in zone else 1
    return datetime(*numbers, tzinfo=UTC).timestamp() - sign * offset


def written_time(text: bytes) -> float:
    """Seconds or milliseconds since the epoch, or ISO 8601, which is UTC where it names no zone."""
    try:
        number = float(text)
    except ValueError:
        return iso_time(text.decode("ascii", "replace").strip())
    return number / 1000 if number >= MILLISECONDS_FROM else number


def iso_time(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
