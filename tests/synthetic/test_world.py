import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Host, Url
from lycosa.vocabulary.urls import host_of, normalise, site_of
from lycosa_lab.worlds.synthetic import SyntheticWorld
from synthetic.small_worlds import small


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_gives_others(tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("same", 3), ("other", 4)):
        SyntheticWorld(pages=600, topics=5, seed=seed).save(tmp_path / name)
    one, same, other = (_files(tmp_path / name) for name in ("one", "same", "other"))
    assert one == same
    assert one.keys() == other.keys() and all(one[name] != other[name] for name in ("topic.npy", "links-target.npy"))


def test_a_world_that_was_saved_shows_the_same_pages_and_directory(tmp_path: Path) -> None:
    world = small()
    world.save(tmp_path / "world")
    loaded = SyntheticWorld.load(tmp_path / "world")
    assert loaded.facts == world.facts and list(loaded.urls()) == list(world.urls())
    assert loaded.directory() == world.directory() and loaded.site_traffic() == world.site_traffic()
    sample = list(world.urls())[::97]
    assert [loaded.page(url) for url in sample] == [world.page(url) for url in sample]
    assert isinstance(loaded.plan.topic.base, np.memmap)


def test_a_world_can_be_sent_to_another_process() -> None:
    world = SyntheticWorld(pages=600, topics=5)
    for sent in (world, world.at(20.0)):
        received = pickle.loads(pickle.dumps(sent))
        urls = list(sent.urls())
        assert received.facts == sent.facts and list(received.urls()) == urls
        assert received.page(urls[-1]) == sent.page(urls[-1])


def test_a_folder_with_something_in_it_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("do not touch")
    with pytest.raises(UsageError, match="is not empty"):
        small().save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def _cut(folder: Path) -> None:
    (folder / "topic.npy").write_bytes((folder / "topic.npy").read_bytes()[:200])


def _remove(folder: Path) -> None:
    (folder / "links-start.npy").unlink()


def _foreign(folder: Path) -> None:
    (folder / "synthetic.json").write_text('{"world": "graph"}')


def _no_json(folder: Path) -> None:
    (folder / "synthetic.json").write_text("{")


def _other_size(folder: Path) -> None:
    np.save(folder / "kind.npy", np.zeros(7, dtype=np.int8))


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (_cut, "topic.npy"),
        (_remove, "links-start.npy"),
        (_foreign, "synthetic.json"),
        (_no_json, "synthetic.json"),
        (_other_size, "do not fit each other"),
    ],
)
def test_a_damaged_folder_is_refused_by_name(tmp_path: Path, damage: Callable[[Path], None], named: str) -> None:
    SyntheticWorld(pages=600, topics=5).save(tmp_path / "world")
    damage(tmp_path / "world")
    with pytest.raises(UsageError, match=named):
        SyntheticWorld.load(tmp_path / "world")


@pytest.mark.parametrize(
    "options",
    [
        {"pages": 10},
        {"topics": 1},
        {"sites": 3},
        {"sites": 2000},
        {"status_homophily": 1.5},
        {"topical_homophily": -0.1},
        {"feature_noise": -1.0},
        {"site_words": -0.1},
        {"site_words": 1.1},
        {"seed": -1},
        {"feature_noise": float("nan")},
    ],
)
def test_options_that_make_no_world_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        SyntheticWorld(**{"pages": 3000, "topics": 8, **options})


@given(st.integers(min_value=0, max_value=2999))
def test_a_url_leads_back_to_the_number_it_was_made_from(number: int) -> None:
    world = small()
    url = world.url(number)
    assert world.number(url) == number and normalise(url) == url
    assert host_of(url) in world.hosts


@given(st.one_of(st.text(), st.from_regex(r"http://[a-z]{1,5}\.example/([a-z]{1,5}-[0-9]/)?([0-9]{1,5}\.html)?")))
def test_what_is_no_url_of_the_world_is_no_page(text: str) -> None:
    world = small()
    number = world.number(Url(text))
    assert number is None or world.url(number) == text
    assert (world.page(Url(text)) is None) == (world.read(Url(text)) is None) == (number is None)


@given(st.integers(min_value=0, max_value=2999), st.integers(min_value=0, max_value=10**8))
def test_an_address_with_another_number_in_it_is_no_page(number: int, other: int) -> None:
    world = small()
    url = world.url(number)
    changed = Url(url.replace(f"/{number}.html", f"/{other}.html"))
    assert changed == url or world.number(changed) is None or world.url(world.number(changed) or 0) == changed


def test_urls_are_all_different_and_every_site_has_a_name_of_its_own() -> None:
    world = small()
    urls = list(world.urls())
    assert len(set(urls)) == len(urls) == len(world) == 3000
    assert len({site_of(host) for host in world.hosts}) == len(world.hosts) == world.facts["sites"]


def test_arrays_say_what_the_methods_say() -> None:
    world = small()
    for number in range(0, len(world), 131):
        url = world.url(number)
        assert world.topic(url) == world.topics[world.topic_of_page[number]]
        assert world.log_in_links(url) == pytest.approx(world.status[number])
        assert list(world.hosts)[world.site_of_page[number]] == host_of(url)
        assert [world.number(target) for target in world.out_links(url)] == world.links.of(number).tolist()
    assert (
        world.topic(Url("http://nowhere.example/")) is None
        and world.log_in_links(Url("http://nowhere.example/")) is None
    )


def test_no_page_links_twice_to_one_page_or_to_itself() -> None:
    world = small()
    source = np.repeat(np.arange(len(world)), np.diff(world.links.start))
    assert len(np.unique(source * len(world) + world.links.target)) == len(source)
    assert not (source == world.links.target).any()


def test_every_page_of_a_site_can_be_reached_from_its_home_page() -> None:
    world = small()
    site = world.site_of_page
    reached = np.zeros(len(world), dtype=bool)
    frontier = world.plan.site_start[:-1].tolist()
    reached[frontier] = True
    while frontier:
        inner = {target for page in frontier for target in world.links.of(page).tolist() if site[target] == site[page]}
        frontier = [page for page in inner if not reached[page]]
        reached[frontier] = True
    assert reached.all()


def test_names_of_topics_are_two_words_and_related_topics_share_the_first() -> None:
    names = small().topics
    tops = [name.split("/")[0] for name in names]
    assert len(set(names)) == 8 and all(name.count("/") == 1 for name in names)
    assert 1 < len(set(tops)) < 8


def test_everybody_may_fetch_everything_and_nothing_moves() -> None:
    world = small()
    host = next(iter(world.hosts))
    assert "Disallow:\n" in (world.robots(host) or "") and world.robots(Host("nowhere.example")) is None
    assert world.redirect(world.url(5)) is None


def _calls_to_make(**options: int) -> int:
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        SyntheticWorld(**options)
    finally:
        sys.setprofile(None)
    return calls


def test_making_a_world_calls_nothing_page_by_page() -> None:
    few, many = (_calls_to_make(pages=pages, sites=100, topics=8) for pages in (4000, 16_000))
    assert many < few + 4000  # sections are named one by one, pages are not


def test_a_world_takes_room_in_proportion_to_its_pages(tmp_path: Path) -> None:
    sizes = []
    for pages in (3000, 12_000):
        SyntheticWorld(pages=pages, topics=8).save(tmp_path / str(pages))
        sizes.append(sum(len(content) for content in _files(tmp_path / str(pages)).values()))
    assert sizes[1] < 4.4 * sizes[0]
