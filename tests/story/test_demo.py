"""The demonstration shows what it claims, and what it hints at works."""

import re
import shlex

import pytest

from crawling import done, lycosa, pages
from lycosa.recipe import DEFAULT_STRATEGY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "out"
    return out, done("demo", "--pages", 500, "--out", out).out


def test_it_shows_how_many_pages_are_on_the_topic_and_how_important_they_are(shown):
    out, said = shown
    rates = {name: float(rate) for name, rate in re.findall(r"^  (\S+) +([\d.]+)%", said, re.MULTILINE)}
    in_links = {name: float(mean) for name, mean in re.findall(r"^  (\S+) +([\d.]+)  ", said, re.MULTILINE)}
    assert list(rates) == list(in_links) == [DEFAULT_STRATEGY, "best-first", "breadth-first"]
    assert min(rates[DEFAULT_STRATEGY], rates["best-first"]) > rates["breadth-first"]
    assert (out / DEFAULT_STRATEGY / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [len(pages(out / name)) for name in rates] == [500, 500, 500]


def test_the_default_is_ahead_on_both_counts_or_it_says_why(shown):
    _, said = shown
    for figures, line in (
        (r"^  (\S+) +([\d.]+)%", "found more pages on the topic than"),
        (r"^  (\S+) +([\d.]+)  ", "are more important than those of"),
    ):
        values = {name: float(value) for name, value in re.findall(figures, said, re.MULTILINE)}
        assert (f"{line} {DEFAULT_STRATEGY}" in said) == (max(values.values()) > values[DEFAULT_STRATEGY])


def test_the_commands_it_hints_at_work(shown):
    out, said = shown
    hinted = [shlex.split(line)[1:] for line in re.findall(r"^(?:next)? +(lycosa .+)", said, re.MULTILINE)]
    assert [command[0] for command in hinted] == ["search", "explain", "show", "new", "ui"]
    assert "1. " in done(*hinted[0]).out
    assert ": stored" in done(*hinted[1]).out
    assert hinted[1][2] in pages(out / DEFAULT_STRATEGY)
    done(*hinted[2])


def test_another_topic_has_another_word_to_search_for(tmp_path):
    said = done("demo", "--pages", 50, "--topic", "sailing", "--out", tmp_path / "out").out
    assert f"search {tmp_path / 'out' / DEFAULT_STRATEGY} sail\n" in said
    assert lycosa("demo", "--topic", "nonsense").is_one_clear_line(2, "sailing")


def test_a_collection_of_the_users_own_is_not_removed(tmp_path):
    own = tmp_path / "best-first"
    (tmp_path / "good.txt").write_text("http://www.python.org/")
    done("new", own, "--examples", tmp_path / "good.txt")
    (tmp_path / "good.txt").write_text("mine")
    assert lycosa("demo", "--out", tmp_path).is_one_clear_line(2, "not from an earlier demo")
    assert (own / "lycosa.toml").exists()
    assert (tmp_path / "good.txt").read_text() == "mine"
