"""Titles and texts that would steer a terminal, a browser or a spreadsheet are shown, and do nothing."""

import csv
import io
import re
from html.parser import HTMLParser

import pytest

from crawling import apart, collection, done, pages
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.server import WorldServer
from worlds import html

ESCAPES = "\x1b[2J\x1b]0;owned\x07\x1b[31m"
BIDI = "\u202egnp.exe\u2066\u200f"
TITLES = {
    "markup": "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "closing": "</title></style></script><script>alert(3)</script>",
    "escapes": f"red{ESCAPES}alert",
    "nul": "a\0b\x08\x7f\x9b31m",
    "bidi": f"photo{BIDI}",
    "rich": "[bold red]loud[/bold red] [link=http://evil.example]click[/link]",
    "formula": "=cmd|' /C calc'!A1",
    "plus": "+1+cmd",
    "minus": "-2+cmd",
    "at": "@SUM(1)",
    "tab": "\t=1+1",
    "lines": "first\r\nsecond\x0b\u2028third\x85fourth",
    "surrogate": "&#xD800;half",
    "percent": "%s %d %(name)s {0} {name}",
    "quote": "\"';--",
}
HOME = "http://text.example/"


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;") if not text.startswith("&#") else text


WORLD = FixedWorld(
    {
        HOME: html("Home", "honey", [(f"{HOME}{name}", escaped(title)) for name, title in TITLES.items()]),
        **{
            f"{HOME}{name}": html(escaped(title), f"honey {escaped(title)} {name}x {name}y {name}z")
            for name, title in TITLES.items()
        },
    }
)
NOT_FOR_TERMINALS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    place = tmp_path_factory.mktemp("text")
    folder = collection(place / "c", [HOME], topic='keywords = ["honey"]')
    with WorldServer(WORLD) as served:
        said = apart("crawl", folder, "--verbose", "--log", place / "log.txt", "--resolve", served.resolve)
    assert said.code == 0, said.err
    assert len(pages(folder)) == len(TITLES) + 1
    return folder, said


def assert_inert(text: str) -> None:
    found = NOT_FOR_TERMINALS.search(text)
    assert found is None, (found, text[max(0, found.start() - 40) : found.end() + 40])


def test_a_crawl_shows_them_inert(crawled):
    folder, said = crawled
    assert_inert(said.err)
    log = (folder.parent / "log.txt").read_text(encoding="utf-8")
    assert_inert(log)
    assert len(log.splitlines()) == len(TITLES) + 1
    assert "[bold red]loud" in said.err


@pytest.mark.parametrize(
    "words",
    [
        ["show"],
        ["pages"],
        ["pages", "--json"],
        ["search", "honey", "--limit", "100"],
        ["search", "honey", "--limit", "100", "--json"],
    ],
)
def test_show_and_search_show_them_inert(crawled, words):
    command, *rest = words
    assert_inert(done(command, crawled[0], *rest).out)


@pytest.mark.parametrize("name", TITLES)
def test_explain_shows_them_inert(crawled, name):
    said = done("explain", crawled[0], HOME + name).out
    assert_inert(said)
    assert "stored" in said
    assert_inert(done("explain", crawled[0], HOME + name, "--json").out)


class _Seen(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.handlers, self.links, self.outside = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attributes if name.startswith("on")]
        self.links += [value for name, value in attributes if name == "href"]
        self.outside += [value for name, value in attributes if name == "src"]


def test_a_report_shows_them_inert(crawled):
    folder = crawled[0]
    done("report", folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    seen = _Seen()
    seen.feed(page)
    assert_inert(page)
    assert not seen.handlers
    assert not seen.outside
    assert not {"script", "img", "iframe", "object", "embed", "form", "base"} & set(seen.tags)
    assert all(link.startswith(("http://text.example/", "#")) for link in seen.links if link), seen.links
    assert "alert(1)" in page


def test_a_csv_has_no_formula_and_one_row_a_page(crawled):
    said = done("export", crawled[0], "--format", "csv").out
    table = list(csv.reader(io.StringIO(said)))
    assert len(table) == len(TITLES) + 2
    assert_inert(said.replace("\r\n", "\n").replace(BIDI, ""))
    cells = [cell for row in table[1:] for cell in row]
    assert not [cell for cell in cells if cell.lstrip()[:1] in tuple("=+@") or re.match(r"\s*-\D", cell)]
    assert not [cell for cell in cells if re.match(r"\s*-\d+[^\d.]", cell)]


def test_every_other_export_has_one_row_a_page(crawled, tmp_path):
    import pyarrow.parquet

    folder = crawled[0]
    assert len(done("export", folder, "--format", "jsonl").out.splitlines()) == len(TITLES) + 1
    assert done("export", folder, "--format", "urls").out.split() == pages(folder)
    done("export", folder, "--format", "parquet", "--out", tmp_path / "x.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    assert table.column("url").to_pylist() == pages(folder)


@pytest.mark.slow
def test_json_of_a_crawl_is_one_object_a_line(tmp_path):
    folder = collection(tmp_path / "c", [HOME], topic='text = "honey"')
    with WorldServer(WORLD) as served:
        said = done("crawl", folder, "--json", "--resolve", served.resolve)
    assert_inert(said.out)
    assert len(said.out.splitlines()) == len(TITLES) + 1
