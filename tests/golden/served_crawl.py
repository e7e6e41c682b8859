"""What a collection holds after a crawl over HTTP that was killed and went on, a refresh, and an import."""

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from crawling import archives, begin, catalog, collection, done, kill, listing, wait_until
from fixtures.fixed_world import FixedWorld
from lycosa.strategies.base import unpacked
from lycosa.vocabulary.records import Host, Url
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer
from worlds import html

WEB = PracticeWeb(seed=6, hosts=6, pages=90)
KILLED_AT = 30  # requests for pages


class Stalling(FixedWorld):
    """The practice web, which keeps silent at one request until it is allowed to speak: the moment to kill a crawl."""

    def __init__(self) -> None:
        super().__init__({})
        self.stalls, self.speaks = threading.Event(), threading.Event()
        self._until = KILLED_AT

    def page(self, url: Url) -> bytes | None:
        self._until -= 1
        if self._until == 0:
            self.stalls.set()
            self.speaks.wait()
        return WEB.page(url)

    def redirect(self, url: Url) -> Url | None:
        return WEB.redirect(url)

    def robots(self, host: Host) -> str | None:
        return WEB.robots(host)


# Which moment it was, how long an answer took, and where a record lies in a file whose compressed records tell both:
# these differ from run to run, and so do the names of archive files, but for their numbers. Nothing else is left out.
VARIES = {"at", "elapsed", "place", "length", "stopped_at", "looked_at", "vanished_at", "days"}
VARYING_STATE = {"position"}  # key of the catalog's state: up to where in the archive it goes


@contextmanager
def _a_month_on() -> Iterator[None]:
    """Lets the wall clock be ahead. Seconds after a crawl, which pages are the most urgent hangs on milliseconds."""
    now = time.time
    with patch("time.time", lambda: now() + 30 * 86_400):
        yield


def _later_web() -> FixedWorld:
    """Every sixth page has another text and links to a new one; every eleventh is gone."""
    later = {}
    for number, (url, body) in enumerate((url, WEB.page(url) or b"") for url in WEB.urls()):
        if number % 6 == 1:
            new = Url(f"{url}news-{number}" if url.endswith("/") else f"{url}-news")
            later[new] = html(f"News {number}", f"{WEB.topics[0]} news number {number}", [url])
            body = body.replace(b"</body>", f'<p>Changed, with <a href="{new}">news</a>.</p></body>'.encode())
        if number % 11 != 10:
            later[url] = body
    return FixedWorld(later)


def _foreign_archive(path: Path) -> Path:
    """Four pages that somebody else fetched, one of which the collection has."""
    urls = [WEB.front_page, *(Url(f"http://foreign.example/{number}") for number in range(3))]
    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=True)
        for url in urls:
            body = BytesIO(html(f"Of others: {url[-1]}", f"{WEB.topics[0]} of others {url}", [f"{url}/more"]))
            headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
            dated = {"WARC-Date": "2024-05-06T07:08:09Z"}
            record = writer.create_warc_record(
                url, "response", payload=body, http_headers=headers, warc_headers_dict=dated
            )
            writer.write_record(record)
    return path


def _plain(value: Any) -> Any:
    """A value without what varies, its numbers to nine digits, JSON read, arrays of numbers unpacked."""
    if isinstance(value, list) and len(value) == 3 and value[0] in ("float32", "float64"):
        return [*value[:2], [float(f"{number:.6g}") for number in unpacked(value).ravel().tolist()]]
    if isinstance(value, str | bytes) and value[:1] in ("{", "[", b"{", b"["):
        value = json.loads(value)
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if key not in VARIES}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, str) and value.endswith(".warc.gz"):
        return value.rpartition("-")[2]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def catalog_rows(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table of the catalog, in the order of the keys."""
    with catalog(folder) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {}
        for name in sorted(names):
            asked = connection.execute(f"SELECT * FROM {name}")
            columns = [column for column, *_ in asked.description]
            rows = [_plain(dict(zip(columns, row, strict=True))) for row in asked]
            found[name] = [row for row in rows if row.get("key") not in VARYING_STATE]
    return found


def archive_records(folder: Path) -> list[list[Any]]:
    """Kind, URL and payload of every record in the order of writing; of metadata what it says."""
    found = []
    for path in archives(folder):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                content = record.content_stream().read()
                headers = record.rec_headers
                if record.rec_type == "metadata":
                    said: Any = _plain(content.decode())
                elif record.rec_type == "warcinfo":
                    said = None  # software and its version
                else:
                    payload = headers.get_header("WARC-Payload-Digest")
                    head = record.http_headers  # None of what was "not modified"
                    said = [head.to_str() if head else "", payload, hashlib.sha1(content).hexdigest()]
                found.append([record.rec_type, headers.get_header("WARC-Target-URI"), said])
    return found


def served_crawl(work: Path) -> dict[str, Any]:
    """What the collection and its archive hold in the end, and which URLs were asked for in which order."""
    topic = WEB.topics[0]
    first = Stalling()
    folder = collection(work / "c", [WEB.front_page], topic='examples = "good.txt"')
    listing(folder / "good.txt", [url for url in WEB.urls() if WEB.topic(url) == topic][:8])
    with WorldServer(first) as served:
        words = ["--concurrency", 1, "--delay", 0, "--resolve", served.resolve, "--quiet"]
        crawl = ["crawl", folder, "--pages", 45, "--exclude-url", "*/gallery/*", *words]
        process = begin(*crawl)
        wait_until(first.stalls.is_set, process)
        kill(process)
        first.speaks.set()
        done(*crawl)
        served.switch_to(_later_web())
        with _a_month_on():
            done("refresh", folder, "--budget", 40, "--expand", 0.4, *words)
    done("import", folder, _foreign_archive(work / "foreign.warc.gz"))
    return {"asked": served.requests, "catalog": catalog_rows(folder), "archive": archive_records(folder)}
