"""Logs as tables, comma- or tab-separated: a first line names the columns, and every line has one access."""

import csv
from collections.abc import Mapping

from lycosa.vocabulary.errors import UsageError

from .dropping import Drop, Entry, dropped
from .formats import Verdicts
from .times import written_time

NEEDED = ("user", "url", "time")
KNOWN = (*NEEDED, "status", "method", "type")
SEPARATORS = {"csv": b",;", "tsv": b"\t"}


def columns_of(text: str) -> dict[str, str]:
    """From `user=host,url=url,time=time`: which column has what."""
    columns = {}
    for part in text.split(","):
        what, equals, name = part.partition("=")
        if not equals or what.strip() not in KNOWN or not name.strip():
            raise UsageError(
                f"--columns has {part!r}; write user=COLUMN,url=COLUMN,time=COLUMN and, where there are such columns, "
                "status=, method=, type="
            )
        columns[what.strip()] = name.strip()
    if missing := [what for what in NEEDED if what not in columns]:
        raise UsageError(f"--columns names no column for {', '.join(missing)}; write user=…,url=…,time=…")
    return columns


class Table:
    """Lines of a table, the first being the names of its columns; a quoted field holds no line break."""

    def __init__(self, columns: Mapping[str, str], header: bytes, *, kind: str | None, file: str):
        self.name, self._separator, names = _understood(columns, header, kind, file)
        self._header: bytes | None = header
        self._width = len(names)
        self._verdicts = Verdicts()
        self._user, self._url, self._time = (names.index(columns[what]) for what in NEEDED)
        self._status, self._method, self._type = (
            names.index(columns[what]) if what in columns else None for what in ("status", "method", "type")
        )

    def __call__(self, line: bytes) -> Entry:
        if self._header is not None and line == self._header:
            self._header = None
            return dropped(Drop.EMPTY)
        parts = fields_of(line, self._separator)
        if len(parts) != self._width:
            return dropped(Drop.BROKEN if line.strip() else Drop.EMPTY, line)
        verdict = self._verdicts[
            b"GET" if self._method is None else parts[self._method].strip(),
            b"200" if self._status is None else parts[self._status].strip(),
            b"-" if self._type is None else parts[self._type],
        ]
        at = parts[self._time]
        try:
            return parts[self._user].strip(), written_time(at), verdict, parts[self._url].strip()
        except ValueError:
            return dropped(Drop.TIME, at)


def fields_of(line: bytes, separator: bytes) -> list[bytes]:
    line = line.rstrip(b"\r")
    if b'"' not in line:
        return line.split(separator)
    try:
        rows = csv.reader([line.decode("utf-8", "surrogateescape")], delimiter=separator.decode())
        return [field.encode("utf-8", "surrogateescape") for row in rows for field in row]
    except csv.Error:
        return []


def _understood(columns: Mapping[str, str], header: bytes, kind: str | None, file: str) -> tuple[str, bytes, list[str]]:
    """The kind of table, what separates its fields, and their names."""
    separators = [(name, bytes([code])) for name, codes in SEPARATORS.items() for code in codes if kind in (None, name)]
    tried = [(name, mark, _names(header, mark)) for name, mark in separators]
    name, mark, names = max(tried, key=lambda each: sum(column in each[2] for column in columns.values()))
    if lacking := [column for column in columns.values() if column not in names]:
        raise UsageError(
            f"{file} has no column {lacking[0]!r} in its first line"
            + (f"; it has {len(names)} columns, separated by {_SPOKEN[mark]}" if len(names) > 1 else "")
            + "; say what --columns are"
        )
    return name, mark, names


def _names(header: bytes, separator: bytes) -> list[str]:
    fields = fields_of(header.removeprefix(b"\xef\xbb\xbf"), separator)
    return [field.decode("utf-8", "replace").strip() for field in fields]


_SPOKEN: Mapping[bytes, str] = {b",": "commas", b";": "semicolons", b"\t": "tabs"}
