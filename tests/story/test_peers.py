"""Collections searched together: real processes on loopback, each with a collection of its own."""

import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from crawling import PATIENCE, Said, apart, begin, collection, done, end, kill, lycosa, wait_until
from fixtures.fixed_world import FixedWorld
from lycosa_lab.worlds.server import WorldServer
from lycosa_peers import wire
from lycosa_peers.addresses import parse_endpoint
from lycosa_peers.cli import client
from lycosa_peers.cli.client import allows_private_addresses
from lycosa_peers.control import SOCKET_FILE
from lycosa_peers.peer_folder import PeerFolder
from processes import Process
from screens.serving import Browser
from worlds import html

pytestmark = pytest.mark.peers

TOPICS = {
    "bees": "honey hive nectar queen swarm",
    "ships": "harbour sail mast rudder anchor",
    "stars": "comet orbit nebula telescope galaxy",
    "trees": "birch maple bark timber canopy",
}
COMMON = html("Rivers", "A river delta with water, silt and reeds, which everybody has read about.")


def site(topic: str):
    """Three pages on a topic, and one that all collections have."""
    words = TOPICS[topic].split()
    home = f"http://{topic}.example/"
    links = [(url, "more") for url in (*(f"{home}{word}" for word in words[:2]), "http://rivers.example/")]
    return {
        home: html(topic.title(), f"All about {topic}: {words[2]} and {words[3]}.", links),
        **{f"{home}{word}": html(word.title(), f"The {word} of {topic}, and {words[4]} too.") for word in words[:2]},
        "http://rivers.example/": COMMON,
    }


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("p")
    pages = {url: page for topic in TOPICS for url, page in site(topic).items()}
    with WorldServer(FixedWorld(pages)) as served:
        for topic, words in TOPICS.items():
            made = collection(folder / topic, [f"http://{topic}.example/"], topic=f'text = "{words}"')
            done(
                *("crawl", made, "--strategy", "breadth-first", "--pages", 9, "--dry-after", 0, "--quiet"),
                *("--resolve", served.resolve, "--allow-private"),
            )
    return folder


class Serving:
    """A peer in a process of its own; the pages came from this machine, and are shared nevertheless."""

    def __init__(self, folder: Path, *options: object, join: "Serving | None" = None, allow_private: bool = True):
        joins = ("--join", join.place) if join else ()
        allow = ("--allow-private",) if allow_private else ()
        self.process = begin("peer", "serve", folder, "--listen", "127.0.0.1:0", *joins, *allow, *options)
        line = self.process.stdout.readline()
        found = re.match(r"(\w{32})@(\S+) serves (\d+) pages", line)
        assert found, line + self.process.stderr.read()
        self.name, self.place, self.pages = found[1], found[2], int(found[3])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            kill(self.process)
        else:
            self.process.communicate()


def search(folder: Path, words: str, *options: object) -> Said:
    return done("peer", "search", folder, words, "--json", *options)


def urls(said: Said) -> list[str]:
    return [hit["url"] for hit in said.json["hits"]]


def has_neighbours(folder: Path, number: int) -> bool:
    facts = done("peer", "show", folder, "--json").json
    return sum(not each["is_down"] for each in facts["neighbours"]) >= number


def test_friends_find_what_only_one_of_them_has_and_do_without_one_who_is_gone(crawled):
    bees, ships, stars = (crawled / name for name in ("bees", "ships", "stars"))
    with Serving(bees) as first, Serving(ships, join=first) as second, Serving(stars, join=second):
        assert first.pages == 4
        wait_until(lambda: has_neighbours(bees, 1) and has_neighbours(ships, 2))

        at_home = search(bees, "honey")
        assert urls(at_home) == ["http://bees.example/honey"]
        assert at_home.json["hits"][0]["at_home"]

        near = search(bees, "harbour")
        assert urls(near) == ["http://ships.example/harbour"]
        assert near.json["answered"] == [second.name]
        assert near.json["messages"] > 0

        far = search(bees, "comet")  # two steps away
        assert urls(far) == ["http://stars.example/comet"]

        everybody = search(bees, "river delta")
        (hit,) = everybody.json["hits"]
        assert hit["url"] == "http://rivers.example/"
        assert len(hit["providers"]) > 1

        kill(second.process)
        after = search(bees, "harbour", "--deadline", 1)
        assert after.json["seconds"] < 1.2
        assert urls(search(bees, "honey")) == ["http://bees.example/honey"]
        shown = done("peer", "show", bees, "--json").json
        assert shown["is_running"]
        assert shown["name"] == first.name


def test_the_screen_of_a_collection_shows_its_peers_and_what_they_answer(crawled):
    bees, ships, browser = crawled / "bees", crawled / "ships", Browser(crawled)
    with Serving(bees) as first, Serving(ships, join=first) as second:
        wait_until(lambda: has_neighbours(bees, 1))
        shown = browser.get("/c/bees/peers").text
        assert all(text in shown for text in (first.name, first.place, second.name, "running"))
        answers = browser.post("/c/bees/peers", {"q": "harbour"}).text.partition("<h2>Answers</h2>")[2]
        assert f"answered by {second.name}" in answers
        assert 'href="http://ships.example/harbour"' in answers
        at_home = browser.post("/c/bees/peers", {"q": "honey"}).text.partition("<h2>Answers</h2>")[2]
        assert "/c/bees/page?url=http%3A//bees.example/honey" in at_home
    assert "Peers can be asked while" in browser.get("/c/bees/peers").text


def test_a_page_is_taken_with_where_it_came_from(crawled, tmp_path):
    mine = tmp_path / "m"
    with WorldServer(FixedWorld(site("trees"))) as served:
        collection(mine, ["http://trees.example/"], topic='text = "birch maple"')
        done("crawl", mine, "--pages", 2, "--quiet", "--resolve", served.resolve, "--allow-private")
    with Serving(crawled / "ships") as friend:
        said = search(mine, "harbour", "--join", f"{friend.name}@{friend.place}", "--take", 1)  # a peer for a moment
        assert said.json["taken"]["pages"] == ["http://ships.example/harbour"]
        told = done("explain", mine, "http://ships.example/harbour")
        assert f"taken from peer {friend.name}" in told.out
        assert urls(search(mine, "harbour"))[0] == "http://ships.example/harbour"
        again = search(mine, "harbour", "--take", 1)
        assert again.json["hits"][0]["at_home"]
        assert again.json["taken"]["pages"] == []
    assert "Harbour" in done("search", mine, "harbour").out


def test_a_closed_group_lets_nobody_else_in(crawled, tmp_path):
    secret, other = tmp_path / "secret", tmp_path / "other"
    done("peer", "group", secret)
    done("peer", "group", other)
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    trees, ships, bees = crawled / "trees", crawled / "ships", crawled / "bees"
    with Serving(ships, "--group", secret) as member:
        inside = search(trees, "harbour", "--join", member.place, "--group", secret)
        assert urls(inside) == ["http://ships.example/harbour"]
        for options in ((), ("--group", other)):
            outside = search(bees, "harbour", "--join", member.place, *options)
            assert urls(outside) == []
            assert outside.json["answered"] == []
            assert outside.json["other_group"] == [member.place]
            assert member.place not in outside.json["not_reached"]
            said = lycosa("peer", "search", bees, "harbour", "--join", member.place, *options)
            assert f"not of the same group (see --group, --no-group): {member.place}" in said.err
        assert urls(search(trees, "sail", "--deadline", 5)) == ["http://ships.example/sail"]  # still a member
    for folder in (ships, trees, bees):
        done("peer", "search", folder, "river", "--no-group", "--json")


def test_another_key_at_a_known_address_is_refused(crawled, tmp_path):
    with Serving(crawled / "stars") as known:
        assert urls(search(crawled / "trees", "comet", "--join", known.place)) == ["http://stars.example/comet"]
    with WorldServer(FixedWorld(site("bees"))) as served:
        posing = collection(tmp_path / "posing", ["http://bees.example/"], topic='text = "honey"')
        done("crawl", posing, "--pages", 2, "--quiet", "--resolve", served.resolve, "--allow-private")
    process = begin("peer", "serve", posing, "--listen", known.place)
    try:
        name = process.stdout.readline().partition("@")[0]
        said = lycosa("peer", "search", crawled / "trees", "comet", "--join", known.place)
        assert said.is_one_clear_line(1, known.name, f"--join {name}@{known.place}")
        done("peer", "search", crawled / "trees", "honey", "--join", f"{name}@{known.place}")
    finally:
        kill(process)


def test_a_quiet_peer_says_where_it_is_and_no_more_and_a_quiet_search_shows_hits_alone(crawled):
    stars = crawled / "stars"
    control = stars / "peer" / SOCKET_FILE
    control.unlink(missing_ok=True)  # of one that was killed
    process = begin("peer", "serve", stars, "--listen", "127.0.0.1:0", "--quiet")
    try:
        wait_until(control.exists, process)
        hits = apart("peer", "search", stars, "comet", "--quiet")
        assert (hits.code, hits.err) == (0, "")
        assert "http://stars.example/" in hits.out
        process.send_signal(signal.SIGTERM)
        served = end(process)
        assert (served.code, served.err) == (0, "")
        assert " serves " in served.out and served.out.count("\n") == 1
    finally:
        kill(process)


def test_state_survives_a_kill(crawled):
    trees, stars = crawled / "trees", crawled / "stars"
    with Serving(stars) as friend:
        with Serving(trees, join=friend) as killed:
            wait_until(lambda: has_neighbours(trees, 1))
            assert urls(search(trees, "nebula"))
            state = trees / "peer" / "state.json"
            wait_until(lambda: state.exists() and friend.place in state.read_text())
            kill(killed.process)
        assert urls(search(trees, "telescope"))  # of one that goes by what was kept
        shown = done("peer", "show", trees, "--json").json
        assert shown["name"] == killed.name
        assert not shown["is_running"]
        assert friend.name in {each["name"] for each in shown["buddies"]}


def test_a_search_in_words_says_who_answered_and_what_it_cost(crawled):
    with Serving(crawled / "stars") as friend:
        said = apart("peer", "search", crawled / "trees", "comet orbit", "--join", friend.place)
        assert said.code == 0
        assert "nothing found" in said.out or "Comet" in said.out
        assert "messages" in said.err
        said = apart("peer", "search", crawled / "trees", "comet")
        assert f"at {friend.name[:8]}" in said.out
        assert f"answered by {friend.name[:8]}" in said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("serve", "NAME", "--listen", "nowhere"), "HOST:PORT"),
        (("serve", "NAME", "--listen", "0.0.0.0:7077"), "--at"),
        (("serve", "NAME", "--listen", "127.0.0.1:0", "--join", "who@127.0.0.1:9"), "no name of a peer"),
        (("serve", "NAME", "--listen", "127.0.0.1:0", "--group", "missing"), "peer group"),
        (("search", "NAME", " . "), "nothing to search for"),
        (("search", "NAME", "honey " * 900), "4096"),
        (("search", "NAME", "bees", "--join", "127.0.0.1"), "HOST:PORT"),
        (("group", "NAME"), "exists"),
    ],
)
def test_bad_usage_is_told_in_one_line(crawled, words, told):
    said = lycosa("peer", *(crawled / "bees" if word == "NAME" else word for word in words))
    assert said.is_one_clear_line(2, told)


def test_a_collection_is_served_once(crawled):
    with Serving(crawled / "bees"):
        said = lycosa("peer", "serve", crawled / "bees", "--listen", "127.0.0.1:0")
        assert said.is_one_clear_line(1, "served as a peer already")


@pytest.mark.parametrize("is_served", [True, False])
def test_a_question_that_no_message_can_carry_is_told_or_made_one_that_can(crawled, is_served):
    bees = crawled / "bees"
    with Serving(bees) if is_served else ExitStack():
        assert lycosa("peer", "search", bees, "honey " * 900).is_one_clear_line(2, "5400", "4096")
        assert urls(search(bees, "\udcff honey")) == ["http://bees.example/honey"]  # as bytes that are no UTF-8 come


def test_two_commands_that_meet_wait_for_each_other(crawled):
    bees = crawled / "bees"
    search(bees, "honey")
    lock = PeerFolder(bees).lock()
    released = threading.Timer(0.5, lock.close)
    released.start()
    assert urls(search(bees, "honey")) == ["http://bees.example/honey"]
    released.join()
    assert done("peer", "show", bees, "--json").json["name"]


def test_a_command_that_waits_in_vain_does_not_tell_of_a_peer_that_is_none(crawled, monkeypatch):
    monkeypatch.setattr(client, "LOCK_SECONDS", 0.2)
    bees = crawled / "bees"
    search(bees, "honey")
    with PeerFolder(bees).lock():
        for words in (("search", bees, "honey"), ("show", bees), ("serve", bees, "--listen", "127.0.0.1:0")):
            assert lycosa("peer", *words).is_one_clear_line(1, "another command uses the peer of", "try again")


def test_private_pages_are_allowed_where_the_collection_is_served(crawled):
    bees = crawled / "bees"
    with Serving(bees, allow_private=False):
        assert lycosa("peer", "search", bees, "honey", "--allow-private").is_one_clear_line(2, "peer serve")
    with Serving(bees):
        assert urls(search(bees, "honey", "--allow-private")) == ["http://bees.example/honey"]


def test_pages_that_came_from_this_machine_under_public_names_are_for_its_user_alone(crawled):
    bees, ships = crawled / "bees", crawled / "ships"
    with Serving(bees, allow_private=False) as mine, Serving(ships, join=mine):
        wait_until(lambda: has_neighbours(bees, 1))
        assert mine.pages == 0
        assert "4 pages not shared" in mine.process.stderr.readline()
        assert urls(search(bees, "honey")) == ["http://bees.example/honey"]  # at home
        assert urls(search(ships, "honey")) == []
        assert urls(search(bees, "harbour")) == ["http://ships.example/harbour"]


def test_a_peer_ends_when_told(crawled):
    with Serving(crawled / "bees") as peer:
        peer.process.terminate()
        assert peer.process.wait(timeout=PATIENCE) == 0
    assert not (crawled / "bees" / "peer" / "control").exists()


def test_a_state_of_another_shape_is_as_one_missing(crawled):
    bees = crawled / "bees"
    search(bees, "honey")
    (bees / "peer" / "state.json").write_text("[]")
    assert urls(search(bees, "honey")) == ["http://bees.example/honey"]
    assert done("peer", "show", bees, "--json").json["name"]


@pytest.mark.parametrize(
    ("file", "content"), [("settings.json", "[1]"), ("settings.json", '{"listen": 5}'), ("pins.json", "[1]")]
)
def test_a_damaged_file_that_says_whom_to_trust_or_where_to_listen_is_told_and_not_taken_for_none(
    crawled, file, content
):
    bees = crawled / "bees"
    search(bees, "honey")
    (bees / "peer" / file).write_text(content)
    assert lycosa("peer", "search", bees, "honey").is_one_clear_line(1, file, "is damaged", "delete it")
    (bees / "peer" / file).unlink()
    assert urls(search(bees, "honey")) == ["http://bees.example/honey"]


def test_a_damaged_group_is_told_by_its_file_and_not_taken_for_an_open_network(crawled):
    bees = crawled / "bees"
    search(bees, "honey")
    damaged = bees / "peer" / "group"
    damaged.write_text("nonsense")
    for words in (("peer", "search", bees, "honey"), ("peer", "show", bees)):
        assert lycosa(*words).is_one_clear_line(1, str(damaged), "--group FILE", "--no-group")
    done("peer", "search", bees, "honey", "--no-group")


def test_places_where_nobody_answers_cost_no_more_than_the_deadline_and_are_told(crawled, monkeypatch):
    monkeypatch.setattr(wire, "DIAL_SECONDS", PATIENCE)
    with ExitStack() as opened:
        silent = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(3)]
        places = [f"127.0.0.1:{each.getsockname()[1]}" for each in silent]
        joins = [word for place in places for word in ("--join", place)]
        said = search(crawled / "trees", "comet nowhere", "--deadline", 1, *joins)
        assert said.json["not_reached"][-3:] == places
        assert said.json["seconds"] < PATIENCE / 2
        said = lycosa("peer", "search", crawled / "trees", "comet nowhere", "--deadline", 0.1, *joins)
        (told,) = [line for line in said.err.splitlines() if line.startswith("not reached: ")]
        assert told.endswith(", ".join(places))


_READS_FOR_LONG = """
import sys, time
from lycosa_peers.shared_collection import SharedCollection
def read_for_long(content, count):
    print("reading", flush=True)
    for _ in range(6000):  # page by page: a signal that comes to a thread of the search index is seen at the next one
        time.sleep(0.01)
SharedCollection.update_summary = read_for_long
from lycosa.cli import main
sys.argv[0] = "lycosa"
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("words", [("serve", "NAME", "--listen", "127.0.0.1:0"), ("search", "NAME", "honey")])
def test_a_peer_that_still_reads_its_pages_ends_at_once(crawled, words, number):
    words = [str(crawled / "bees" if word == "NAME" else word) for word in words]
    process = Process(_READS_FOR_LONG, "peer", *words)
    assert process.stdout.readline() == "reading\n"
    process.send_signal(number)
    assert process.wait(timeout=PATIENCE) == 130
    assert process.communicate() == ("", "")


@pytest.mark.parametrize("missing", ["OpenSSL", "cryptography"])
def test_without_the_packages_that_peers_need_the_way_out_is_told(crawled, missing):
    program = (
        f"import sys; sys.modules[{missing!r}] = None; sys.argv[0] = 'lycosa'; from lycosa.cli import main; main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, "peer", "show", str(crawled / "bees")], capture_output=True, text=True
    )
    assert Said(ended.returncode, ended.stdout, ended.stderr).is_one_clear_line(
        2, missing, "pip install 'lycosa[peers]'"
    )


@pytest.mark.parametrize(
    ("own", "named", "is_private"),
    [
        ("127.0.0.1:7", [], True),
        ("8.8.8.8:7", ["127.0.0.1:7"], False),
        ("", ["127.0.0.1:7", "10.0.0.3:7"], True),
        ("", ["127.0.0.1:7", "peer.example.org:7"], False),
        ("", [], False),
    ],
)
def test_one_private_place_does_not_open_all_private_addresses_to_strangers(own, named, is_private):
    assert allows_private_addresses(parse_endpoint(own), [parse_endpoint(each) for each in named]) == is_private
