"""Pages that matter, through the command line: where standing is learnt from, and where it is told."""

import json
import re

import pytest

from crawling import done, lycosa
from lycosa_lab.worlds.server import WorldServer
from story.beekeeping import ON_TOPIC, WORLD, crawled, made

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def served():
    with WorldServer(WORLD) as served:
        yield served


def exported(folder):
    return [json.loads(line) for line in done("export", folder, "--format", "jsonl").out.splitlines()]


def test_without_in_links_a_model_that_comes_with_it_is_used_and_told(tmp_path, served) -> None:
    folder = made(tmp_path / "c")
    said = crawled(folder, served)
    assert "No link data given" in said.err
    rows = [json.loads(line) for line in done("export", folder, "--format", "jsonl").out.splitlines()]
    assert all(0.0 < row["standing"] < 1.0 for row in rows)
    shown = done("show", folder, "--json").json
    assert shown["mean_standing"] == pytest.approx(sum(row["standing"] for row in rows) / len(rows))
    assert "importance" in done("show", folder).out


def test_why_a_page_was_fetched_tells_relevance_standing_and_their_weight(tmp_path, served) -> None:
    folder = made(tmp_path / "c")
    crawled(folder, served, "--target", 0.8)
    late = [json.loads(line) for line in done("export", folder, "--format", "jsonl").out.splitlines()][-1]
    because = done("explain", folder, late["url"], "--json").json["page"]["because"]
    assert {"alpha", "relevance", "standing", "utility", "topicality_lately"} <= set(because)
    expected = because["relevance"] ** because["alpha"] * because["standing"] ** (1 - because["alpha"])
    assert because["utility"] == pytest.approx(expected, abs=0.01)
    assert f"importance {late['standing']:.3f}" in done("explain", folder, late["url"]).out
    done("report", folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    for heading in ("Importance", "Relevance and importance", "Weight of relevance"):
        assert f"<h2>{heading}</h2>" in page


def test_a_table_of_in_links_is_learnt_from_once(tmp_path, served) -> None:
    folder = made(tmp_path / "c", standing='in_links = "table.csv"')
    table = "".join(f"{url},{number * 7 % 100}\n" for number, url in enumerate(ON_TOPIC))
    (folder / "table.csv").write_text("url,in_links\n" + table)
    said = crawled(folder, served)
    assert "learned from table.csv: 20 pages" in said.err
    again = crawled(folder, served, "--pages", 70)
    assert "learned from" not in again.err


def test_with_a_hundred_pages_it_is_learnt_anew_and_all_pages_are_judged_by_it(tmp_path, served) -> None:
    folder = made(tmp_path / "c", standing='in_links = "table.csv"')
    table = "".join(f"{url},{number * 7 % 100}\n" for number, url in enumerate(WORLD.urls()))
    (folder / "table.csv").write_text("url,in_links\n" + table)
    said = crawled(folder, served, "--pages", 130)
    assert "re-scoring 100 pages" in said.err
    assert len(re.findall(r"learned from table.csv: (\d+) pages", said.err)) == 2
    standing = [row["standing"] for row in exported(folder)]
    done("rebuild", folder)
    assert [row["standing"] for row in exported(folder)] == standing
    above = sum(each > 0.5 for each in standing[:100])
    assert 35 <= above <= 65  # one half is where the median of the pages explored stands


def test_too_few_pages_of_known_in_links_are_told_each_time_and_not_kept_to(tmp_path, served) -> None:
    folder = made(tmp_path / "c", standing='in_links = "table.csv"')
    (folder / "table.csv").write_text("".join(f"{url},{number}\n" for number, url in enumerate(ON_TOPIC[:5])))
    for pages in (60, 70):
        said = crawled(folder, served, "--pages", pages)
        assert "table.csv: the in-links of 5 pages are known, and 10 are needed" in said.err
        assert "learned from" not in said.err
    (folder / "table.csv").write_text("".join(f"{url},{number}\n" for number, url in enumerate(ON_TOPIC[:15])))
    assert "learned from table.csv: 15 pages" in crawled(folder, served, "--pages", 75).err


def test_pages_of_a_strategy_without_standing_get_theirs_when_one_wants_it(tmp_path, served) -> None:
    folder = made(tmp_path / "c")
    crawled(folder, served, "--strategy", "best-first")
    assert all(row["standing"] is None for row in exported(folder))
    crawled(folder, served, "--strategy", "adaptive", "--pages", 70)
    assert all(0.0 < row["standing"] < 1.0 for row in exported(folder))


def test_traffic_without_in_links_is_said_to_be_of_no_use(tmp_path, served) -> None:
    folder = made(tmp_path / "c", standing='traffic = "traffic.csv"')
    (folder / "traffic.csv").write_text("domain,reach\nportal.example,5\n")
    assert "traffic.csv is not used" in crawled(folder, served).err


@pytest.mark.parametrize("flags", [("--target", "nan"), ("--delay", "nan"), ("--minutes", "inf")])
def test_a_number_that_is_none_is_refused_before_anything_is_noted(tmp_path, served, flags) -> None:
    folder = made(tmp_path / "c")
    crawled(folder, served)
    assert lycosa("crawl", folder, "--pages", 70, "--resolve", served.resolve, *flags).is_one_clear_line(
        2, flags[0][2:]
    )
    crawled(folder, served, "--pages", 65)


def test_past_collections_teach_what_matters(tmp_path, served) -> None:
    past = made(tmp_path / "past")
    crawled(past, served, "--strategy", "breadth-first", "--pages", 150)
    assert done("show", past, "--json").json["mean_standing"] is None
    folder = made(tmp_path / "c", standing='collections = ["../past"]')
    assert "learned from 1 collection: 150 pages" in crawled(folder, served).err


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("url,in_links\nhttp://a.example/,-3\n", "table.csv:2"),
        ("url,in_links\nhttp://a.example/,many\n", "table.csv:2"),
        ("url,in_links\nhttp://a.example/,1\nhttp://a.example/,2\n", "table.csv:3"),
        ("url,in_links\nnot a url,1\n", "table.csv:2"),
        ("one,two,three\n", "table.csv:1"),
    ],
)
def test_a_table_that_is_wrong_is_told_by_line(tmp_path, served, table: str, said: str) -> None:
    folder = made(tmp_path / "c", standing='in_links = "table.csv"')
    (folder / "table.csv").write_text(table)
    flags = ("--pages", 5, "--delay", 0, "--resolve", served.resolve, "--allow-private")
    assert lycosa("crawl", folder, *flags).is_one_clear_line(2, said)


def test_a_target_for_a_strategy_that_has_none_is_refused(tmp_path, served) -> None:
    folder = made(tmp_path / "c")
    said = lycosa("crawl", folder, "--strategy", "best-first", "--target", 0.7)
    assert said.is_one_clear_line(2, "best-first has no target", "adaptive")


def test_another_target_ranks_anew_what_waits(tmp_path, served) -> None:
    folder = made(tmp_path / "c")
    crawled(folder, served, "--target", 0.2)
    assert "ranked again" in crawled(folder, served, "--target", 0.9, "--pages", 70).err


def test_a_damaged_model_of_standing_is_trained_again(tmp_path, served) -> None:
    folder = made(tmp_path / "c")
    crawled(folder, served)
    (folder / "standing.json").write_text("{}")
    flags = ("--strategy", "adaptive", "--pages", 70, "--resolve", served.resolve, "--allow-private")
    assert "the model of importance is trained again" in done("crawl", folder, *flags).err
    assert (folder / "standing.json").read_text() != "{}"
