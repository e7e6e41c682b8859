import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.small_webs import page, write
from lycosa.reading.decode import decode
from lycosa.reading.reader import page_of_html
from lycosa.vocabulary.records import Url
from lycosa_lab.worlds.mount import LinkRewriter, MountPoint, UrlVariants, as_utf8, file_url, is_html_name, mount

BASE = "http://site.example/docs/"
NAMES = [
    "index.html",
    "a/index.html",
    "a/Deep%20File.html",
    "a/b(c)'d.html",
    "news.html.gz",
    "caf\xe9.html",
    "why?.html",
    "100%25.html",
]
URLS = {name: file_url(BASE, name) for name in NAMES}
SITE = MountPoint(
    BASE, "/usr/share/doc/site/", (re.compile(r"(?:old\.example|site\.readthedocs\.io|/var/www/site)/(?:en/[^/]+/)?"),)
)


def rewriter() -> LinkRewriter:
    return LinkRewriter(
        [url for url in URLS.values() if url], [SITE], {Url(BASE + "alias.html"): Url(BASE + "index.html")}
    )


@pytest.mark.parametrize(
    ("href", "name"),
    [
        ("index.html", "a/index.html"),
        ("../", "index.html"),
        ("..", "index.html"),
        ("../INDEX.html", "index.html"),
        ("./", "a/index.html"),
        ("b(c)'d.html", "a/b(c)'d.html"),
        ("b%28c%29%27d.html#part", "a/b(c)'d.html"),
        ("deep%2520file.html", "a/Deep%20File.html"),
        ("../news.html", "news.html.gz"),
        ("../news.html.gz", "news.html.gz"),
        ("../caf%C3%A9.html", "caf\xe9.html"),
        ("../caf\xe9.html", "caf\xe9.html"),
        ("../alias.html", "index.html"),
        ("file:///usr/share/doc/site/news.html", "news.html.gz"),
        ("/usr/share/doc/site/a/index.html", "a/index.html"),
        ("../../site/a/", "a/index.html"),
        ("https://site.example/docs/", "index.html"),
        ("https://old.example/en/2.0/a/", "a/index.html"),
        ("http://site.readthedocs.io/news", "news.html.gz"),
        ("http://site.readthedocs.io/news?highlight=bees", "news.html.gz"),
        ("file://localhost/usr/share/doc/site/news.html", "news.html.gz"),
        ("/var/www/site/why%3F.html", "why?.html"),
        ("/var/www/site/100%2525", "100%25.html"),
    ],
)
def test_a_link_in_any_spelling_leads_to_its_page(href: str, name: str) -> None:
    url = Url(BASE + "a/b(c)'d.html") if name != "a/b(c)'d.html" else Url(BASE + "a/other.html")
    text, targets = rewriter().rewrite(url, f'<p><a class="x" href="{href}">go</a>', "/usr/share/doc/site/a/page.html")
    assert targets == [URLS[name]]
    assert [link.target for link in page_of_html(url, text).links] == [URLS[name]]
    assert ("#part" in href) == ("#part" in text)


@pytest.mark.parametrize(
    "href",
    [
        "missing.html",
        "http://elsewhere.example/",
        "mailto:a@b.example",
        "#top",
        "javascript:void(0)",
        "//other.example/a/",
        "",
    ],
)
def test_other_links_are_left_as_they_are(href: str) -> None:
    html = f"<a href='{href}'>go</a><a HREF={href or 'x'}>again</a>"
    assert rewriter().rewrite(Url(BASE + "a/page.html"), html, "/usr/share/doc/site/a/page.html") == (html, [])


def test_only_the_attribute_that_is_a_link_is_rewritten() -> None:
    html = '<a data-href="../index.html?1" xlink:href="../index.html?2" href="../index.html?3">x</a>'
    text, targets = rewriter().rewrite(Url(BASE + "a/page.html"), html, "/elsewhere/page.html")
    assert text == html.replace("../index.html?3", str(URLS["index.html"]))
    assert targets == [URLS["index.html"]]
    based = '<base data-href="http://far.example/"><a href="index.html">x</a>'
    assert rewriter().rewrite(Url(BASE + "a/page.html"), based, "/x.html") == (based, [URLS["a/index.html"]])


def test_a_link_that_is_right_keeps_its_spelling_and_base_tags_count() -> None:
    html = '<base href="http://site.example/docs/a/"><a href="../index.html?">x</a><a href=index.html>y</a>'
    text, targets = rewriter().rewrite(Url("http://far.example/"), html, "/elsewhere/page.html")
    assert "<a href=index.html>y</a>" in text
    assert targets == [URLS["index.html"], URLS["a/index.html"]]


@given(st.text(max_size=200))
def test_any_text_can_be_rewritten(text: str) -> None:
    rewriter().rewrite(Url(BASE), text, "/usr/share/doc/site/x.html")
    hostile = f'<a href="{text}">'
    rewritten, _ = rewriter().rewrite(Url(BASE), hostile, "/usr/share/doc/site/x.html")
    assert rewritten.count("<a ") >= 1


@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.sampled_from(["utf-8", "iso-8859-1", "utf-16"])
)
def test_every_page_becomes_utf_8_that_reads_the_same_whatever_it_declares(text: str, declared: str) -> None:
    content = f'<meta charset="{declared}">{text}'.encode("utf-8" if declared == "utf-8" else "latin-1", "replace")
    said = decode(content)
    stored = as_utf8(said, content)
    assert decode(stored) == decode(stored, "text/html; charset=utf-8") == said


def test_pages_are_recognised_by_their_names() -> None:
    assert [name for name in ("a.html", "b.HTM", "c.html.gz", "d.txt", "e.gz", "html") if is_html_name(name)] == [
        "a.html",
        "b.HTM",
        "c.html.gz",
    ]


def test_of_two_pages_that_differ_in_case_each_is_found_by_its_own_name() -> None:
    urls = [Url(BASE + "Chess.html"), Url(BASE + "chess.html")]
    _, targets = LinkRewriter(urls, [MountPoint(BASE)]).rewrite(Url(BASE), '<a href="chess.html">', "/x.html")
    assert targets == [urls[1]]
    assert UrlVariants(urls).page(BASE + "CHESS.html") == urls[0]


def test_a_gzipped_page_is_unpacked_whatever_the_case_of_its_suffix(tmp_path: Path) -> None:
    write(tmp_path, {"A.HTML.GZ": gzip.compress(page("A", "of bees").encode())})
    assert is_html_name("A.HTML.GZ")
    url = file_url("http://a.example/", "A.HTML.GZ")
    assert url == "http://a.example/A.HTML"
    (mounted,) = mount(tmp_path, {"A.HTML.GZ": url}, LinkRewriter([url], []))
    assert b"of bees" in mounted.html
