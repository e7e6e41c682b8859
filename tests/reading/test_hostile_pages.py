"""What a page can do to its reader: cost must grow with its length, not faster, and nothing may be raised."""

import random
import time
from collections.abc import Callable

import pytest

from lycosa.reading import Reader, main_text, markdown_of
from lycosa.reading.prune import MAX_DEPTH, prune
from lycosa.vocabulary.records import Fetch, Outcome, Page, Url

MIXED = "div b table td li ul span a dd svg p select x-y template button form noscript"


def _mixed(count: int) -> str:
    return "".join(f"<{name} href=x>" for name in random.Random(7).choices(MIXED.split(), k=count))


HOSTILE: dict[str, Callable[[int], str]] = {
    "nested div": lambda n: "<div>" * n,
    "nested and closed": lambda n: "<div>" * n + "</div>" * n,
    "nested b": lambda n: "<b>" * n,
    "nested font": lambda n: "".join(f"<font size={i}>" for i in range(n)),
    "nested tables": lambda n: "<table><tr><td>" * n,
    "nested mixed": _mixed,
    "nested lists": lambda n: "<li><dd>" * n,
    "leaking spans": lambda n: "<span><p></span></p>" * n,
    "leaking noscripts": lambda n: "<noscript><p></noscript></p>" * n,
    "inputs in a drawing": lambda n: "<svg>" + "<input>" * n,
    "open fonts before paragraphs": lambda n: "".join(f"<font a={i}>" for i in range(400)) + "<p>x" * n,
    "one tag of many attributes": lambda n: "<div " + " ".join(f"a{i}" for i in range(n)) + ">",
    "attributes that hold ends of tags": lambda n: "<div " + " ".join(f'a{i}=">"' for i in range(n)) + ">",
    "attributes for the root": lambda n: "".join(f"<html a{i}=1>" for i in range(n)),
    "links": lambda n: "".join(f"<a href=/{i}>link</a>" for i in range(n)),
    "links in links": lambda n: "".join(f"<table><td><a href=/{i}>link" for i in range(n)),
    "a long base": lambda n: f"<base href='/{'x' * 9 * n}/'>" + "".join(f"<a href={i}>y" for i in range(n)),
    "one long word": lambda n: "a" * 10 * n,
    "brackets": lambda n: "<" * 10 * n,
    "references": lambda n: "&#" * 5 * n,
    "NULs": lambda n: "\0" * 10 * n,
    "list items": lambda n: "<li>a" * n,
    "ends within comments": lambda n: "<div><!--</div>-->" * n,
    "ends within raw text": lambda n: "<div><xmp></div></xmp>" * n,
    "ends within styles": lambda n: "<div><style></div></STYLE >" * n,
    "ends within junk": lambda n: "<div></</div>" * n,
    "names cut by marks": lambda n: "<\x02div>" * n,
    "open comments": lambda n: "<!--" * n,
    "scripts in comments in scripts": lambda n: "<script><!--" * n,
}


def _read(html: str) -> Page:
    page = Reader()(Fetch(Url("http://site.example/"), Outcome.OK, at=0.0, content=html.encode()))
    assert page is not None
    return page


def _cost(html: str) -> float:
    start = time.process_time()
    _read(html)
    main_text(html)
    markdown_of(html, Url("http://site.example/"))
    return time.process_time() - start


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_cost_grows_with_length_not_with_its_square(name: str) -> None:
    small, large = (HOSTILE[name](count) for count in (2_500, 20_000))
    limit = 8 * 3 * (_cost(small) + 0.0025)  # a square would be 64 times as much
    assert _cost(large) < limit or _cost(large) < limit  # once more, lest the first was disturbed


@pytest.mark.slow
def test_a_hundred_thousand_nested_tags_keep_their_text_and_links() -> None:
    page = _read("<div>" * 100_000 + "deep <a href=/below>down</a>" + "</div>" * 100_000 + "<p>after")
    assert page.text.split() == ["deep", "down", "after"]
    assert page.links[0].target == "http://site.example/below"


def test_ordinary_pages_are_parsed_as_they_are() -> None:
    html = "<html><body>" + "<p class='x'>some <b>text</b> and <a href='/y'>a link</a></p>" * 100
    assert prune(html) is html


def test_large_pages_keep_structure_down_to_a_depth() -> None:
    html = "<html><body>" + "<div class='x'><p>text <a href=\"/y?a=1\">link</a></p></div>" * 1000 + "</body></html>"
    assert prune(html) == html
    deep = prune("<div>" * 2000 + "<table>" * 2000)
    assert deep.count("<div>") == MAX_DEPTH and "<table>" not in deep


def test_links_survive_odd_tags_on_large_pages() -> None:
    odd = "<a title='a>b' href=/1>one</a><A HREF = \"/2\" onclick='x(\"y\")'>two</A><a href='/3\"' x=\"'\">three</a>"
    page = _read("<i>x</i>" * 2000 + odd)
    assert {"http://site.example/2", "http://site.example/3%22"} <= {link.target for link in page.links}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_garbage_is_read(seed: int) -> None:
    garbage = random.Random(seed).randbytes(200_000)
    for content in (garbage, bytes(byte & 0x3F for byte in garbage), b"<p>" + garbage):
        page = Reader()(Fetch(Url("http://site.example/"), Outcome.OK, at=0.0, content=content))
        assert page is not None
        assert isinstance(markdown_of(content.decode("latin-1"), page.url), str)
