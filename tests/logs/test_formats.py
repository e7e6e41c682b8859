"""Each format by hand."""

import pytest

from lycosa.logs.entries import MAYBE_PAGE, PAGE, DropReason, classify_request, redacted_shape
from lycosa.logs.formats import (
    FORMATS,
    NcsaFormat,
    SquidFormat,
    TableFormat,
    W3cFormat,
    detect_format,
    parse_columns,
    parse_ncsa_time,
    parse_time,
)
from lycosa.vocabulary.errors import UsageError

SQUID = (
    b"1157689312.049   5006 10.105.21.199 TCP_MISS/200 19763 GET http://a.org/b.html - DIRECT/209.73.177.115 text/html"
)
NCSA = b'127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a.html HTTP/1.0" 200 2326'
COMBINED = NCSA + b' "http://b.org/" "Mozilla/4.08 [en] (Win98; I)"'
FIELDS = b"#Fields: date time c-ip cs-username cs-method cs-uri-stem cs-uri-query sc-status"
W3C = b"2002-05-02 17:42:15 172.22.255.255 - GET /images/picture.html a=1 200"
AT = 971_211_336.0  # 10/Oct/2000:13:55:36 -0700


def test_a_squid_line():
    assert SquidFormat()(SQUID) == (b"10.105.21.199", 1157689312.049, PAGE, b"http://a.org/b.html")


def test_a_squid_line_that_names_a_person_is_theirs():
    assert SquidFormat()(SQUID.replace(b" - DIRECT", b" ann DIRECT"))[0] == b"ann"


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        (b"GET", b"CONNECT", DropReason.CONNECT),
        (b"GET", b"POST", DropReason.NOT_GET),
        (b"/200", b"/404", DropReason.FAILED),
        (b"/200", b"/000", DropReason.FAILED),
        (b"/200", b"/302", DropReason.MOVED),
        (b"/200", b"/206", DropReason.OTHER_STATUS),
        (b"/200", b"/304", PAGE),
        (b"/200", b"/x", DropReason.BROKEN),
        (b"text/html", b"image/gif", DropReason.NOT_A_PAGE),
        (b"text/html", b"-", MAYBE_PAGE),
        (b"text/html", b"text/html Mozilla/5.0 more\r", PAGE),
        (b"text/html", b"text/HTML;charset=utf-8", PAGE),
        (b"1157689312.049", b"yesterday", DropReason.BAD_TIME),
        (b"1157689312.049", b"nan", DropReason.BAD_TIME),
        (b" text/html", b"", DropReason.BROKEN),
    ],
)
def test_what_a_squid_line_is_dropped_for(old, new, wanted):
    assert SquidFormat()(SQUID.replace(old, new))[2] == wanted


@pytest.mark.parametrize("line", [NCSA, COMBINED, NCSA.replace(b" HTTP/1.0", b"")])
def test_an_ncsa_line(line):
    assert NcsaFormat()(line) == (b"127.0.0.1", AT, MAYBE_PAGE, b"/a.html")


def test_an_ncsa_line_by_somebody_with_a_name():
    assert NcsaFormat()(NCSA.replace(b"- - [", b"- Ann Lee ["))[0] == b"Ann Lee"


def test_a_proxy_may_write_whole_urls_into_an_ncsa_line():
    assert NcsaFormat()(NCSA.replace(b"/a.html", b"http://b.org/c"))[3] == b"http://b.org/c"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (NCSA.replace(b"Oct", b"Okt"), DropReason.BAD_TIME),
        (NCSA.replace(b"10/Oct", b"31/Feb"), DropReason.BAD_TIME),
        (NCSA.replace(b"GET /a.html HTTP/1.0", rb"\x16\x03\x01"), DropReason.BROKEN),
        (NCSA.replace(b"200", b"abc"), DropReason.BROKEN),
        (NCSA[:40], DropReason.BROKEN),
        (b"", DropReason.EMPTY),
        (b"# a comment", DropReason.EMPTY),
    ],
)
def test_what_an_ncsa_line_is_dropped_for(line, wanted):
    assert NcsaFormat()(line)[2] == wanted


def test_w3c_fields_may_change_midway():
    read = W3cFormat()
    assert read(W3C)[2] == DropReason.BROKEN
    assert read(FIELDS)[2] == DropReason.EMPTY
    assert read(W3C) == (b"172.22.255.255", 1020361335.0, MAYBE_PAGE, b"/images/picture.html?a=1")
    read(b"#Fields: time cs-uri cs-username date")
    assert read(b"17:42:15 http://a.org/ ann 2002-05-02") == (b"ann", 1020361335.0, MAYBE_PAGE, b"http://a.org/")
    read(b"#Date: 2002-05-03 00:00:00")
    read(b"#Fields: time c-ip cs-uri-stem sc-status")
    assert read(b"17:42:15 1.2.3.4 / 500")[2] == DropReason.FAILED
    assert read(b"17:42:15 1.2.3.4 / 200")[1] == 1020361335.0 + 86_400
    assert read(b"17:42:75 1.2.3.4 / 200")[2] == DropReason.BAD_TIME
    assert read(b"17:42:15 - / 200")[0] == b""


@pytest.mark.parametrize(
    ("written", "user"),
    [
        (b'ann "Mozilla/5.0 (X11)"', b"ann"),
        (b'"Ann Lee" -', b"Ann Lee"),
        (b'"the ""bee""" "a ""b"" c"', b'the "bee"'),
        (b'"" ""', b""),
        (b'"ann lee"', b'"ann'),  # as IIS writes them, not escaped
        (b'a"nn "', b'a"nn'),
    ],
)
def test_a_w3c_field_may_be_a_string_with_blanks(written, user):
    read = W3cFormat()
    read(b"#Fields: date time cs-uri-stem cs-username cs(User-Agent)")
    assert read(b"2002-05-02 17:42:15 /a.html " + written) == (user, 1020361335.0, MAYBE_PAGE, b"/a.html")


def test_a_table_by_the_names_of_its_columns():
    columns = parse_columns("user=who,url=page,time=when,status=code,method=verb,type=kind")
    header = b"\xef\xbb\xbfwhen,who,page,code,verb,kind"
    read = TableFormat(columns, header, format=None, file="t.csv")
    assert read.name == "csv"
    assert read(header)[2] == DropReason.EMPTY
    assert read(b'2020-01-01T00:00:00Z,ann,"http://a.org/?a=1,2",200,GET,text/html\r') == (
        b"ann",
        1577836800.0,
        PAGE,
        b"http://a.org/?a=1,2",
    )
    assert read(b"2020-01-01,ann,http://a.org/,200,GET, - ")[2] == MAYBE_PAGE
    assert read(b"soon,ann,http://a.org/,200,GET,text/html")[2] == DropReason.BAD_TIME
    assert read(b"1577836800,ann,http://a.org/,404,GET,text/html")[2] == DropReason.FAILED
    assert read(b"1577836800,ann,http://a.org/,200,HEAD,text/html")[2] == DropReason.NOT_GET
    assert read(b"1577836800,ann")[2] == DropReason.BROKEN


def test_a_table_may_be_separated_otherwise():
    columns = parse_columns("user=u,url=p,time=t")
    for separator, name in ((b"\t", "tsv"), (b";", "csv")):
        read = TableFormat(columns, separator.join((b"u", b"p", b"t")), format=None, file="t")
        assert read.name == name
        assert read(separator.join((b"ann", b"/", b"1577836800000")))[:3] == (b"ann", 1577836800.0, MAYBE_PAGE)


def test_columns_that_are_not_there_are_told():
    with pytest.raises(UsageError, match="no column 'who' in its first line"):
        TableFormat(parse_columns("user=who,url=b,time=c"), b"a,b,c", format=None, file="t.csv")
    with pytest.raises(UsageError, match="no column for time"):
        parse_columns("user=a,url=b")
    with pytest.raises(UsageError, match="--columns has 'colour=red'"):
        parse_columns("user=a,url=b,time=c,colour=red")


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (b"1577836800", 1577836800.0),
        (b"1577836800.25", 1577836800.25),
        (b"1577836800250", 1577836800.25),
        (b"2020-01-01", 1577836800.0),
        (b"20200101", 1577836800.0),
        (b"20200101T000000Z", 1577836800.0),
        (b"2020-01-01 00:00:00", 1577836800.0),
        (b"2020-01-01T01:00:00.5+01:00", 1577836800.5),
    ],
)
def test_times_of_tables(text, at):
    assert parse_time(text) == at


@pytest.mark.parametrize("text", [b"", b"noon", b"2020-02-30", b"2020-01-01T25:00:00", b"nan", b"inf"])
def test_times_that_are_none(text):
    with pytest.raises(ValueError, match=r".*"):
        parse_time(text)


def test_ncsa_times_know_zones():
    assert parse_ncsa_time(b"01/Jan/2020:05:30:00 +0530") == 1577836800.0


@pytest.mark.parametrize(
    ("lines", "name"),
    [([b"junk", SQUID], "squid"), ([COMBINED], "ncsa"), ([b"#Version: 1.0", FIELDS, W3C], "w3c"), ([b"junk"], None)],
)
def test_the_format_is_found_out(lines, name):
    assert detect_format(lines) == name


def test_no_method_is_a_page_view_but_get():
    assert all(
        classify_request(method, b"200", b"-") < 0 for method in (b"get", b"HEAD", b"POST", b"ICP_QUERY", b"", b"-")
    )


def test_a_shape_says_nothing():
    assert redacted_shape(b"10.0.0.1 ann@b.org \xff\x00") == "00.0.0.0 aaa@a.aaa ??"


@pytest.mark.parametrize("name", FORMATS)
def test_long_hostile_lines_take_no_time(name):
    for line in (b"a [" * 20_000, b'a b c [10/Oct/2000:13:55:36 -0700] "GET ' * 1500, b"\xff" * 60_000, b'"' * 60_000):
        assert FORMATS[name]()(line)[2] < 0
