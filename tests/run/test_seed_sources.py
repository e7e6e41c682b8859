import asyncio

import pytest

from lycosa.run.options import CommandSettings
from lycosa.run.seed_sources import FoundSeeds, SeedSources, find_seeds
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import RecipeError
from lycosa.vocabulary.records import Url
from web.index_doubles import IndexDoubles

CAPTURED = [f"http://a.example/{number}" for number in range(7)] + ["https://b.example/"]
RESULTS = [f"https://found{number}.example/" for number in range(5)]
SITEMAP = "<urlset><url><loc>http://a.example/listed</loc></url><url><loc>/relative</loc></url></urlset>"
LLMS = (
    "# A site\n> What it is.\n\n## Docs\n- [Hives](http://a.example/hives.md): how\n- [Wax](/wax)\n"
    "See https://b.example/more. And <http://127.0.0.1/>.\n[script](javascript:alert(1))\n"
)
FILES = {
    "a.example/robots.txt": "User-agent: *\nDisallow: /private\nSitemap: http://a.example/map.xml\n",
    "a.example/map.xml": SITEMAP,
    "a.example/llms.txt": LLMS,
    "b.example/llms.txt": "<!doctype html><html>not found</html>",
}
A, B = Url("http://a.example/"), Url("http://b.example/")


@pytest.fixture
def doubles():
    with IndexDoubles(captured=CAPTURED, results=RESULTS, files=dict(FILES)) as doubles:
        yield doubles


def found(doubles, **sources) -> list[FoundSeeds]:
    async def all_of_them():
        settings = CommandSettings(resolve=(doubles.resolve,))
        return [each async for each in find_seeds(SeedSources(**sources), settings, "", clock=WallClock(), delay=0)]

    return asyncio.run(all_of_them())


def test_searxng_is_asked_page_by_page(doubles):
    (each,) = found(doubles, words="honey bees", searxng="http://searxng.example/")
    assert each == FoundSeeds("SearXNG", tuple(RESULTS))
    assert doubles.asked[0] == "searxng.example/search?q=honey+bees&format=json&pageno=1"
    (each,) = found(doubles, words="honey bees", searxng="http://searxng.example", limit=2)
    assert len(each.urls) == 2
    doubles.no_json = True
    (each,) = found(doubles, words="bees", searxng="http://searxng.example")
    assert each.urls == () and "denied (403); its settings.yml has to list json" in each.problem


def test_only_a_refusal_is_taken_for_a_missing_format(doubles):
    doubles.broken.add("searxng403.example")
    (each,) = found(doubles, words="bees", searxng="http://searxng403.example")
    assert "503" in each.problem and "settings.yml" not in each.problem


def test_answers_that_are_not_utf_8_are_problems_of_their_source(doubles, monkeypatch):
    monkeypatch.setattr(doubles, "answer", lambda host, target: (200, "application/json", b'{"results": ["\xff"]}'))
    for sources in ({"searxng": "http://searxng.example"}, {"host_urls": [A], "wayback": "http://wayback.example/cdx"}):
        (each,) = found(doubles, words="bees", **sources)
        assert each.urls == () and "did not answer with JSON" in each.problem


def test_lines_of_common_crawl_that_are_not_utf_8_are_passed_over(doubles, monkeypatch):
    answer = doubles.answer

    def damaged(host, target):
        status, kind, body = answer(host, target)
        return status, kind, body.replace(b"\n", b'\n{"url": "\xff"}\n') if "&page=" in target else body

    monkeypatch.setattr(doubles, "answer", damaged)
    (each,) = found(doubles, host_urls=[A], common_crawl="http://index.example")
    assert each.urls and each.problem == ""


def test_the_newest_index_of_common_crawl_is_asked_page_by_page(doubles):
    (each,) = found(doubles, host_urls=[A, B], common_crawl="http://index.example")
    assert each.urls == (*CAPTURED[:7], "https://b.example/")
    assert sum("page=" in asked for asked in doubles.asked) == 4
    (each,) = found(doubles, host_urls=[Url("http://unknown.example/")], common_crawl="http://index.example")
    assert each == FoundSeeds("Common Crawl", ())


def test_the_wayback_machine_is_asked_until_it_has_no_more(doubles):
    (each,) = found(doubles, host_urls=[A, B], wayback="http://wayback.example/cdx/search/cdx")
    assert each.urls == tuple(CAPTURED)
    assert sum("resumeKey=com%2Cexample%29%2F+" in asked for asked in doubles.asked) == 2
    (each,) = found(doubles, host_urls=[A], wayback="http://wayback.example/cdx/search/cdx", limit=4)
    assert each.urls == tuple(CAPTURED[:4])
    (each,) = found(doubles, host_urls=[Url("http://unknown.example/")], wayback="http://wayback.example/cdx")
    assert each.urls == () and each.problem == ""


def test_sitemaps_and_llms_txt_are_read_of_each_host(doubles):
    sitemap, llms = found(doubles, host_urls=[A, B], sitemap=True, llms_txt=True)
    assert sitemap.urls == ("http://a.example/listed", "http://a.example/relative")
    assert sitemap.problem == "of b.example: no sitemap that lists pages"
    assert llms.urls == ("http://a.example/hives.md", "http://a.example/wax", "https://b.example/more")
    assert llms.problem == "b.example: /llms.txt is a web page"


def test_no_further_host_is_asked_once_there_are_enough_urls(doubles):
    sitemap, llms = found(doubles, host_urls=[A, B], sitemap=True, llms_txt=True, limit=1)
    assert (len(sitemap.urls), len(llms.urls)) == (1, 1)
    assert not [asked for asked in doubles.asked if "b.example" in asked]


def test_a_host_that_cannot_be_asked_is_told_from_one_without_sitemap():
    async def problem_of(url, **settings):
        sources = SeedSources(host_urls=[Url(url)], sitemap=True, llms_txt=True)
        return [each async for each in find_seeds(sources, CommandSettings(**settings), "", clock=WallClock(), delay=0)]

    for each in asyncio.run(problem_of("http://127.0.0.1:8097/")):
        assert each.urls == () and "--allow-private" in each.problem
    for each in asyncio.run(problem_of("http://127.0.0.1:8097/", allow_private=True)):
        assert each.urls == () and "127.0.0.1:8097: unreachable" in each.problem


def test_what_robots_txt_forbids_is_not_read(doubles):
    doubles.files["a.example/robots.txt"] = "User-agent: *\nDisallow: /\n"
    (each,) = found(doubles, host_urls=[A], llms_txt=True)
    assert each == FoundSeeds("llms.txt", (), "a.example: forbidden by robots.txt")
    assert "a.example/llms.txt" not in doubles.asked


def test_each_way_fails_alone(doubles):
    doubles.broken = {"index.example"}
    doubles.files["wayback.example/x"] = ""
    crawl, wayback, llms = found(
        doubles, host_urls=[A], common_crawl="http://index.example", wayback="http://a.example/llms.txt", llms_txt=True
    )
    assert crawl.urls == () and "busy (503)" in crawl.problem
    assert wayback.urls == () and "did not answer with JSON, but with '# A site" in wayback.problem
    assert len(llms.urls) == 3


@pytest.mark.parametrize(
    "answer", ["[]", "{}", '[{"cdx-api": 3}]', "[" * 100_000, '{"results": [1, null]}', "null", '{"\udcff": 1}']
)
def test_no_answer_raises(doubles, answer):
    for path in ("collinfo.json", "search", "cdx"):
        doubles.files[f"odd.example/{path}"] = answer
    for each in found(
        doubles, host_urls=[A], words="x", searxng="http://odd.example", common_crawl="http://odd.example",
        wayback="http://odd.example/cdx",
    ):  # fmt: skip
        assert each.urls == ()


def test_public_services_are_not_asked_without_a_contact():
    async def ask():
        sources = SeedSources(host_urls=[A], sitemap=True, wayback="https://web.archive.org/cdx")
        return [each async for each in find_seeds(sources, CommandSettings(), "", clock=WallClock())]

    with pytest.raises(RecipeError, match=r"web\.archive\.org is a public host"):
        asyncio.run(ask())
