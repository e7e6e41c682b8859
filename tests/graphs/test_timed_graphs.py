"""Links with times: out of files, through a window, in order and out of it."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.vocabulary.errors import UsageError
from lycosa_lab.worlds.registry import load_world, open_world, save_world
from lycosa_lab.worlds.timed_graphs import (
    DAY,
    TimedGraphWorld,
    TimedLinkGraph,
    TimedLinks,
    WindowDegrees,
    WindowedGraph,
    read_timed_links,
    sort_timed_links,
)

ASKUBUNTU = Path(__file__).parents[3] / "shared/data/timed/sx-askubuntu-a2q.txt.gz"
COLLEGE = Path(__file__).parents[3] / "shared/data/timed/CollegeMsg.txt.gz"

# A links to B at 0 and again at 4, to C at 5; B links to A at 2; D to B at 9.
FEW = [(0, 1, 0.0), (1, 0, 2.0), (0, 1, 4.0), (0, 2, 5.0), (3, 1, 9.0)]
A, B, C, D = range(4)
some_links = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 30)), min_size=1, max_size=60)


def links_of(rows: list[tuple[int, int, float]], size: int = 7) -> TimedLinks:
    sources, targets, times = (np.array(column) for column in zip(*rows, strict=True))
    return sort_timed_links(sources, targets, times.astype(float), size)


def written(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def there_at(rows: list[tuple[int, int, float]], time: float, window: float) -> set[tuple[int, int]]:
    return {(u, v) for u, v, t in rows if time - window <= t <= time and u != v}


def test_a_node_links_to_what_it_linked_to_within_the_window() -> None:
    graph = WindowedGraph(links_of(FEW), window=4.0)
    assert [graph.targets_at(A, time) for time in (-1, 0, 4, 5, 8, 9, 9.5)] == [[], [B], [B], [B, C], [B, C], [C], []]
    assert graph.targets_at(C, 5) == []
    assert (graph.begin, graph.end, len(graph)) == (0.0, 9.0, 7)


@given(rows=some_links, window=st.sampled_from([1.0, 4.0, 100.0]), times=st.lists(st.integers(-2, 40), max_size=6))
@settings(max_examples=150, deadline=None)
def test_degrees_kept_while_the_window_moves_are_those_counted_anew(
    rows: list[tuple[int, int, float]], window: float, times: list[int]
) -> None:
    graph = WindowedGraph(links_of([*rows, (0, 1, 3.0)]), window=window)
    rows = [*rows, (0, 1, 3.0)]
    sliding = graph.window_degrees()
    for time in sorted(times):
        sliding.move_to(time)
        there = there_at(rows, time, window)
        assert {(u, v) for u in range(7) for v in graph.targets_at(u, time)} == there
        assert set(zip(*(ends.tolist() for ends in graph.links_at(time)), strict=True)) == there
        assert sliding.in_degrees.tolist() == [sum(v == node for _, v in there) for node in range(7)]
        assert sliding.out_degrees.tolist() == [sum(u == node for u, _ in there) for node in range(7)]
        met = {node for u, v, t in rows if t <= time and u != v for node in (u, v)}
        assert set(np.flatnonzero(sliding.has_appeared).tolist()) == met
        degrees = sliding.in_degrees
        ranked = sorted((node for node in range(7) if degrees[node]), key=lambda node: (-degrees[node], node))
        for k in (1, 3, 20):
            assert sliding.most_linked(k).tolist() == ranked[:k]


def test_a_window_does_not_move_back() -> None:
    sliding = WindowDegrees(WindowedGraph(links_of(FEW)))
    sliding.move_to(5.0)
    with pytest.raises(ValueError, match="cannot move back"):
        sliding.move_to(4.0)


def test_a_window_without_length_is_refused() -> None:
    with pytest.raises(UsageError, match="longer than 0"):
        WindowedGraph(links_of(FEW), window=0.0)


def test_links_may_come_in_any_order_and_those_to_oneself_or_told_twice_are_left_out(tmp_path: Path) -> None:
    text = "5 9 300\n9 5 100\n5 5 200\n9 5 100\n9 5 50\n"
    links = read_timed_links(written(tmp_path / "links.txt", text))
    assert links.times.tolist() == [50, 100, 300]
    assert links.sources.tolist() == [1, 1, 0]
    assert (links.node_count, links.self_links, links.repeated) == (2, 1, 1)
    world = open_world(str(tmp_path / "links.txt"))
    assert isinstance(world, TimedGraphWorld)
    assert world.facts["self_links"] == world.facts["repeated"] == 1
    assert (world.facts["timed_links"], world.facts["links"]) == (3, 2)
    assert world.url(0) == "http://n5.graph.example/"


@pytest.mark.parametrize("end", [".txt", ".gz"])
@pytest.mark.parametrize("head", ["src dst time\n", "# from to time\n", "# a comment\nsrc dst time\n", ""])
def test_files_may_be_packed_and_have_a_heading(tmp_path: Path, head: str, end: str) -> None:
    links = read_timed_links(written(tmp_path / f"links{end}", head + "1 2 10.5\n2 3 7\n"))
    assert links.times.tolist() == [7, 10.5]


def test_times_in_milliseconds_are_told_from_seconds(tmp_path: Path) -> None:
    links = read_timed_links(written(tmp_path / "links.txt", "0 1 1280369730000\n1 0 1280369731500\n"))
    assert links.times.tolist() == [1280369730.0, 1280369731.5]


def test_long_node_numbers_stay_what_they_are(tmp_path: Path) -> None:
    links = read_timed_links(written(tmp_path / "links.txt", "9007199254740993 9007199254740992 1.5\n"))
    assert links.node_count == 2
    assert links.names is not None and links.names.tolist() == [9007199254740992, 9007199254740993]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("0 1 5\n1 2 -3\n", 2, "from 0 on"),
        ("0 1 5\n1 2\n", 2, "time is missing"),
        ("0 1 5\n1 2 3 4\n", 2, "FROM TO TIME"),
        ("0 1 5\n1 2 nan\n", 2, "seconds since 1970"),
        ("0 1 5\n1 2 soon\n", 2, "seconds since 1970"),
        ("0 1 5\n-1 2 5\n", 2, "whole number"),
        ("# x\n0 1 1280369730\n1 2 1280369730000\n", 3, "milliseconds"),
        ("# x\n0 1 1280369730000000\n1 2 1280369730000001\n", 2, "seconds or milliseconds"),
        ("0 1 1280369730\n1 2 1280369730000000\n", 2, "seconds or milliseconds"),
        ("src dst time\n", 1, "no links"),
        ("src dst time\nsrc dst time\n0 1 5\n", 2, "whole number"),
        ("", 1, "no links"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    path = written(tmp_path / "links.txt", text)
    with pytest.raises(UsageError) as refused:
        TimedGraphWorld(path=str(path))
    assert str(refused.value).startswith(f"{path}:{line}: ")
    assert says in str(refused.value)


def test_a_file_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="timed:path=FILE"):
        TimedGraphWorld()
    with pytest.raises(UsageError, match="no file"):
        TimedGraphWorld(path=str(tmp_path / "none"))


def test_a_saved_world_is_the_same_when_loaded(tmp_path: Path) -> None:
    world = TimedGraphWorld(path=str(written(tmp_path / "links.txt", "5 9 300\n9 5 100\n5 7 200\n5 5 1\n")))
    save_world(world, tmp_path / "saved")
    loaded = load_world(tmp_path / "saved")
    assert isinstance(loaded, TimedLinkGraph)
    assert loaded.facts == world.facts
    assert loaded.windowed(1e3).targets_at(0, 400.0) == world.windowed(1e3).targets_at(0, 400.0) == [1, 2]
    times = tmp_path / "saved" / "times.npz"
    for damaged in (times.read_bytes()[:-30], b""):
        times.write_bytes(damaged)
        with pytest.raises(UsageError, match="no timed graph"):
            load_world(tmp_path / "saved")
    times.unlink()
    with pytest.raises(UsageError, match="no timed graph"):
        load_world(tmp_path / "saved")


@pytest.mark.skipif(not ASKUBUNTU.exists(), reason="the graph of questions and answers is not here")
def test_a_real_file_that_is_not_sorted() -> None:
    world = TimedGraphWorld(path=str(ASKUBUNTU))
    links = world.timed_links
    assert (len(links.times) + links.self_links + links.repeated, links.node_count) == (280_102, 137_517)
    assert (np.diff(links.times) >= 0).all()
    assert 2_600 < float(world.facts["days"]) < 2_700
    graph = world.windowed(7 * DAY)
    sliding, time = graph.window_degrees(), graph.begin + 1_000 * DAY
    sliding.move_to(time)
    _, targets = graph.links_at(time)
    assert np.array_equal(sliding.in_degrees, np.bincount(targets, minlength=len(graph)))


@pytest.mark.skipif(not COLLEGE.exists(), reason="the messages of students are not here")
def test_a_real_file_with_a_heading() -> None:
    links = TimedGraphWorld(path=str(COLLEGE)).timed_links
    assert (len(links.times) + links.self_links + links.repeated, links.node_count) == (59_835, 1_899)
