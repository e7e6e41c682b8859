"""The report is one safe, self-contained page."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from crawling import collection
from lycosa.frontier.admission import Scope
from lycosa.pictures import VerticalLine
from lycosa.report import (
    ReportData,
    RunFigures,
    SiteFigures,
    TopPage,
    harvest_curves,
    report_data,
    report_page,
    site_figures,
    strategy_marks,
)
from lycosa.run.open import open_for_reading
from lycosa.run.review import SampleResult
from sessions import crawl
from worlds import TOPICAL, TOPICAL_SEED

RUNS = (
    RunFigures("Monday", "breadth-first", 600, 3.0, "the page budget is used up"),
    RunFigures("Tuesday", "breadth-first", 100, 70.0, "interrupted"),
    RunFigures("Wednesday", "best-first", 300, 7300.0),
)
DATA = ReportData(
    name="bees",
    topic="honey & hives",
    relevances=(0.9, 0.1, 0.8, 0.5) * 250,
    hosts=tuple(f"www.site{number}.example" for number in range(40) for _ in range(number + 1)) + ("a.example",) * 180,
    top_pages=tuple(TopPage(f"Page {number}", f"http://a.example/{number}", 0.9, "anchor") for number in range(80)),
    outcomes={"ok": 4, "gone": 2},
    skips={"too deep": 7},
    runs=RUNS,
    waiting=12345,
    size=45_300_000,
    seconds=898.0,
    made_at="2026-11-15",
)
NASTY = '\x1b[31m\u202e"><script>alert(1)</script><img src=x onerror=alert(1)>'


class Elements(HTMLParser):
    """All start tags of a page with their attributes."""

    def __init__(self, page: str):
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_the_report_tells_what_came_through_readers():
    assert "Readers" not in report_page(DATA)
    page = report_page(replace(DATA, found_by_readers=(True, False, True, False) * 250))
    assert "through readers" in page and "(100% relevant)" in page
    assert "other pages" in page and "(50% relevant)" in page


def test_the_report_shows_the_key_figures():
    page = report_page(DATA)
    assert "<title>bees</title>" in page and "honey &amp; hives" in page
    figures = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert figures == {
        "pages": "1\u202f000",
        "relevant, says the model": "750",
        "harvest rate, estimated; 40%–98% likely": "75.0%",
        "sites": "41",
        "hosts": "41",
        "URLs waiting": "12\u202f345",
        "received": "45.3 MB",
        "of crawling": "14m 58s",
    }


def test_a_harvest_rate_that_was_measured_is_shown_as_such():
    assert "Measured:" not in report_page(DATA) and "lycosa review measures it" in report_page(DATA)
    page = report_page(replace(DATA, measured=SampleResult(28, 14, 0.5, 0.35, 0.65, 12, 10, 200, 660)))
    assert "when the collection had 200 pages; 460 pages have come since: lycosa review measures it again." in page
    page = report_page(replace(DATA, measured=SampleResult(28, 14, 0.5, 0.35, 0.65, 12, 10)))
    figures = dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))
    assert figures["harvest rate, measured; 35%–65% likely"] == "50%"
    assert "14 of 28 pages drawn at random are on topic, as labelled by hand, so 50%, probably within 35%–65%" in page
    by_rule = report_page(replace(DATA, calibration="rule"))
    assert "<dt>harvest rate</dt>" in by_rule and "estimate" not in by_rule


def test_charts_are_drawn_for_narrow_screens_too():
    page = report_page(DATA)
    wide, narrow = (
        re.findall(f'<div class="{kind}"><svg [^>]*viewBox="0 0 ([0-9]+) ', page) for kind in ("wide", "narrow")
    )
    assert len(wide) == len(narrow) > 2
    assert set(wide) == {"760"} and set(narrow) == {"400"}


def test_the_report_shows_sites_pages_outcomes_skips_and_runs():
    page = report_page(DATA)
    assert "site39.example" in page and "site14.example<" not in page and "The 25 largest of 41 sites" in page
    assert "Page 49<" in page and "Page 50<" not in page
    for word in ("gone", "too deep", "→ best-first", "interrupted", "2h 01m"):
        assert word in page


def test_places_have_their_pages_the_relevant_ones_and_their_mean_standing():
    found = site_figures(["a", "b", "b", "b", "c"], [0.9, 0.9, 0.1, 0.5, 0.0], [0.2, 0.5, None, 0.7, None])
    assert found == [SiteFigures("b", 3, 2, 0.6), SiteFigures("a", 1, 1, 0.2), SiteFigures("c", 1, 0)]
    assert site_figures(["a"], [1.0]) == [SiteFigures("a", 1, 1)]


def test_sites_are_shown_with_their_share_of_the_collection():
    hosts = ["www.a.co.uk", "shop.a.co.uk", "a.co.uk", "b.org"] * 5
    page = report_page(
        ReportData("x", "", [0.9, 0.1, 0.9, 0.2] * 5, standings=[0.25, 0.5, 0.75, None] * 5, hosts=hosts)
    )
    sites, hosts_part = page.split("<h2>Sites</h2>")[1].split("<h2>Hosts</h2>")
    assert "15 (75.0%), 67% relevant, importance 0.50" in sites and ">a.co.uk<" in sites
    assert "5 (25.0%), 0% relevant<" in sites
    assert ">shop.a.co.uk<" in hosts_part and "www.a.co.uk" not in sites


def test_hosts_that_are_sites_are_told_once():
    page = report_page(ReportData("x", "", [0.9] * 2, hosts=["a.org", "b.org"]))
    assert "<h2>Sites</h2>" in page and "<h2>Hosts</h2>" not in page


def test_the_weight_of_relevance_is_drawn_where_no_standing_is_known():
    page = report_page(ReportData("x", "", [0.9] * 40, alphas=[0.5 + 0.01 * number for number in range(40)]))
    assert "<h2>Weight of relevance</h2>" in page and "<h2>Importance</h2>" not in page
    for alphas in ([None] * 40, [0.5] * 40):
        assert "Weight of relevance" not in report_page(ReportData("x", "", [0.9] * 40, alphas=alphas))


def test_the_report_says_how_the_collection_was_made(tmp_path):
    rest = "[utility]\ntarget = 0.8\n[stop]\nper_host = 50\n"
    folder = collection(tmp_path / "my bees", [TOPICAL_SEED], topic='keywords = ["bee", "hive"]', rest=rest)
    crawl(folder, TOPICAL, 3, strategy="best-first", scope=Scope(hosts=("example",)))
    with open_for_reading(folder) as opened:
        data = report_data(opened)
    assert data.topic == "bee, hive"
    made = dict(data.recipe)
    assert (made["target"], made["quotas"], made["keywords"]) == ("0.8", "per_host = 50", "bee, hive")
    assert made["command"] == "lycosa crawl 'my bees' --include-host example --strategy best-first --pages 3"
    recipe = folder / "lycosa.toml"
    condition = 'predicate = {not = {keywords = ["bee"]}}'
    recipe.write_text(recipe.read_text().replace('keywords = ["bee", "hive"]', condition))
    with open_for_reading(folder) as opened:
        data = report_data(opened)
    assert data.topic == "pages that a predicate admits"
    assert dict(data.recipe)["predicate"] == '{"not":{"keywords":["bee"]}}'


def test_the_report_asks_for_nothing_from_elsewhere():
    elements = Elements(report_page(DATA)).found
    assert not {tag for tag, _ in elements} & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
    assert not any(
        name in ("src", "srcset", "style") or name.startswith("on") for _, found in elements for name in found
    )
    policy = next(found["content"] for tag, found in elements if tag == "meta" and "http-equiv" in found)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert "url(" not in report_page(DATA) and "@import" not in report_page(DATA)


def test_text_from_pages_is_inert():
    page = report_page(
        ReportData(
            name=NASTY,
            topic=NASTY,
            relevances=(1.0,),
            hosts=(NASTY,),
            top_pages=(TopPage(NASTY, "http://a.example/" + NASTY, 1.0, NASTY),),
            outcomes={NASTY: 1},
            skips={NASTY: 1},
            runs=(RunFigures(NASTY, NASTY, 1, 1.0, NASTY), RunFigures(NASTY, "other", 1, 1.0, NASTY)),
            made_at=NASTY,
        )
    )
    assert not {tag for tag, _ in Elements(page).found} & {"script", "img"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", " javascript:x", "//a.example/", "ftp://a/", "http://"]
)
def test_only_addresses_of_the_web_become_links(url):
    page = report_page(ReportData("x", "", (), top_pages=(TopPage("t", url, 1.0),)))
    assert "a" not in {tag for tag, _ in Elements(page).found}


def test_links_give_nothing_away():
    links = [found for tag, found in Elements(report_page(DATA)).found if tag == "a"]
    assert len(links) == 50 and {link["rel"] for link in links} == {"noopener noreferrer nofollow"}


def test_a_report_on_nothing_says_so():
    page = report_page(ReportData("empty", "", ()))
    assert page.count("no data yet") == 7 + 3, "of charts, one for wide and one for narrow screens"


def test_pages_that_are_not_judged_yet_are_left_out_of_charts_of_relevance():
    data = ReportData("x", "", [None, None, 0.9, 0.1], standings=[0.5, 0.5, 0.9, 0.1], hosts=["a.org"] * 4)
    page = report_page(data)
    assert page.count("2 pages not judged yet: left out here.") == 3
    assert page.count("1 page not judged yet") == 0
    cumulative, moving = harvest_curves(data.relevances)
    assert list(cumulative.points) == list(moving.points) == [(3.0, 1.0), (4.0, 0.5)]
    assert "not judged" not in report_page(replace(data, relevances=[0.2] * 4))
    assert "not judged" not in report_page(replace(data, relevances=[None] * 0))


def test_the_harvest_curves_follow_the_crawl():
    cumulative, moving = harvest_curves([1.0] * 100 + [0.0] * 100)
    assert cumulative.points[0] == (1.0, 1.0) and cumulative.points[-1] == (200.0, 0.5)
    assert moving.points[-1] == (200.0, 0.0) and moving.points[109] == (110.0, 0.5)


def test_long_crawls_are_drawn_with_few_points():
    cumulative, _ = harvest_curves([0.7] * 100_001)
    assert len(cumulative.points) <= 301 and cumulative.points[-1][0] == 100_001


def test_marks_stand_where_the_strategy_changed():
    assert strategy_marks(RUNS) == [VerticalLine(700.0, "→ best-first")]
