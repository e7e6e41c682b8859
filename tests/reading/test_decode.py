import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.reading.decode import decode

PRAGUE = "Příliš žluťoučký kůň"


@pytest.mark.parametrize(
    ("content", "content_type", "text"),
    [
        (codecs.BOM_UTF8 + PRAGUE.encode(), "text/html; charset=windows-1250", PRAGUE),
        (codecs.BOM_UTF16_LE + PRAGUE.encode("utf-16-le"), "", PRAGUE),
        (PRAGUE.encode("windows-1250"), "text/html; charset=windows-1250", PRAGUE),
        (PRAGUE.encode("windows-1250"), 'text/html; Charset="Windows-1250"', PRAGUE),
        ("“smart” €".encode("cp1252"), "text/html; charset=ISO-8859-1", "“smart” €"),
        ("漢字".encode("shift_jis"), "text/html; charset=x-sjis", "漢字"),
        (PRAGUE.encode(), "", PRAGUE),
        (PRAGUE.encode(), "text/html; charset=no-such-charset", PRAGUE),
        (PRAGUE.encode()[:-1], "", PRAGUE[:-1] + "\ufffd"),
    ],
)
def test_the_header_and_the_mark_say_how_bytes_are_read(content: bytes, content_type: str, text: str) -> None:
    assert decode(content, content_type) == text


def test_a_meta_tag_is_believed_within_the_first_kilobyte() -> None:
    page = f'<html><head><meta http-equiv=Content-Type content="text/html; charset=iso-8859-2"><p>{PRAGUE}'
    assert decode(page.encode("iso-8859-2")) == page
    late = " " * 2000 + '<meta charset="iso-8859-2">' + PRAGUE
    assert decode(late.encode()) == late


def test_a_meta_tag_that_says_utf_16_is_read_as_utf_8() -> None:
    page = f'<meta charset="utf-16"><p>{PRAGUE}'
    assert decode(page.encode()) == page


def test_bytes_without_a_declaration_are_guessed() -> None:
    russian = "Съешь ещё этих мягких французских булок, да выпей чаю. " * 10
    assert decode(russian.encode("windows-1251")) == russian


@given(st.binary(max_size=500), st.text(max_size=40))
def test_anything_decodes(content: bytes, content_type: str) -> None:
    assert isinstance(decode(content, content_type), str)


@given(st.binary(max_size=200), st.sampled_from(["utf-16", "big5", "x-user-defined", "replacement", "utf-7", "idna"]))
def test_a_wrong_charset_is_no_trouble(content: bytes, charset: str) -> None:
    assert isinstance(decode(content, f"text/html; charset={charset}"), str)
