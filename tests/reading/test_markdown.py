"""Pages as Markdown: what a reader of Markdown makes of it is what the page says, and nothing that it smuggles in."""

import html
import re
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lycosa.reading.markdown import markdown_of
from lycosa.vocabulary.markdown import escape_markdown, link_target, markdown_link
from lycosa.vocabulary.records import Url

PAGE = Url("http://a.example/dir/page.html")
COMMONMARK = MarkdownIt("commonmark").enable("table").enable("strikethrough")
MARKS = st.text(st.sampled_from("\\`*_[]()<>#+-.!|~&=:;\"'/ \n\t019abé蜂\x00\x1b\u2028javascript"), max_size=40)
TEXTS = MARKS | st.text(st.characters(codec="utf-8"), max_size=40)


def tokens(markdown: str) -> list:
    found = []
    for token in COMMONMARK.parse(markdown):
        found += [token, *(token.children or [])]
    return found


def kinds(markdown: str) -> set[str]:
    return {token.type for token in tokens(markdown)}


def shown(markdown: str) -> str:
    """The text that a reader sees."""
    return "".join(token.content for token in tokens(markdown) if token.type in ("text", "code_inline", "softbreak"))


def words(text: str) -> str:
    """A text as one line, without control characters."""
    return " ".join(re.sub(r"[\x00-\x08\x0b\x0e-\x1b\x7f-\x84\x86-\x9f]", "", text).split())


def spaceless(text: str) -> str:
    return "".join(words(text).split())


@given(TEXTS)
def test_escaped_text_is_that_text_again(text):
    escaped = escape_markdown(text)
    assert "\n" not in escaped
    assert kinds(escaped) <= {"paragraph_open", "paragraph_close", "inline", "text"}
    assert shown(escaped) == words(text)


@given(TEXTS, TEXTS)
def test_a_link_is_one_link_with_this_text_and_address(text, path):
    url = f"http://a.example/{path}"
    link = markdown_link(f"x{text}x", url)
    opened = [token for token in tokens(link) if token.type == "link_open"]
    assert len(opened) == 1
    assert shown(link) == words(f"x{text}x")
    assert unquote(opened[0].attrs["href"]) == unquote(url)


@given(TEXTS)
def test_nothing_ends_the_address_of_a_link(path):
    assert not re.search(r"[\s()<>`\"\\]", link_target(f"http://a.example/{path}"))


TAGS = (
    "<p> </p> <h1> <h2> </h1> <ul> <ol> <li> </ul> </ol> <blockquote> </blockquote> <pre> </pre> <code> </code> <b> "
    "</b> <em> </em> <table> <tr> <td> <th> </table> <br> <hr> <div> </div> <span> <script> </script> </a> <q> <dl>"
)
FRAGMENTS = st.lists(
    st.sampled_from(TAGS.split())
    | st.sampled_from(["/x", "javascript:alert(1)", "data:text/html,x"]).map(lambda href: f"<a href='{href}'>")
    | TEXTS.map(lambda text: f'<img src="http://t.example/" alt="{html.escape(text)}">')
    | TEXTS.map(html.escape),
    max_size=30,
).map("".join)


@pytest.mark.slow
@given(FRAGMENTS)
def test_no_page_brings_in_html_an_image_or_another_scheme(page):
    markdown = markdown_of(page, PAGE)
    found = tokens(markdown)
    assert not {"html_inline", "html_block", "image"} & {token.type for token in found}
    targets = {token.attrs["href"] for token in found if token.type == "link_open"}
    assert targets <= {"http://a.example/x"}


@pytest.mark.slow
@given(TEXTS.filter(lambda text: text.strip()))
def test_the_text_of_a_page_is_all_there_and_only_text(text):
    markdown = markdown_of(f"<body><p>{html.escape(text)}</p><ul><li>{html.escape(text)}</ul>", PAGE)
    assert not {"link_open", "heading_open", "fence", "code_block", "html_block", "hr"} & kinds(markdown)
    seen = spaceless(markdown_of(f"<body>{html.escape(text)}", PAGE))  # what the parser itself makes of it
    assert (spaceless(shown(markdown)) == "") == (seen == "")


@given(TEXTS)
def test_code_is_taken_literally(text):
    page = f"<body><pre>x\n{html.escape(text)}\ny</pre><p>a <code>x{html.escape(text)}</code> b"
    markdown = markdown_of(page, PAGE)
    fences = [token for token in tokens(markdown) if token.type == "fence"]
    assert len(fences) == 1
    assert spaceless(fences[0].content).startswith("x") and spaceless(fences[0].content).endswith("y")
    assert len([token for token in tokens(markdown) if token.type == "code_inline"]) == 1


@pytest.mark.parametrize(
    ("name", "named"), [("dataviewjs", ""), ("templater-js", ""), ("C#", "C#"), ("python", "python")]
)
def test_a_code_block_names_no_language_that_note_taking_programs_run(name, named):
    page = f'<pre class="language-{name}">x</pre><pre><code class="lang-{name}">y</code></pre>'
    assert markdown_of(page, Url("http://a.example/")) == f"```{named}\nx\n```\n\n```{named}\ny\n```"


def test_the_parts_of_a_page():
    page = """<title>T</title><nav>Menu</nav><main><h1>Bees <em>now</em></h1>
    <p>A <b>bold</b> claim, <a href="../x?a=1&amp;b=2">see</a> <code>a_b</code>.<br>Next line.</p>
    <ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul><ol start=3><li>three</ol>
    <blockquote><p>Said.</p></blockquote><pre><code class="language-python">if x:
    y()</code></pre><table><tr><th>A<th>B<tr><td>1 | 2<td>3</table><hr><img alt="A hive" src="http://track.example/i.gif">
    </main><footer>Imprint</footer>"""
    assert markdown_of(page, PAGE) == (
        "# Bees *now*\n\nA **bold** claim, [see](http://a.example/x?a=1&b=2) `a_b`.\\\nNext line.\n\n"
        "- one\n  - inner\n- two\n\n3. three\n\n> Said.\n\n```python\nif x:\n    y()\n```\n\n"
        "| A | B |\n| --- | --- |\n| 1 \\| 2 | 3 |\n\n* * *\n\nA hive"
    )


def test_links_that_lead_nowhere_on_the_web_are_text():
    hrefs = {"run": "javascript:alert(1)", "mail": "mailto:a@b.c", "up": "#top", "x": ""}
    page = "<body>" + " ".join(f"<a href='{href}'>{text}</a>" for text, href in hrefs.items())
    assert markdown_of(page, PAGE).split() == ["run", "mail", "up", "x"]


def test_tables_that_lay_out_a_page_are_paragraphs():
    page = "<body><table><tr><td><p>Left</p><td><table><tr><td>in<td>side<tr><td>a<td>b</table></table>"
    assert markdown_of(page, PAGE) == "Left\n\n| in | side |\n| --- | --- |\n| a | b |"


def test_lists_that_are_written_wrongly_lose_nothing():
    assert markdown_of("<body><ul>Only <b>indented</b>.<p>Twice.</ul>", PAGE) == "Only **indented**.\n\nTwice."
    assert markdown_of("<body><ul>Before <i>it</i><li>one</li>between<li>two</li></ul>", PAGE) == (
        "- Before *it*\n- one\n- between\n- two"
    )
    assert markdown_of("<body><ul><li>one</li><ul><li>inner</ul></ul>", PAGE) == "- one\n- - inner"


def test_a_table_has_its_caption():
    page = "<table><caption>Hives</caption><tr><td>a<td>b<tr><td>c<td>d</table>"
    assert markdown_of(page, PAGE) == "Hives\n\n| a | b |\n| --- | --- |\n| c | d |"


def test_a_page_without_text_is_empty():
    assert markdown_of("", PAGE) == ""
    assert markdown_of("<script>x()</script><nav>Menu</nav>", PAGE) == ""
    assert markdown_of("<body role=navigation>Menu", PAGE) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "<div>",
        "<b>x",
        "<ul><li>x",
        "<blockquote>x<br>",
        "<table><tr><td>",
        "<a href=x>",
        "<code>`",
        "[",
        "`",
        "<!--",
        "<p>x",
    ],
)
def test_hostile_shapes_stay_in_proportion(piece):
    page = piece * (200_000 // len(piece))
    assert len(markdown_of(page, PAGE)) <= 20 * len(page)


@pytest.mark.slow
def test_a_long_base_does_not_make_a_long_page():
    base = f"<base href='http://a.example/{'x' * 3900}/'>"
    assert len(markdown_of(base + "<a href=y>y</a> " * 40_000, PAGE)) < 4_000_000


def test_a_table_whose_rows_are_shorter_than_its_head_is_not_padded():
    page = "<table><tr>" + "<td>x" * 2000 + "<tr><td>x" * 2000 + "</table>"
    assert len(markdown_of(page, PAGE)) < 40_000
