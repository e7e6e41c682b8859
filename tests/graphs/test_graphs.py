import gzip
import math
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.reading.reader import Reader
from lycosa.standing import graph_files
from lycosa.standing.graph_files import graph_from_edges, read_graph, read_graph_in_links
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Fetch, Outcome, Url
from lycosa_lab.worlds.graphs import GraphWorld, LinkGraph
from lycosa_lab.worlds.registry import save_world

PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60)


def written(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def arcs_of(world: LinkGraph) -> list[tuple[str, str]]:
    return [
        (world.url(number), world.url(target))
        for number in range(len(world))
        for target in world.links(number).tolist()
    ]


def made(number: int) -> str:
    return f"http://n{number}.graph.example/"


@given(
    PAIRS,
    st.sampled_from(["\t", " ", "  ", " \t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from([16, 64, 1 << 20]),
)
def test_pairs_are_read_however_they_are_spaced(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[int, int]], gap: str, end: str, last: bool, block: int
) -> None:
    path = tmp_path_factory.mktemp("pairs") / "graph.gz"
    text = end.join(f"{source}{gap}{target}" for source, target in pairs) + (end if last else "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_files, "_BLOCK", block)
        world = GraphWorld(path=str(written(path, text)))
    assert sorted(arcs_of(world)) == sorted((made(source), made(target)) for source, target in pairs)
    assert len(world) == len({number for pair in pairs for number in pair})


def test_comments_and_empty_lines_are_passed_over(tmp_path: Path) -> None:
    world = GraphWorld(
        path=str(written(tmp_path / "snap.txt.gz", "# Nodes: 3\n# From To\n\n0\t1\n% more\n1\t2\n\n2 0\n"))
    )
    facts = dict(world.facts)
    assert len(facts.pop("fingerprint")) == 16
    assert facts == {"name": "graph", "path": "snap.txt.gz", "pages": 3, "links": 3}


def test_numbers_with_gaps_are_numbered_anew_and_keep_their_addresses(tmp_path: Path) -> None:
    world = GraphWorld(path=str(written(tmp_path / "gaps.tsv", "7 900000000000\n7 1000\n900000000000 7\n")))
    assert list(world.urls()) == [0, 1, 2]
    assert [world.url(number) for number in range(3)] == [made(7), made(1000), made(900000000000)]
    assert [world.number(made(number)) for number in (7, 1000, 900000000000, 8, 10**15)] == [0, 1, 2, None, None]
    assert world.links(0).tolist() == [2, 1]


@pytest.mark.parametrize("block", [8, 1 << 20])
@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("0 1\n1 2 3\n", 2, "name two nodes, not '1 2 3'"),
        ("0 1\n1\n2 0\n", 2, "name two nodes, not '1'"),
        ("0 1 2\n3\n", 1, "name two nodes, not '0 1 2'"),
        ("0\n1 2 3\n", 1, "name two nodes, not '0'"),
        ("0 1\n# fine\n1 two\n", 3, "whole number from 0 on, not 'two'"),
        ("0 1\n1 -2\n", 2, "whole number from 0 on, not '-2'"),
        ("0 1.5\n", 1, "whole number from 0 on, not '1.5'"),
        ("0,1\n", 1, "name two nodes, not '0,1'"),
        ("0 1\n0 99999999999999999999\n", 2, "whole number"),
        ("0 \u0661\n", 1, "whole number"),
        ("", 1, "no links in it"),
        ("# only words\n", 1, "no links in it"),
    ],
)
def test_a_bad_line_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, line: int, told: str, block: int
) -> None:
    monkeypatch.setattr(graph_files, "_BLOCK", block)
    with pytest.raises(UsageError) as error:
        GraphWorld(path=str(written(tmp_path / "bad.tsv", text)))
    assert f"bad.tsv:{line}: " in str(error.value)
    assert told in str(error.value)


def test_a_line_without_end_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_files, "_BLOCK", 100)
    monkeypatch.setattr(graph_files, "_MAX_LINE", 1000)
    with pytest.raises(UsageError, match=r"endless:3: this line has no end"):
        GraphWorld(path=str(written(tmp_path / "endless", "0 1\n1 0\n" + "1" * 5000)))


@pytest.mark.parametrize("block", [1000, 1 << 20])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
def test_a_file_that_is_cut_short_is_named_with_the_line_that_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, share: float
) -> None:
    monkeypatch.setattr(graph_files, "_BLOCK", block)
    whole = gzip.compress("".join(f"{number} {number * 7919 % 50021}\n" for number in range(50021)).encode())
    cut = whole[: int(share * len(whole))]
    (tmp_path / "cut.gz").write_bytes(cut)
    last = len(zlib.decompressobj(wbits=31).decompress(cut).splitlines())
    with pytest.raises(UsageError, match=rf"cut\.gz:{last}: the file is cut short"):
        GraphWorld(path=str(tmp_path / "cut.gz"))


def test_a_file_that_is_cut_at_the_end_of_a_line_is_named_with_that_line(tmp_path: Path) -> None:
    for name, packed in (("ended.gz", gzip.compress(b"0 1\n1 2\n")[:-8]), ("begun.gz", gzip.compress(b"")[:-8])):
        (tmp_path / name).write_bytes(packed)
    for name, line in (("ended.gz", 2), ("begun.gz", 1)):
        with pytest.raises(UsageError, match=rf"{name}:{line}: the file is cut short"):
            GraphWorld(path=str(tmp_path / name))


def test_a_file_that_was_never_packed_is_told_and_so_is_one_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "false.gz").write_bytes(b"\x1f\x8bnever packed")
    (tmp_path / "short.gz").write_bytes(gzip.compress(b"0 1\n")[:-9])
    for name in ("false.gz", "short.gz"):
        with pytest.raises(UsageError, match=rf"{name}:1: the file is cut short or damaged"):
            GraphWorld(path=str(tmp_path / name))
    with pytest.raises(UsageError, match="there is no file"):
        GraphWorld(path=str(tmp_path / "nowhere.gz"))
    with pytest.raises(UsageError, match="give graph:path=FILE"):
        GraphWorld()


LISTED = "n 0 http://a.example/\nn 1 http://b.example/x y\nn 2 http://a.example/\nn 5 no address\ne 0 1\ne 5 0\ne 0 5\n"


def test_nodes_may_come_with_urls(tmp_path: Path) -> None:
    world = GraphWorld(path=str(written(tmp_path / "listed.gz", LISTED)))
    urls = ["http://a.example/", "http://b.example/x%20y", made(2), made(3)]
    assert [world.url(number) for number in range(4)] == urls
    assert [world.number(url) for url in urls] == [0, 1, 2, 3]
    assert arcs_of(world) == [(urls[0], urls[1]), (urls[0], urls[3]), (urls[3], urls[0])]
    assert world.hosts == ["a.example", "b.example", "n2.graph.example", "n3.graph.example"]


GML = """Creator "somebody"
graph [
  directed 1
  node [ id 1 label "a.example" value 0 ]
  node [
    id 2
    label "b.example/blog [new]"
  ]
  edge [ source 2 target 1 ]
  edge [
    source 1
    target 2
  ]
]
"""


def test_in_links_of_nodes_that_spell_one_url_differently_are_added_up(tmp_path: Path) -> None:
    nodes = "n 0 http://a.example/\nn 1 HTTP://A.example\nn 2 http://b.example/\n"
    path = written(tmp_path / "graph.txt", nodes + "e 2 0\ne 2 1\ne 0 1\ne 1 2\n")
    assert read_graph_in_links(path) == {"http://a.example/": 3, "http://b.example/": 1}


def test_gml_is_read(tmp_path: Path) -> None:
    world = GraphWorld(path=str(written(tmp_path / "blogs.gml.gz", GML)))
    assert len(world) == 2
    assert arcs_of(world) == [(world.url(0), world.url(1)), (world.url(1), world.url(0))]
    assert world.url(0) == "http://a.example/"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.gz", "n 0 http://a.example/\nx 0 1\n", ":2: a line must be 'n NUMBER URL' or 'e FROM TO', not 'x 0 1'"),
        ("a.gz", "n 0 http://a.example/\ne 0 1\n", ":2: there is no node 1"),
        ("a.gz", "n 0 http://a.example/\nn 0 http://b.example/\n", ":2: node 0 was declared before"),
        ("a.gz", "n zero http://a.example/\n", ":1: a node must be a whole number"),
        ("a.gz", "e 0 1\n", ":1: no nodes"),
        ("a.gml", "graph [\n node [ id 1 ]\n edge [ source 1 target 2 ]\n]\n", ":3: there is no node 2"),
        ("a.gml", "graph [\n node [ label x ]\n]\n", ":2: a node must be a whole number from 0 on, not 'nothing'"),
        ("a.gml", "graph [\n node [ id 1 ]\n", ":2: the bracket of line 1 is never closed"),
        ("a.gml", "graph [\n]\n]\n", ":3: no bracket is open"),
        ("a.gml", "graph [\n node [ id 1 ]\n edge [\n source 1\n target -3 ]\n]\n", ":3: a node must be"),
    ],
)
def test_bad_lines_of_other_formats_are_named(tmp_path: Path, name: str, text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        GraphWorld(path=str(written(tmp_path / name, text)))
    assert f"{name}{told}" in str(error.value)


@given(PAIRS)
def test_what_is_read_by_number_is_what_is_served_by_address(pairs: list[tuple[int, int]]) -> None:
    sources, targets = np.array(pairs, np.int32).T.copy()
    world = LinkGraph(graph_from_edges(sources, targets, 31))
    reader = Reader(stem="porter")
    for number in range(31):
        read = world.read(number)  # type: ignore[arg-type]
        url = world.url(number)
        served = reader(Fetch(url, Outcome.OK, at=0.0, content=world.page(url) or b""))
        assert read is not None and served is not None
        others = dict.fromkeys(world.url(link.target) for link in read.links if link.target != number)  # type: ignore[arg-type]
        assert [link.target for link in served.links] == list(others)
        assert [link.target for link in read.links] == [target for source, target in pairs if source == number]
        assert world.log_in_links(url) == math.log1p(sum(target == number for _, target in pairs))
    assert world.in_degrees().sum() == world.out_degrees().sum() == len(pairs)
    assert world.read(31) is None and world.read(-1) is None and world.page(Url(made(31))) is None  # type: ignore[arg-type]


@given(PAIRS)
def test_a_crawl_starts_where_much_can_be_reached(pairs: list[tuple[int, int]]) -> None:
    sources, targets = np.array(pairs, np.int32).T.copy()
    world = LinkGraph(graph_from_edges(sources, targets, 31))
    met, waiting = {world.best_start()}, [world.best_start()]
    while waiting:
        for target in world.links(waiting.pop()).tolist():
            if target not in met:
                met.add(target)
                waiting.append(target)
    assert world.reachable_count(world.best_start()) == len(met)
    assert all(
        world.reachable_count(number) <= len(met) for number in np.argsort(-world.out_degrees(), kind="stable")[:8]
    )


def peak_of(path: Path) -> int:
    tracemalloc.start()
    read_graph(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_grows_by_less_than_the_links_allow(tmp_path: Path) -> None:
    """400 MB for a million nodes and five million links are 80 bytes a link, all in all."""
    chance = np.random.default_rng(5)
    peaks = {}
    for nodes in (20_000, 60_000):
        pairs = chance.integers(0, nodes, (5 * nodes, 2))
        path = tmp_path / f"{nodes}.gz"
        path.write_bytes(
            gzip.compress("\n".join(f"{source}\t{target}" for source, target in pairs.tolist()).encode(), 1)
        )
        peaks[nodes] = peak_of(path)
    a_link = (peaks[60_000] - peaks[20_000]) / 200_000
    assert a_link < 60  # bytes


def test_a_saved_graph_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no graph"):
        LinkGraph.load(tmp_path)
    save_world(GraphWorld(path=str(written(tmp_path / "g", "0 1\n1 0\n"))), tmp_path / "saved")
    (tmp_path / "saved" / "targets.npy").write_bytes(b"")
    with pytest.raises(UsageError, match="holds no graph"):
        LinkGraph.load(tmp_path / "saved")


def test_graphs_of_one_name_and_size_are_told_apart_by_what_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    one, same, other = (
        GraphWorld(path=str(written(tmp_path / folder / "g", text)))
        for folder, text in (("one", "0 1\n1 2\n2 0\n"), ("one", "0 1\n1 2\n2 0\n"), ("other", "0 2\n2 1\n1 0\n"))
    )
    assert one.facts == same.facts != other.facts
    assert one.facts | {"fingerprint": ""} == other.facts | {"fingerprint": ""}  # type: ignore[operator]
