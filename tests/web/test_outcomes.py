from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.records import Outcome, Url
from lycosa.web.outcomes import (
    Classification,
    Headers,
    classify,
    looks_like_html,
    outcome_in_words,
    seconds_to_wait,
)

URL = Url("http://a.example/x/y")


def classified(status: int, *headers: tuple[str, str], start: bytes = b"") -> Classification:
    return classify(URL, status, "", headers, now=1_000.0, start=start)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.OK),
        (203, Outcome.OK),
        (204, Outcome.UNWANTED),
        (206, Outcome.UNWANTED),
        (300, Outcome.UNWANTED),
        (304, Outcome.UNCHANGED),
        (400, Outcome.GONE),
        (403, Outcome.GONE),
        (404, Outcome.GONE),
        (410, Outcome.GONE),
        (429, Outcome.BUSY),
        (500, Outcome.FAILED),
        (502, Outcome.FAILED),
        (503, Outcome.BUSY),
        (999, Outcome.FAILED),
    ],
)
def test_a_status_has_its_outcome(status: int, outcome: Outcome) -> None:
    assert classified(status, ("Content-Type", "text/html")).outcome is outcome


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_leads_to_its_location(status: int) -> None:
    found = classified(status, ("location", "../z?q=1#top"))
    assert (found.outcome, found.location) == (Outcome.MOVED, "http://a.example/z?q=1")


@pytest.mark.parametrize("location", ["mailto:a@b", "http://", "javascript:alert(1)", ""])
def test_a_redirect_to_nowhere_is_a_failure(location: str) -> None:
    found = classified(302, ("Location", location))
    assert found.outcome is Outcome.FAILED
    assert found.detail
    assert classified(302).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("content_type", "outcome"),
    [
        ("text/html", Outcome.OK),
        ("Text/HTML; charset=UTF-8", Outcome.OK),
        ("application/xhtml+xml", Outcome.OK),
        ("text/html,text/html", Outcome.OK),
        ("text/plain", Outcome.UNWANTED),
        ("application/pdf", Outcome.UNWANTED),
        ("text/htmlx", Outcome.UNWANTED),
    ],
)
def test_only_html_is_wanted(content_type: str, outcome: Outcome) -> None:
    assert classified(200, ("Content-Type", content_type), start=b"<html>").outcome is outcome


@pytest.mark.parametrize(
    ("start", "is_html"),
    [
        (b"<!DOCTYPE html><p>", True),
        (b"\xef\xbb\xbf\r\n <html>", True),
        (b"<?xml version='1.0'?><html xmlns='x'>", True),
        (b"<?xml version='1.0'?><rss>", False),
        (b"<body\n>", True),
        (b"<svg>", False),
        (b"%PDF-1.4", False),
        (b"", False),
        (b"plain words", False),
    ],
)
def test_content_without_a_type_is_looked_at(start: bytes, is_html: bool) -> None:
    assert looks_like_html(start) is is_html
    assert classified(200, start=start).outcome is (Outcome.OK if is_html else Outcome.UNWANTED)


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("9" * 10_000, 86_400.0),
        ("", 30.0),
        ("soon", 30.0),
        ("-5", 30.0),
        ("Wed, 99 Foo 2026 99:99:99 GMT", 30.0),
        (formatdate(1_090, usegmt=True), 90.0),
        (formatdate(1_090).replace("+0000", "-0000"), 90.0),
        (formatdate(10, usegmt=True), 0.0),
        (formatdate(10_000_000, usegmt=True), 86_400.0),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_at_most_a_day(retry_after: str, seconds: float) -> None:
    assert seconds_to_wait(retry_after, 1_000.0) == seconds
    assert classified(429, ("Retry-After", retry_after)).host_not_before == 1_000.0 + seconds


@pytest.mark.slow
@given(
    st.integers(0, 999),
    st.lists(st.tuples(st.sampled_from(["Location", "Retry-After", "Content-Type", "X"]), st.text())).map(tuple),
    st.binary(max_size=100),
)
def test_no_response_makes_it_fail(status: int, headers: Headers, start: bytes) -> None:
    found = classify(URL, status, "", headers, now=0.0, start=start)
    assert (found.location is not None) == (found.outcome is Outcome.MOVED)
    assert (found.host_not_before is not None) == (found.outcome is Outcome.BUSY)


@pytest.mark.parametrize("status", [204, 300])
def test_an_answer_that_is_no_page_is_not_called_a_file_of_another_type(status: int) -> None:
    answer = classify(URL, status, "Something", (), now=0.0)
    assert outcome_in_words(answer.outcome, status, answer.detail) == f"not a page ({status})"


def test_a_redirect_to_nowhere_says_where_it_leads() -> None:
    answer = classify(URL, 302, "Found", (("location", "javascript:x"),), now=0.0)
    words = outcome_in_words(answer.outcome, 302, answer.detail)
    assert words == "no usable answer (302): leads nowhere: 'javascript:x'"
