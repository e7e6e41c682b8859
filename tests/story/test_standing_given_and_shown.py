"""Standing through the command line: what is given to learn it from, and where a strategy that weighs it shows."""

import gzip
import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from crawling import done, listing, lycosa
from lycosa import api
from lycosa.cli.crawl_display import run_and_show
from lycosa.cli.progress import Progress
from lycosa.recipe import load_recipe
from lycosa.standing import read_in_links, read_traffic
from lycosa.standing.graph_files import read_graph
from lycosa_lab.worlds.graphs import LinkGraph
from lycosa_lab.worlds.server import WorldServer
from story.beekeeping import ON_TOPIC, WORLD, crawled, made

pytestmark = pytest.mark.slow

FROM_SHORT_TO_LONG = sorted(ON_TOPIC, key=lambda url: len(WORLD.page(url)))


@pytest.fixture(scope="module")
def served():
    with WorldServer(WORLD) as served:
        yield served


@pytest.mark.parametrize("form", ["listed", "gml"])
def test_a_graph_of_links_between_urls_teaches_what_matters(tmp_path, served, form: str) -> None:
    links = [(shorter, longer) for longer in range(len(ON_TOPIC)) for shorter in range(longer)]
    if form == "listed":
        lines = [f"n {number} {url}" for number, url in enumerate(FROM_SHORT_TO_LONG)]
        lines += [f"e {source} {target}" for source, target in links]
    else:
        nodes = [f'node [ id {number} label "{url}" ]' for number, url in enumerate(FROM_SHORT_TO_LONG)]
        lines = ["graph [", *nodes, *(f"edge [ source {source} target {target} ]" for source, target in links), "]"]
    folder = made(tmp_path / "c", standing='graph = "links.gz"')
    (folder / "links.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    assert "learned from links.gz: 20 pages" in crawled(folder, served).err
    standing = {
        row["url"]: row["standing"]
        for row in map(json.loads, done("export", folder, "--format", "jsonl").out.splitlines())
    }
    stored = [url for url in FROM_SHORT_TO_LONG if url in standing]
    assert standing[stored[0]] < standing[stored[-1]]


def test_the_files_in_the_guide_are_read_as_it_says(tmp_path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "standing.md").read_text(encoding="utf-8")
    in_links, traffic = re.findall("```csv\n(.*?)```", guide, re.DOTALL)
    (graph,) = re.findall("```graph\n(.*?)```", guide, re.DOTALL)
    for name, text in {"in-links.csv": in_links, "traffic.csv": traffic, "links.txt": graph}.items():
        (tmp_path / name).write_text(text)
    assert read_in_links(tmp_path / "in-links.csv") == {"https://example.org/": 120, "https://example.org/hives": 7}
    assert read_traffic(tmp_path / "traffic.csv") == {"example.org": 45_000.0}
    links = read_graph(tmp_path / "links.txt")
    assert dict(zip(links.names, LinkGraph(links).in_degrees().tolist(), strict=True)) == {
        "https://example.org/": 1,
        "https://example.org/hives": 2,
        "https://example.net/bees": 0,
    }


@pytest.mark.parametrize(
    ("graph", "said"),
    [
        ("http://a.example/ http://b.example/\n", "links.txt:1"),
        ("0 1\n1 2\n", "this graph has numbers only"),
        ("n 0 http://a.example/\ne 0 1\n", "links.txt:2"),
    ],
)
def test_a_graph_that_is_wrong_is_told(tmp_path, served, graph: str, said: str) -> None:
    folder = made(tmp_path / "c", standing='graph = "links.txt"')
    (folder / "links.txt").write_text(graph)
    flags = ("--strategy", "adaptive", "--pages", 5, "--delay", 0, "--resolve", served.resolve, "--allow-private")
    assert lycosa("crawl", folder, *flags).is_one_clear_line(2, said)


@pytest.mark.parametrize("strategy", ["adaptive", "inlinks", "utility"])
def test_the_live_display_tells_what_the_strategy_goes_by(tmp_path, served, strategy: str) -> None:
    folder = made(tmp_path / "c")
    crawl = api.crawl(folder, strategy=strategy, pages=60, resolve=[served.resolve], allow_private=True)
    terminal = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    with Progress(console=terminal) as progress:
        run_and_show(crawl, progress=progress)
    shown = terminal.file.getvalue()
    assert re.search(
        r"latest pages [01]\.\d\d  found on: relevance [01]\.\d\d, importance [01]\.\d\d, score [01]\.\d\d",
        shown,
    )
    assert ("  importance 0." in shown) == (strategy != "inlinks")


def test_the_weight_of_relevance_is_told_of_a_crawl_that_counts_in_links(tmp_path, served) -> None:
    folder = made(tmp_path / "c")
    said = crawled(folder, served, "--strategy", "inlinks").err
    assert re.search(r"% relevant \(estimate\), latest pages [01]\.\d\d, ", said)
    done("report", folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<h2>Weight of relevance</h2>" in page and "<h2>Importance</h2>" not in page


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_tables_given_when_a_collection_is_made_become_its_own(tmp_path, served, suffix: str) -> None:
    tables = {
        "my-links.tsv": "".join(f"{url}\t{number}\n" for number, url in enumerate(FROM_SHORT_TO_LONG)),
        "alexa.csv": "domain,reach\nexample.org,5\n",
    }
    for name, table in tables.items():
        data = table.encode()
        (tmp_path / f"{name}{suffix}").write_bytes(gzip.compress(data) if suffix else data)
    good, seeds = listing(tmp_path / "good.txt", ON_TOPIC[:20]), listing(tmp_path / "seeds.txt", [WORLD.front_page])
    given = [tmp_path / f"{name}{suffix}" for name in tables]
    folder = tmp_path / "c"
    done("new", folder, "--examples", good, "--seeds", seeds, "--in-links", given[0], "--traffic", given[1])
    source = load_recipe(folder).standing
    assert (source.in_links, source.traffic) == (f"in-links.csv{suffix}", f"traffic.csv{suffix}")
    for path in given:
        path.unlink()
    assert f"learned from in-links.csv{suffix}: 20 pages" in crawled(folder, served).err


@pytest.mark.parametrize(
    ("flag", "table", "said"),
    [
        ("--in-links", "url,in_links\nhttp://a.example/,-3\n", "table.csv:2"),
        ("--in-links", "one,two,three\n", "table.csv:1"),
        ("--traffic", "domain,reach\na.example,5\nb.example,wide\n", "table.csv:3"),
        ("--traffic", None, "table.csv"),
    ],
)
def test_tables_that_are_wrong_are_told_before_anything_is_made(tmp_path, flag, table, said: str) -> None:
    if table is not None:
        (tmp_path / "table.csv").write_text(table)
    made_with = lycosa("new", tmp_path / "c", "--topic", "bees", flag, tmp_path / "table.csv")
    assert made_with.is_one_clear_line(2, said)
    assert not (tmp_path / "c").exists()


def test_without_tables_the_recipe_names_none(tmp_path) -> None:
    done("new", tmp_path / "c", "--topic", "bees")
    source = load_recipe(tmp_path / "c").standing
    assert (source.in_links, source.traffic) == ("", "")
