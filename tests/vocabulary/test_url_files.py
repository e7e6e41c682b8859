from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.recipe import read_seeds
from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.url_files import read_url_file, url_of_bare_host

BOOKMARKS = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- This is an automatically generated file.
     It will be read and overwritten.
     DO NOT EDIT! -->
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks Menu</H1>
<DL><p>
    <DT><H3 ADD_DATE="1700000000" PERSONAL_TOOLBAR_FOLDER="true">Bees &amp; more</H3>
    <DL><p>
        <DT><A HREF="https://hives.example/a?x=1&amp;y=2" ADD_DATE="1700000001" ICON="data:image/png,iVBO=">Hives</A>
        <DD>A page > all others
        <DT><A HREF="javascript:alert(1)">A script</A>
        <DT><A HREF="place:sort=8&maxResults=10">Most visited</A>
        <DT><A HREF="HTTP://Combs.Example" LAST_MODIFIED="1">Combs</A>
    </DL><p>
</DL><p>
"""
OPML = """<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0">
  <head><title>Subscriptions</title></head>
  <body>
    <outline text="Bees">
      <outline type="rss" text="a > b" xmlUrl="https://hives.example/feed.xml" htmlUrl="https://hives.example/"/>
      <outline type='link' text='Combs' url='https://combs.example/'/>
      <outline type="rss" text="Only a feed" xmlUrl="https://feeds.example/rss"/>
    </outline>
  </body>
</opml>
"""


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "urls"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_the_bookmarks_of_a_browser_are_read_and_what_is_no_page_is_counted(tmp_path):
    found = read_url_file(written(tmp_path, "\ufeff\n" + BOOKMARKS), "seeds")
    assert [line.text for line in found.lines] == ["https://hives.example/a?x=1&y=2", "http://combs.example/"]
    assert [line.number for line in found.lines] == [12, 16]
    assert found.left_out == 2


def test_the_pages_of_opml_are_read_and_feeds_without_one_are_counted(tmp_path):
    found = read_url_file(written(tmp_path, OPML), "seeds")
    assert [tuple(line) for line in found.lines] == [(6, "https://hives.example/"), (7, "https://combs.example/")]
    assert found.left_out == 1


def test_quotes_at_the_end_of_a_url_belong_to_it(tmp_path):
    bookmarks = tmp_path / "bookmarks.html"
    bookmarks.write_text(
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n"
        """<A HREF="https://hives.example/bees'">A</A><A HREF='https://hives.example/comb'>B</A>"""
        "<A HREF=https://hives.example/wax>C</A>"
    )
    urls = [line.text for line in read_url_file(bookmarks, "seeds").lines]
    assert urls == [f"https://hives.example/{name}" for name in ("bees'", "comb", "wax")]


def test_the_line_that_is_no_text_is_found_behind_a_byte_order_mark(tmp_path):
    seeds = tmp_path / "seeds.txt"
    seeds.write_bytes(b"\xef\xbb\xbfhttp://a.example/\n\xffhttp://b.example/\n")
    with pytest.raises(RecipeError, match=r"seeds\.txt:2:"):
        read_url_file(seeds, "seeds")


def test_plain_lines_keep_their_numbers(tmp_path):
    found = read_url_file(written(tmp_path, "# some\n\n http://a.example/ \r\ntext of words\n"), "seeds")
    assert [tuple(line) for line in found.lines] == [(3, "http://a.example/"), (4, "text of words")]


def test_seeds_may_be_host_names_which_is_said(tmp_path):
    said: list[str] = []
    path = written(tmp_path, "www.example.org\nhttp://a.example/\nexample.org/bees?x#y\n")
    assert read_seeds(path, notify=said.append) == [
        "https://www.example.org/",
        "http://a.example/",
        "https://example.org/bees?x",
    ]
    assert said == [
        f"{path}:1: 'www.example.org' is read as https://www.example.org/",
        f"{path}:3: 'example.org/bees?x#y' is read as https://example.org/bees?x",
    ]


@pytest.mark.parametrize("line", ["localhost:80", "mailto:me@example.org", "word", "a b.example", "/etc/hosts", "a..b"])
def test_what_is_neither_is_refused_with_its_line(tmp_path, line):
    path = written(tmp_path, f"http://a.example/\n{line}\n")
    with pytest.raises(RecipeError, match=r"urls:2: not a URL that can be crawled"):
        read_seeds(path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("<!DOCTYPE html><html><body>A page</body></html>", "a web page, not a list of URLs"),
        (b"http://a.example/\n\xff\n", "urls:2: the seeds are not UTF-8"),
        (BOOKMARKS.replace("https:", "about:").replace("HTTP:", "about:"), "no seeds"),
    ],
)
def test_files_of_something_else_are_named(tmp_path, content, complaint):
    with pytest.raises(RecipeError, match=complaint):
        read_seeds(written(tmp_path, content))


@pytest.mark.parametrize("text", ["notes.md", "page.html", "archive.zip", "a.b.unheardof", "word", "1.2.3.4"])
def test_what_may_be_a_file_is_no_host_name(text):
    assert url_of_bare_host(text, or_file=True) is None


@pytest.mark.parametrize("text", ["example.org", "www.example.co.uk/a/b.html", "hives.example", "a.zip/x", "müller.de"])
def test_host_names_are_told_from_files(text):
    url = url_of_bare_host(text, or_file=True)
    assert url is not None and url.startswith("https://")


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<a ", "<a href=", '<a href="', "<a x='", "<outline a ", "<a" + " b" * 9, "<a\n\n"])
@pytest.mark.parametrize("start", ["<!DOCTYPE NETSCAPE-Bookmark-file-1>\n", "<opml>"])
def test_a_hostile_file_is_read_in_one_pass(tmp_path, piece, start):
    """A quadratic reading of these would not come to an end."""
    found = read_url_file(written(tmp_path, start + piece * (4_000_000 // len(piece))), "seeds")
    assert found.lines == []


@given(st.text(st.sampled_from("<a href=\"'outline>htp:/x.\n &;"), max_size=200))
def test_no_bookmarks_raise(tmp_path_factory, text):
    path = written(tmp_path_factory.mktemp("any"), "<!DOCTYPE NETSCAPE-Bookmark-file-1>" + text)
    for line in read_url_file(path, "seeds").lines:
        assert line.text.startswith(("http://", "https://"))
