"""How the formats of access logs write a line. Whatever a line is, an `Entry` comes of it."""

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from .dropping import Drop, Entry, dropped, verdict_of
from .times import iso_time, ncsa_time


class Format(Protocol):
    """Understands the lines of a log."""

    @property
    def name(self) -> str: ...

    def __call__(self, line: bytes) -> Entry: ...


_VERDICTS_KEPT = 10_000
_NCSA = re.compile(
    rb"(\S++) \S++ ([^\[]*+)\[([^\]]{20,30}+)\] "
    rb'"([A-Za-z_-]++) ([^\s"\\]*+(?:\\.[^\s"\\]*+)*+)(?: HTTP/[\d.]++)?" (\d{3}|-)(?:\s|$)'
).match


class Verdicts(dict[tuple[bytes, bytes, bytes], int]):
    """What was found of methods, statuses and types; there are few that recur."""

    def __missing__(self, parts: tuple[bytes, bytes, bytes]) -> int:
        if len(self) >= _VERDICTS_KEPT:
            self.clear()
        found = self[parts] = verdict_of(*parts)
        return found


class Squid:
    """Squid's native access.log: time elapsed client code/status bytes method URL ident hierarchy/from type."""

    name = "squid"

    def __init__(self) -> None:
        self._verdicts = _SquidVerdicts()

    def __call__(self, line: bytes) -> Entry:
        try:
            at, _, user, result, _, method, url, ident, _, kind = line.split(None, 9)
        except ValueError:
            return not_a_line(line)
        if ident != b"-":
            user = ident
        try:
            return user, float(at), self._verdicts[result, method, kind], url
        except ValueError:
            return dropped(Drop.TIME, at)


class _SquidVerdicts(Verdicts):
    def __missing__(self, parts: tuple[bytes, bytes, bytes]) -> int:
        if len(self) >= _VERDICTS_KEPT:
            self.clear()
        result, method, kind = parts  # some write more behind the type
        found = self[parts] = verdict_of(method, result.rpartition(b"/")[2], kind.split(None, 1)[0])
        return found


class Ncsa:
    """NCSA common and combined: host ident user [time] "request" status bytes, and what else follows."""

    name = "ncsa"

    def __init__(self) -> None:
        self._verdicts = Verdicts()

    def __call__(self, line: bytes) -> Entry:
        found = _NCSA(line)
        if found is None:
            return not_a_line(line)
        host, user, at, method, url, status = found.groups()
        try:
            moment = ncsa_time(at)
        except (ValueError, IndexError):
            return dropped(Drop.TIME, at)
        return host if user in (b"- ", b'"" ', b"") else user.strip(), moment, self._verdicts[method, status, b"-"], url


class W3c:
    """W3C extended: a `#Fields:` directive says what stands where, and may say it anew midway. Times are UTC."""

    name = "w3c"

    def __init__(self) -> None:
        self._verdicts = Verdicts()
        self._day = b""
        self._arrange(())

    def __call__(self, line: bytes) -> Entry:
        if line.startswith(b"#"):
            self._obey(line)
            return dropped(Drop.EMPTY)
        parts = line.split()
        if len(parts) != self._width or not parts:
            return dropped(Drop.BROKEN if parts else Drop.EMPTY, line)
        parts.append(b"-")  # what no column has
        parts.append(b"GET")
        parts.append(b"200")
        user = next((parts[place] for place in self._users if parts[place] != b"-"), b"")
        moment = (self._day if self._date is None else parts[self._date]) + b" " + parts[self._time]
        try:
            at = iso_time(moment.decode("ascii", "replace"))
        except ValueError:
            return dropped(Drop.TIME, moment)
        url, query = parts[self._url], parts[self._query]
        if query != b"-":
            url = url + b"?" + query
        return user, at, self._verdicts[parts[self._method], parts[self._status], parts[self._kind]], url

    def _obey(self, line: bytes) -> None:
        directive, _, says = line[1:].decode("utf-8", "replace").partition(":")
        if directive.strip().lower() == "fields":
            self._arrange(says.lower().split())
        elif directive.strip().lower() == "date":
            self._day = says.strip()[:10].encode()

    def _arrange(self, names: Sequence[str]) -> None:
        width = self._width = len(names)
        places = {name: place for place, name in enumerate(names)}

        def place(default: int, *names: str) -> int:
            return next((places[name] for name in names if name in places), width + default)

        self._users = [places[name] for name in ("cs-username", "c-ip", "c-dns") if name in places]
        self._date, self._time = places.get("date"), place(0, "time")
        self._url = place(0, "cs-uri", "cs-uri-stem")
        self._query = width if "cs-uri" in places else place(0, "cs-uri-query")
        self._method, self._status = place(1, "cs-method"), place(2, "sc-status")
        self._kind = place(0, "rs(content-type)", "sc(content-type)", "cs-mime-type", "sc-mime-type")


def not_a_line(line: bytes) -> Entry:
    bare = line.strip()
    return dropped(Drop.EMPTY) if not bare or bare.startswith(b"#") else dropped(Drop.BROKEN, line)


FORMATS: dict[str, Callable[[], Format]] = {"squid": Squid, "ncsa": Ncsa, "w3c": W3c}


def detected(lines: Sequence[bytes]) -> str | None:
    """The format that most of the lines are in; None where no line is in any."""
    understood = {}
    for name, make in FORMATS.items():
        read = make()
        understood[name] = sum(read(line)[2] not in _NOT_UNDERSTOOD for line in lines)
    best = max(understood, key=lambda name: understood[name])
    return best if understood[best] else None


_NOT_UNDERSTOOD = frozenset((Drop.EMPTY, Drop.BROKEN, Drop.TIME))
