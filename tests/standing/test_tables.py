import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.standing import read_in_links, read_traffic
from lycosa.standing import tables as module
from lycosa.vocabulary.errors import UsageError


def table(folder: Path, content: str | bytes) -> Path:
    path = folder / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "http://a.example/,12\nhttp://b.example/,0\n",
        "url,in_links\nhttp://a.example/,12\nhttp://b.example/,0",
        "\ufeffURL,In-Links\r\nhttp://a.example/,12\r\n\r\n# told by an engine\r\nhttp://b.example/ , 0\r\n",
        "url\tin_links\nhttp://a.example/\t12\nhttp://b.example/\t0\n",
        '"http://A.example","12"\n"http://b.example/#top",0\n',
        gzip.compress(b"http://a.example/,12\nhttp://b.example/,0\n"),
    ],
    ids=["plain", "named", "windows", "tabs", "quoted", "gzipped"],
)
def test_in_links_are_read(tmp_path, content):
    assert read_in_links(table(tmp_path, content)) == {"http://a.example/": 12, "http://b.example/": 0}


def test_a_url_with_a_comma_in_it_goes_between_quotes(tmp_path):
    assert read_in_links(table(tmp_path, '"http://a.example/x,y",3\n')) == {"http://a.example/x,y": 3}


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        ("", 1, "empty"),
        ("# nothing\n", 1, "empty"),
        ("url,title\nhttp://a.example/,Bees\n", 1, "must be url,in_links"),
        ("in_links,url\n12,http://a.example/\n", 1, "must be url,in_links"),
        ("http://a.example/\n", 1, "two columns"),
        ("http://a.example/,1\nhttp://b.example/x,y,2\n", 2, "between quotes"),
        ("http://a.example/;1\n", 1, "two columns"),
        ("http://a.example/,1\nhttp://b.example/,-2\n", 2, "whole number"),
        ("http://a.example/,1\nhttp://b.example/,many\n", 2, "whole number"),
        ("http://a.example/,1.5\n", 1, "whole number"),
        ("http://a.example/,١\n", 1, "whole number"),
        ("http://a.example/,99999999999999999999\n", 1, "whole number"),
        ("http://a.example/,\n", 1, "must be url,in_links"),
        ("http://a.example/,1\nhttp://b.example/,\n", 2, "whole number"),
        ("http://a.example/,1\n\nhttp://a.example/#top,2\n", 3, "given before"),
        ("http://a.example/,1\na.example,2\n", 2, "not a URL"),
        ("http://a.example/,1\nftp://a.example/,2\n", 2, "not a URL"),
        ("http://a.example/,1\nurl,in_links\n", 2, "not a URL"),
        ('http://a.example/,1\n"http://b.example/,2\n', 2, "quotes"),
        (b"http://a.example/,1\nhttp://b.example/\xff,2\n", 2, "UTF-8"),
        ("http://a.example/,1\n" + "x" * 20_000 + "\n", 2, "longer than"),
        (gzip.compress(b"http://a.example/,1\n", mtime=0)[:-9], 1, "cut short or damaged"),
        (b"\x1f\x8b no gzip", 1, "cut short or damaged"),
    ],
)
def test_trouble_in_a_table_is_told_by_line(tmp_path, content, line, says):
    path = table(tmp_path, content)
    with pytest.raises(UsageError) as caught:
        read_in_links(path)
    assert f"{path}:{line}: " in str(caught.value) and says in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400 + len(str(path))


def test_reach_is_read_by_registered_domain(tmp_path):
    content = "domain,reach\nmerck.com,120.5\nwww.bbc.co.uk,1e3\nMünchen.de,0\n"
    assert read_traffic(table(tmp_path, content)) == {"merck.com": 120.5, "bbc.co.uk": 1000.0, "xn--mnchen-3ya.de": 0.0}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("a.org,-1", "number from 0 on"),
        ("a.org,nan", "number from 0 on"),
        ("a.org,inf", "number from 0 on"),
        ("a.org,1_000", "number from 0 on"),
        ("a.org,0x10", "number from 0 on"),
        ("a.org,1e300", "number from 0 on"),
        ("http://a.org/,1", "not a domain"),
        ("a.org/x,1", "not a domain"),
        ("a b.org,1", "not a domain"),
        (",1", "not a domain"),
        ("first.org,1", "given before"),
        ("www.first.org,1", "first.org, to which"),
        ("a.org,1,2", "two columns"),
    ],
)
def test_trouble_in_a_table_of_traffic_is_told_by_line(tmp_path, row, says):
    path = table(tmp_path, f"first.org,3\n{row}\n")
    with pytest.raises(UsageError) as caught:
        read_traffic(path)
    assert f"{path}:2: " in str(caught.value) and says in str(caught.value)


def test_a_list_of_ranks_is_not_taken_for_reach(tmp_path):
    with pytest.raises(UsageError, match="must be domain,reach"):
        read_traffic(table(tmp_path, "1,google.com\n2,bbc.co.uk\n"))


def test_a_table_that_is_not_there_is_named(tmp_path):
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(UsageError, match="cannot be read"):
            read_in_links(path)


def test_a_table_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 3)
    with pytest.raises(UsageError, match=r":4: more than 3"):
        read_traffic(table(tmp_path, "domain,reach\n" + "".join(f"a{number}.org,1\n" for number in range(9))))


@pytest.mark.slow
@given(st.binary(max_size=60) | st.text(alphabet='a.,\t"\n1-/:htp', max_size=60).map(str.encode))
def test_whatever_a_file_holds_is_read_or_refused_with_its_line(tmp_path_factory, content):
    path = table(tmp_path_factory.getbasetemp(), content)
    for read in (read_in_links, read_traffic):
        try:
            assert read(path)
        except UsageError as error:
            assert f"{path}:" in str(error)
