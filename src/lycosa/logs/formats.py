"""Formats of access logs: each parses any line into an `Entry`.

Squid's native format, NCSA common and combined, W3C extended, and tables whose first line names the columns.
"""

import calendar
import csv
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from typing import Protocol

from lycosa.vocabulary.errors import UsageError

from .entries import DropReason, Entry, classify_request, dropped_entry

MILLISECONDS_FROM = 1e11  # times of at least this are milliseconds since the epoch, not seconds
_MONTHS = {name.encode(): number for number, name in enumerate(calendar.month_abbr) if name} | {
    name.lower().encode(): number for number, name in enumerate(calendar.month_abbr) if name
}


def parse_ncsa_time(text: bytes) -> float:
    """Seconds since the epoch from `10/Oct/2000:13:55:36 -0700`; ValueError or IndexError if it is not of that form."""
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


def parse_time(text: bytes) -> float:
    """Seconds since the epoch from seconds, milliseconds, or ISO 8601; ValueError otherwise.

    Eight digits are a date without hyphens; as seconds, they would be before 1974.
    """
    text = text.strip()
    if len(text) == 8 and text.isdigit():
        return parse_iso_time(text.decode())
    try:
        number = float(text)
    except ValueError:
        return parse_iso_time(text.decode("ascii", "replace"))
    return _finite(number / 1000 if number >= MILLISECONDS_FROM else number)


def parse_iso_time(text: str) -> float:
    """Seconds since the epoch from ISO 8601, UTC if it names no zone; ValueError otherwise."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _finite(seconds: float) -> float:
    """The same number; ValueError for `nan` and `inf`, which `float` parses."""
    if not isfinite(seconds):
        raise ValueError("not a time")
    return seconds


class Format(Protocol):
    """Parses a line into an entry."""

    @property
    def name(self) -> str: ...

    def __call__(self, line: bytes) -> Entry: ...


_MAX_CACHED = 10_000  # combinations of method, status and content type
_MAX_CACHED_LENGTH = 256  # bytes of such a combination
_NCSA = re.compile(
    rb"(\S++) \S++ ([^\[]*+)\[([^\]]{20,30}+)\] "
    rb'"([A-Za-z_-]++) ([^\s"\\]*+(?:\\.[^\s"\\]*+)*+)(?: HTTP/[\d.]++)?" (\d{3}|-)(?:\s|$)'
).match


class RequestClasses(dict[tuple[bytes, bytes, bytes], int]):
    """A cache of `classify_request`: few combinations of method, status and type occur.

    The class of a request is PAGE, MAYBE_PAGE or a DropReason: whether somebody read a page, as far as one can tell.
    """

    def __missing__(self, parts: tuple[bytes, bytes, bytes]) -> int:
        if len(self) >= _MAX_CACHED:
            self.clear()
        found = self.classify(*parts)
        if sum(map(len, parts)) <= _MAX_CACHED_LENGTH:
            self[parts] = found
        return found

    def classify(self, method: bytes, status: bytes, content_type: bytes, /) -> int:
        return classify_request(method, status, content_type)


class SquidFormat:
    """Squid's native access.log: time elapsed client code/status bytes method URL ident hierarchy/from type."""

    name = "squid"

    def __init__(self) -> None:
        self._classes = _SquidRequestClasses()

    def __call__(self, line: bytes) -> Entry:
        try:
            time_text, _, user, result, _, method, url, ident, _, content_type = line.split(None, 9)
        except ValueError:
            return _unparsed_entry(line)
        if ident != b"-":
            user = ident
        try:
            return user, _finite(float(time_text)), self._classes[result, method, content_type], url
        except ValueError:
            return dropped_entry(DropReason.BAD_TIME, time_text)


class _SquidRequestClasses(RequestClasses):
    """The same for Squid: `result` is code/status, and some versions write more fields after the type."""

    def classify(self, result: bytes, method: bytes, content_type: bytes, /) -> int:
        return classify_request(method, result.rpartition(b"/")[2], content_type.split(None, 1)[0])


class NcsaFormat:
    """NCSA common and combined: host ident user [time] "request" status bytes; further fields are ignored."""

    name = "ncsa"

    def __init__(self) -> None:
        self._classes = RequestClasses()

    def __call__(self, line: bytes) -> Entry:
        found = _NCSA(line)
        if found is None:
            return _unparsed_entry(line)
        host, user, time_text, method, url, status = found.groups()
        try:
            at = parse_ncsa_time(time_text)
        except (ValueError, IndexError):
            return dropped_entry(DropReason.BAD_TIME, time_text)
        return host if user in (b"- ", b'"" ', b"") else user.strip(), at, self._classes[method, status, b"-"], url


_W3C_FIELDS = re.compile(rb'"((?:[^"]++|"")*+)"(?!\S)|(\S++)').findall  # strings, in which "" is a ", and words
_W3C_DEFAULTS = (b"-", b"GET", b"200")  # values for missing columns, appended to the fields of each line


class W3cFormat:
    """W3C extended: a `#Fields:` directive names the columns, and may do so again later in the file. Times are UTC."""

    name = "w3c"

    def __init__(self) -> None:
        self._classes = RequestClasses()
        self._day = b""
        self._set_columns(())

    def __call__(self, line: bytes) -> Entry:
        if line.startswith(b"#"):
            self._read_directive(line)
            return dropped_entry(DropReason.EMPTY)
        parts = line.split()
        if b'"' in line and len(fields := _with_strings(line)) == self._width:  # IIS writes no strings, but may write "
            parts = fields
        if len(parts) != self._width or not parts:
            return dropped_entry(DropReason.BROKEN if parts else DropReason.EMPTY, line)
        parts += _W3C_DEFAULTS
        user = next((parts[column] for column in self._users if parts[column] != b"-"), b"")
        time_text = (self._day if self._date is None else parts[self._date]) + b" " + parts[self._time]
        try:
            at = parse_iso_time(time_text.decode("ascii", "replace"))
        except ValueError:
            return dropped_entry(DropReason.BAD_TIME, time_text)
        url, query = parts[self._url], parts[self._query]
        if query != b"-":
            url = url + b"?" + query
        return user, at, self._classes[parts[self._method], parts[self._status], parts[self._content_type]], url

    def _read_directive(self, line: bytes) -> None:
        directive, _, value = line[1:].decode("utf-8", "replace").partition(":")
        if directive.strip().lower() == "fields":
            self._set_columns(value.lower().split())
        elif directive.strip().lower() == "date":
            self._day = value.strip()[:10].encode()

    def _set_columns(self, names: Sequence[str]) -> None:
        """Notes the index of each column in the fields of a line, to which `_W3C_DEFAULTS` are appended."""
        self._width = len(names)
        unknown, get, ok = (self._width + index for index in range(len(_W3C_DEFAULTS)))
        columns = {name: column for column, name in enumerate(names)}

        def column_of(*names: str, default: int) -> int:
            return next((columns[name] for name in names if name in columns), default)

        self._users = [columns[name] for name in ("cs-username", "c-ip", "c-dns") if name in columns]
        self._date, self._time = columns.get("date"), column_of("time", default=unknown)
        self._url = column_of("cs-uri", "cs-uri-stem", default=unknown)
        self._query = unknown if "cs-uri" in columns else column_of("cs-uri-query", default=unknown)
        self._method, self._status = column_of("cs-method", default=get), column_of("sc-status", default=ok)
        self._content_type = column_of(
            "rs(content-type)", "sc(content-type)", "cs-mime-type", "sc-mime-type", default=unknown
        )


def _with_strings(line: bytes) -> list[bytes]:
    """The fields of a W3C line that may have strings in quotation marks, which may contain blanks; - for empty ones."""
    return [word or string.replace(b'""', b'"') or b"-" for string, word in _W3C_FIELDS(line)]


def _unparsed_entry(line: bytes) -> Entry:
    stripped = line.strip()
    return (
        dropped_entry(DropReason.EMPTY)
        if not stripped or stripped.startswith(b"#")
        else dropped_entry(DropReason.BROKEN, line)
    )


FORMATS: dict[str, Callable[[], Format]] = {"squid": SquidFormat, "ncsa": NcsaFormat, "w3c": W3cFormat}


_UNPARSED = frozenset((DropReason.EMPTY, DropReason.BROKEN, DropReason.BAD_TIME))


def detect_format(lines: Sequence[bytes]) -> str | None:
    """The format that fits the most lines; None if none fits any."""
    parsed = {}  # number of lines by format
    for name, make in FORMATS.items():
        parse = make()
        parsed[name] = sum(request_class not in _UNPARSED for _, _, request_class, _ in map(parse, lines))
    best = max(parsed, key=lambda name: parsed[name])
    return best if parsed[best] else None


# What the columns of a table hold, whatever their names in its first line.
REQUIRED_ROLES = ("user", "url", "time")
COLUMN_ROLES = (*REQUIRED_ROLES, "status", "method", "type")
SEPARATORS = {"csv": b",;", "tsv": b"\t"}


def parse_columns(text: str) -> dict[str, str]:
    """The column names by role, from text such as `user=host,url=url,time=time`."""
    columns = {}
    for part in text.split(","):
        role, equals, name = part.partition("=")
        if not equals or role.strip() not in COLUMN_ROLES or not name.strip():
            raise UsageError(
                f"--columns has {part!r}; write user=COLUMN,url=COLUMN,time=COLUMN and, where there are such columns, "
                "status=, method=, type="
            )
        columns[role.strip()] = name.strip()
    if missing := [role for role in REQUIRED_ROLES if role not in columns]:
        raise UsageError(f"--columns names no column for {', '.join(missing)}; write user=…,url=…,time=…")
    return columns


class TableFormat:
    """Lines of a table, the first of which has the names of its columns. A field may be quoted, but not contain a
    line break.

    columns: column names by role, of the REQUIRED_ROLES and any others of COLUMN_ROLES.
    """

    def __init__(self, columns: Mapping[str, str], header: bytes, *, format: str | None, file: str):
        self.name, self._separator, names = _table_layout(columns, header, format, file)
        self._header: bytes | None = header
        self._width = len(names)
        self._classes = RequestClasses()
        # The indices of the columns; None for those that the table does not have.
        self._user, self._url, self._time = (names.index(columns[role]) for role in REQUIRED_ROLES)
        self._status, self._method, self._type = (
            names.index(columns[role]) if role in columns else None for role in ("status", "method", "type")
        )

    def __call__(self, line: bytes) -> Entry:
        if self._header is not None and line == self._header:
            self._header = None
            return dropped_entry(DropReason.EMPTY)
        parts = _split_fields(line, self._separator)
        if len(parts) != self._width:
            return dropped_entry(DropReason.BROKEN if line.strip() else DropReason.EMPTY, line)
        request_class = self._classes[
            b"GET" if self._method is None else parts[self._method].strip(),
            b"200" if self._status is None else parts[self._status].strip(),
            b"-" if self._type is None else parts[self._type].strip(),
        ]
        time_text = parts[self._time]
        try:
            return parts[self._user].strip(), parse_time(time_text), request_class, parts[self._url].strip()
        except ValueError:
            return dropped_entry(DropReason.BAD_TIME, time_text)


def _split_fields(line: bytes, separator: bytes) -> list[bytes]:
    line = line.rstrip(b"\r")
    if b'"' not in line:
        return line.split(separator)
    try:
        rows = csv.reader([line.decode("utf-8", "surrogateescape")], delimiter=separator.decode())
        return [field.encode("utf-8", "surrogateescape") for row in rows for field in row]
    except csv.Error:
        return []


def _table_layout(
    columns: Mapping[str, str], header: bytes, format: str | None, file: str
) -> tuple[str, bytes, list[str]]:
    """The format of a table, the separator of its fields, and their names. format: None to detect it."""
    separators = [
        (name, bytes([code])) for name, codes in SEPARATORS.items() for code in codes if format in (None, name)
    ]
    tried = [(name, separator, _column_names(header, separator)) for name, separator in separators]
    name, separator, names = max(tried, key=lambda each: sum(column in each[2] for column in columns.values()))
    if lacking := [column for column in columns.values() if column not in names]:
        raise UsageError(
            f"{file} has no column {lacking[0]!r} in its first line"
            + (f"; it has {len(names)} columns, separated by {_SEPARATOR_NAMES[separator]}" if len(names) > 1 else "")
            + "; check --columns"
        )
    return name, separator, names


def _column_names(header: bytes, separator: bytes) -> list[str]:
    fields = _split_fields(header.removeprefix(b"\xef\xbb\xbf"), separator)
    return [field.decode("utf-8", "replace").strip() for field in fields]


_SEPARATOR_NAMES: Mapping[bytes, str] = {b",": "commas", b";": "semicolons", b"\t": "tabs"}
