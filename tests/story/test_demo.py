"""The demonstration shows what it claims, and what it hints at works."""

import re
import shlex

import pytest

from crawling import done, lycosa, pages


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "out"
    return out, done("demo", "--pages", 60, "--out", out).out


def test_the_focused_crawl_finds_more_than_the_breadth_first_one(shown):
    out, said = shown
    rates = {name: float(rate) for name, rate in re.findall(r"^  (\S+) +([\d.]+)%", said, re.MULTILINE)}
    assert list(rates) == ["focused", "breadth-first"]
    assert rates["focused"] > rates["breadth-first"]
    assert (out / "focused" / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [len(pages(out / name)) for name in rates] == [60, 60]


def test_the_commands_it_hints_at_work(shown):
    out, said = shown
    hinted = [shlex.split(line)[1:] for line in re.findall(r"^(?:next)? +(lycosa .+)", said, re.MULTILINE)]
    assert [command[0] for command in hinted] == ["search", "explain", "show", "new"]
    assert "1. " in done(*hinted[0]).out
    assert ": stored" in done(*hinted[1]).out
    assert hinted[1][2] in pages(out / "focused")
    done(*hinted[2])


def test_another_topic_has_another_word_to_search_for(tmp_path):
    said = done("demo", "--pages", 50, "--topic", "sailing", "--out", tmp_path / "out").out
    assert f"search {tmp_path / 'out' / 'focused'} sail\n" in said
    assert lycosa("demo", "--topic", "nonsense").is_one_clear_line(2, "sailing")
