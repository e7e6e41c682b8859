"""Tables that a user gives: the in-links of pages, the reach of domains.

Two columns, separated by commas or tabs, with or without a header; plain or gzipped. Empty lines and those that begin
with # are skipped. Errors name the line.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import MAX_RATIO, DamagedTextError, LineTooLongError, decompressed, numbered_lines
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import whole_number
from lycosa.vocabulary.urls import host_of, normalise, site_of

from .features import MAX_REACH

MAX_ROWS = 2_000_000
MAX_LINE_LENGTH = 10_000  # bytes
MAX_IN_LINKS = 10**15
_MIN_CONSECUTIVE = 5  # lines with the numbers 1, 2, 3, … from which a table is one of ranks, not reach
_URL_NAMES = {"url", "page", "address"}
_DOMAIN_NAMES = {"domain", "site", "host"}
_IN_LINK_NAMES = {"in_links", "in-links", "in links", "inlinks", "links", "count"}
_REACH_NAMES = {"reach", "traffic", "visitors"}


def read_in_links(path: Path) -> dict[Url, int]:
    """The in-links of pages by their URLs: lines of a URL and an integer."""
    in_links: dict[Url, int] = {}
    for line, address, text in _rows(path, "url,in_links", _URL_NAMES, _IN_LINK_NAMES):
        url = normalise(address)
        if url is None:
            raise UsageError(f"{path}:{line}: {_short(address)} is not a URL that can be fetched; correct or remove it")
        number = whole_number(text, maximum=MAX_IN_LINKS)
        if number is None:
            raise UsageError(f"{path}:{line}: in-links are a whole number from 0 on, not {_short(text)}; correct it")
        if url in in_links:
            raise UsageError(f"{path}:{line}: {_short(url)} was given before; keep one of the lines")
        in_links[url] = number
    return in_links


def read_traffic(path: Path) -> dict[str, float]:
    """The reach of domains: lines of a domain and a number; a host counts for its registered domain."""
    reach: dict[str, float] = {}
    consecutive = 0  # number of lines that count 1, 2, 3, … from the first
    for line, domain, text in _rows(path, "domain,reach", _DOMAIN_NAMES, _REACH_NAMES):
        consecutive += consecutive == len(reach) and text == str(len(reach) + 1)
        if consecutive == _MIN_CONSECUTIVE:
            raise UsageError(
                f"{path}:{line}: these numbers are ranks, the first being the best, and reach is the other way round; "
                "read the list with: lycosa standing import FILE"
            )
        site = _site(domain)
        if site is None:
            raise UsageError(f"{path}:{line}: {_short(domain)} is not a domain, such as example.org; correct it")
        number = _number(text)
        if number is None:
            raise UsageError(f"{path}:{line}: reach is a number from 0 on, not {_short(text)}; correct it")
        if site in reach:
            which = site if site == domain else f"{site}, to which {_short(domain)} belongs,"
            raise UsageError(f"{path}:{line}: {which} was given before; keep one of the lines")
        reach[site] = number
    return reach


def _site(domain: str) -> str | None:
    if not domain or "://" in domain or any(character in "/?#@:\\ \t" for character in domain):
        return None
    url = normalise(f"http://{domain}/")
    return None if url is None else site_of(host_of(url))


def _number(text: str) -> float | None:
    try:
        number = float(text) if text.isascii() and "_" not in text else -1.0
    except ValueError:
        return None
    return number if 0.0 <= number <= MAX_REACH else None


def _rows(path: Path, columns: str, first_names: set[str], second_names: set[str]) -> Iterator[tuple[int, str, str]]:
    """The rows without the header, each with the number of its line.

    columns: both columns, for messages.
    first_names, second_names: what a header may call the first and the second column.
    """
    separator, count, has_header = "", 0, False
    for line, text in _lines(path):
        separator = separator or ("\t" if "\t" in text else ",")
        fields = _fields(path, line, text, separator)
        is_first, count = not count, count + 1
        if is_first and len(fields) == 2 and fields[0].lower() in first_names and fields[1].lower() in second_names:
            has_header = True
            continue
        if len(fields) != 2:
            raise UsageError(
                f"{path}:{line}: a line must have two columns, {columns}, not {len(fields)}: {_short(text)}"
                "; put what has a comma in it between quotes"
            )
        if is_first and not any(character.isdigit() for character in fields[1]):
            raise UsageError(f"{path}:{line}: the columns must be {columns}, not {_short(text)}; correct them")
        if count > MAX_ROWS:
            raise UsageError(f"{path}:{line}: more than {MAX_ROWS} lines; keep those that matter")
        yield line, fields[0], fields[1]
    if count == int(has_header):
        raise UsageError(f"{path}:1: the table is empty; write lines of {columns}")


def _fields(path: Path, line: int, text: str, separator: str) -> list[str]:
    try:
        return [field.strip() for field in next(csv.reader([text], delimiter=separator, strict=True))]
    except csv.Error as error:
        raise UsageError(f"{path}:{line}: {error}: {_short(text)}; correct the quotes") from None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are neither empty nor comments, with their numbers."""
    try:
        with path.open("rb") as file:
            for number, data in numbered_lines(
                decompressed(file, max_ratio=MAX_RATIO), longest_line=MAX_LINE_LENGTH - 1
            ):
                try:
                    text = data.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r ")
                except UnicodeDecodeError:
                    raise UsageError(f"{path}:{number}: this is not UTF-8 text; save the table as UTF-8") from None
                if text.strip() and not text.startswith("#"):
                    yield number, text
    except DamagedTextError as damage:
        raise UsageError(f"{path}:{damage.line}: the file is cut short or damaged here ({damage})") from None
    except LineTooLongError as long:
        raise UsageError(
            f"{path}:{long.line}: the line is longer than {MAX_LINE_LENGTH} bytes; is it a table?"
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror or error}); name a table") from None


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:79] + "…")
