import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.reading.html import MAX_ANCHOR, MAX_LINKS, Parsed, parse_html
from lycosa.reading.markdown import markdown_of
from lycosa.reading.reader import Reader
from lycosa.vocabulary.records import Fetch, Link, Outcome, Page, Url

HERE = Url("http://site.example/a/page.html")


def parsed(html: str) -> Parsed:
    return parse_html(html, HERE)


def links(html: str) -> list[Link]:
    return list(parsed(html).links)


def targets(html: str) -> list[str]:
    return [link.target for link in parsed(html).links]


def test_text_is_what_is_seen() -> None:
    page = parsed(
        "<title> Hunting\n spiders</title><style>p{}</style><script>var x='<p>no'</script>"
        "<body><noscript>no</noscript><template>no</template><p>They  do not<b>weave</b>.<!-- no --><p>&amp; run"
    )
    assert page.title == "Hunting spiders"
    assert page.text.split() == ["They", "do", "not", "weave", ".", "&", "run"]


def test_the_main_text_leaves_out_what_the_markup_calls_surroundings() -> None:
    page = parsed(
        "<nav>Home</nav><div role=navigation>Menu</div><p>Spiders <a href=/x>hunt</a></p><footer>Imprint</footer>"
    )
    assert page.main.split() == ["Spiders", "hunt"]
    assert page.text.split() == ["Home", "Menu", "Spiders", "hunt", "Imprint"]
    assert parsed("<nav>Only navigation</nav>").main.split() == ["Only", "navigation"]


def test_a_title_within_a_drawing_is_not_the_title_of_the_page() -> None:
    assert parsed("<svg><title>Icon</title></svg><p>x").title == ""


def test_links_know_their_place_in_the_text() -> None:
    page = parsed('<p>See <a href="b.html" rel="NoFollow">the\n <i>second</i> page</a>, or <a href=/c>this</a>.')
    assert page.text.split() == ["See", "the", "second", "page", ",", "or", "this", "."]
    assert [(link.target, link.anchor, link.rel) for link in page.links] == [
        ("http://site.example/a/b.html", "the second page", "nofollow"),
        ("http://site.example/c", "this", ""),
    ]
    assert [page.text[link.position :].split()[0] for link in page.links] == ["the", "this"]


def test_links_without_words_take_them_from_their_image_or_title() -> None:
    found = links('<a href=/1><img alt="a red  fox"></a><a href=/2 title=Two></a><map><area href=/3 alt=Three></map>')
    assert {link.target[-1]: link.anchor for link in found} == {"1": "a red fox", "2": "Two", "3": "Three"}


def test_each_target_counts_once_and_the_page_itself_does_not() -> None:
    assert targets('<a href="x#1">1</a><a href="x#2">2</a><a href="#top">t</a><a href="page.html">me</a>') == [
        "http://site.example/a/x"
    ]


def test_only_what_can_be_crawled_is_a_link() -> None:
    assert targets("<a href=mailto:a@b.example>m</a><a href='javascript:x'>j</a><a>n</a><a href=''>e</a>") == []


def test_base_frames_and_refresh_lead_to_pages() -> None:
    page = '<base href="/docs/"><meta http-equiv=Refresh content="5; URL=\'next.html\'"><iframe src=in.html>no</iframe>'
    assert targets(page + "<a href=x>y</a>") == [
        f"http://site.example/docs/{name}" for name in ("next.html", "in.html", "x")
    ]
    assert targets("<frameset><frame src=left.html><frame src=right.html></frameset>") == [
        f"http://site.example/a/{name}" for name in ("left.html", "right.html")
    ]


def test_a_page_says_what_it_is() -> None:
    page = parsed(
        '<html lang="de-AT"><link rel=canonical href="/the-page"><meta name=Robots content="NoIndex, nofollow">'
        "<meta name=googlebot content=none><meta name=lycosa content=noarchive>"
    )
    assert page.canonical == "http://site.example/the-page"
    assert page.language == "de-AT"
    assert page.robots == {"noindex", "nofollow", "noarchive"}
    assert parsed("<link rel=canonical href='ftp://a.example/'>").canonical is None


def test_the_characters_that_mark_links_cannot_be_forged() -> None:
    page = parsed("<p>\x02one &#2; &#x0003; <a href=/x>two</a>&#3 \x03three &#23;4")
    assert page.links[0].anchor == "two"
    assert page.text[page.links[0].position :].startswith("two")


@pytest.mark.parametrize("forged", ["&#2a", "&#2", "&#&#2;2;", "&#x2g", "&#\x022;"])
def test_references_to_the_mark_move_no_link(forged: str) -> None:
    page = parsed(f"<p>{forged} intro words here <a href=/x>foo</a> and <a href=/y>bar</a>")
    assert [page.text[link.position :].split()[0] for link in page.links] == ["foo", "bar"]


def test_a_link_that_holds_a_table_of_links() -> None:
    page = parsed("<a href=/1>out<table><td><a href=/2>in</a></td></table>rest</a>")
    assert {link.target[-1] for link in page.links} == {"1", "2"}
    for link in page.links:
        assert " ".join(page.text[link.position :].split()).startswith(link.anchor)


def test_links_anchors_and_titles_are_bounded() -> None:
    page = parsed("".join(f"<a href=/{number}>n</a>" for number in range(2 * MAX_LINKS)))
    assert len(page.links) == MAX_LINKS
    assert len(links("<a href=/x>" + "word " * 1000)[0].anchor) <= MAX_ANCHOR
    assert len(parsed("<title>" + "x" * 10_000).title) == 500
    assert targets("<base href='http://other.example/" + "x" * 9000 + "/'><a href=y>z</a>") == [
        "http://site.example/a/y"
    ]


FRAGMENTS = st.sampled_from(
    "<a_href=/1>|<a_href='2'>|</a>|<p>|</p>|<table><td>|</table>|<div>|</div>|<b>|</b>|word|_|\n|&nbsp;|\x02|\x03|&#2;|"
    "<script>|</script>|<base_href=/x/>|<|>|\0".replace("_", " ").split("|")
)


@pytest.mark.slow
@settings(max_examples=200)
@given(st.lists(FRAGMENTS, max_size=40).map("".join))
def test_every_anchor_stands_where_its_link_says(html: str) -> None:
    page = parsed(html)
    for link in page.links:
        assert " ".join(page.text[link.position :].split()).startswith(link.anchor)
    assert len({link.target for link in page.links}) == len(page.links)


@pytest.mark.slow
@given(st.text(max_size=300))
def test_any_text_is_a_page(html: str) -> None:
    encodable = html.encode("utf-8", "replace").decode()
    assert isinstance(parsed(encodable), Parsed)


@pytest.mark.parametrize("role", ["navigation", "contentinfo", "complementary"])
def test_a_page_that_calls_itself_navigation_as_a_whole_is_read_all_the_same(role: str) -> None:
    html = f"<html role={role}><body><p>All of it <a href=/a>and more</a>"
    page = parsed(html)
    assert page.text.split() == page.main.split() == ["All", "of", "it", "and", "more"]
    assert len(page.links) == 1
    assert "All of it" in markdown_of(html, Url("http://a.example/"))


def test_navigation_within_navigation_goes_with_it() -> None:
    page = parsed("<div role=navigation>a<div role=navigation>b<p role=contentinfo>c</div></div>" * 50 + "<p>the text")
    assert page.main.split() == ["the", "text"]


def test_a_reader_may_be_told_how_many_links_to_read_of_a_page() -> None:
    html = "".join(f"<a href=/{number}>n</a>" for number in range(30))
    page = parse_html(html, Url("http://a.example/"), max_links=20)
    assert (len(page.links), page.links_beyond) == (20, 10)


@pytest.mark.parametrize("long", ["base", "page"])
def test_what_a_page_can_make_of_short_links_is_bounded(long: str) -> None:
    """A base of 3,900 characters made 20 MB of a page of 60 kB, and each link is stored with the URL of its page."""
    base, url = ("b" * 3_900, "") if long == "base" else ("", "p" * 1_900)
    html = f"<base href=/{base}/>" + "".join(f"<a href={number}>n</a>" for number in range(5_000))
    page = parse_html(html, Url(f"http://a.example/{url}"))
    assert len(page.links) + page.links_beyond == 5_000
    assert len(page.links) >= 250
    assert sum(len(link.target) + len(url) for link in page.links) <= 1_250_000 + 4_000


def compressed_page(url: str, html: str) -> tuple[Page, int]:
    """A page that was sent compressed, and its size as sent."""
    body = gzip.compress(html.encode(), mtime=0)
    page = Reader()(Fetch(Url(url), Outcome.OK, 0.0, status=200, body=body, content=html.encode()))
    assert page is not None
    return page, len(body)


@pytest.mark.parametrize("part", ["base", "path"])
def test_the_urls_of_a_compressed_page_are_bounded_by_what_was_sent(part: str) -> None:
    path = "path/" * 500
    base, path = (path, "") if part == "base" else ("", path)
    links = "".join(f"<a href={path}{number}>n</a>" for number in range(3_000))
    page, size = compressed_page("http://a.example/", f"<base href=/{base}>{links}")
    assert len(page.links) + page.links_beyond == 3_000
    assert 0 < sum(len(link.target) for link in page.links) <= 36 * size + 3_000


def test_the_anchors_of_a_compressed_page_are_bounded_by_what_was_sent() -> None:
    """3,000 links with long anchors were 20 kB as sent, and up to 1.9 MB in the catalog."""
    links = "".join(f"<a href=/{number}>{'spiders and ' * 25}{number}</a>" for number in range(3_000))
    page, size = compressed_page("http://a.example/", links)
    assert len(page.links) == 3_000  # none is lost
    assert page.links[0].anchor
    assert sum(len(link.anchor) for link in page.links) <= 10 * size + MAX_ANCHOR


def test_a_compressed_page_of_real_links_is_read_whole() -> None:
    words = ["crc32", "add", "mul", "sub", "shift", "load", "store", "lane", "high", "low", "wide", "pair"]
    names = [f"v{a}_{b}q_{c}{d}" for a in words for b in words for c in "usf" for d in (8, 16, 32, 64)]
    page, _ = compressed_page(
        "https://doc.rust-lang.org/core/arch/arm/index.html",
        "".join(
            f'<li><a class="fn" href="fn.{name}.html" title="fn core::arch::arm::{name}">{name}</a></li>'
            for name in names
        ),
    )
    assert (len(page.links), page.links_beyond) == (len(names), 0)
    assert all(link.anchor for link in page.links)


def test_links_in_links_are_not_read_again_and_again() -> None:
    """Links in the cells of nested tables have the content of all that follow: 1 MB took seconds."""
    outer = "".join(f"<table><tr><td><a href=/outer{number}>" for number in range(150))
    page = parsed(f"{outer}{'<br>' * 1_000}late<a href=/inner>inner <b>words</b></a>")
    assert len(page.links) == 151
    assert {link.anchor for link in page.links[:-1]} == {""}
    assert page.links[-1].anchor == "inner words"


@pytest.mark.parametrize(
    ("link", "anchor"),
    [
        ("<a href=/x><b> two </b><i>words</i></a>", "two words"),
        ("<a href=/x title=t><img><img alt=one><img alt=two></a>", "one"),
        ("<a href=/x title=t><img alt=''><img alt=two></a>", ""),
        ("<a href=/x title=t> <img></a>", "t"),
        ("<a href=/x title=t></a>", "t"),
        ("<a href=/x>one<table><tr><td><a href=/y>two</a></table></a>", "one two"),
    ],
)
def test_the_anchor_of_a_link_is_its_text_or_describes_its_image_or_is_its_title(link: str, anchor: str) -> None:
    assert parsed(f"<p>{link}").links[0].anchor == anchor


def test_a_page_of_many_links_of_ordinary_length_is_read_whole() -> None:
    html = "".join(f"<a href=/{'path/' * 10}{number}>n</a>" for number in range(5_000))
    page = parse_html(html, Url("http://www.example.org/" + "path/" * 10))
    assert (len(page.links), page.links_beyond) == (5_000, 0)


def test_what_robots_must_know_of_a_link_is_not_cut_off() -> None:
    page = parsed(f'<a href="/b" rel="{"noopener " * 12}NoFollow">b</a>')
    assert "nofollow" in page.links[0].rel
    assert len(page.links[0].rel) <= 100


def test_semicolons_part_directives_too() -> None:
    assert parsed('<meta name=robots content="noindex;nofollow">').robots == {"noindex", "nofollow"}
