"""Peers in one process, over real sockets."""

import asyncio
import socket
from contextlib import AsyncExitStack, ExitStack

import pytest
from msgspec.structs import replace

from lycosa.vocabulary.errors import CollectionError, LycosaError
from lycosa_peers import dialer, peer
from lycosa_peers.addresses import Endpoint
from lycosa_peers.control import PeerControl, PeerRequest, ask_running_peer
from lycosa_peers.messages import Contact, Fetched, FetchRequest, decode, encode
from lycosa_peers.options import DEFAULTS
from lycosa_peers.peer import WrongKeyError
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.ranking import merge
from sharing import Caller, add_pages, peer_of, shared

LOCAL = Endpoint("127.0.0.1", 0)
TOPICS = {"bees": "honey hive", "ships": "sail mast", "stars": "comet orbit", "trees": "birch bark"}


def with_peers(tmp_path, play, **options):
    """Lets something happen among four peers, of which each has joined the one before."""

    async def run():
        with ExitStack() as opened:
            async with AsyncExitStack() as running:
                peers = {}
                for topic, words in TOPICS.items():
                    pages = {f"http://{topic}.example/{word}": (word, f"{word} of {topic}") for word in words.split()}
                    folder = add_pages(tmp_path / topic, pages)
                    content = opened.enter_context(shared(folder))
                    changed = replace(DEFAULTS, **options)
                    peer = peer_of(content, folder, allow_private=True, options=changed)
                    running.push_async_callback(peer.end)
                    await peer.begin(LOCAL)
                    for other in list(peers.values())[-1:]:
                        host, _, port = other.node.own_contact.address.rpartition(":")
                        assert await peer.join("", Endpoint(host, int(port))) == other.identity.name
                    peers[topic] = peer
                return await play(peers)

    return asyncio.run(run())


async def searched(peer, words, **options):
    wanted = {"max_hits": 10, "sufficient_hits": 1, "timeout": 2.0} | options
    *_, last = [each async for each in peer.search(words, **wanted)]
    return last, merge(words, last.answers.answers, own_name=peer.identity.name)


def test_a_search_goes_home_then_to_neighbours_and_farther(tmp_path):
    async def play(peers):
        for words, stage in (("honey", "home"), ("sail", "walking"), ("birch", "walking")):
            last, merged = await searched(peers["bees"], words)
            assert [hit.url.rpartition("/")[2] for hit in merged.hits] == [words]
            assert last.answers.answers[0].stage == stage
            assert last.is_over
        await searched(peers["bees"], "mast")
        last, _ = await searched(peers["bees"], "mast")  # by now somebody is known to have ships
        assert last.answers.answers[0].stage == "buddies"
        last, merged = await searched(peers["bees"], "nowhere", timeout=60.0)
        assert not merged.hits
        assert last.seconds < 50  # all walkers have told that they ended

    with_peers(tmp_path, play)


def test_buddies_hold_indexes_and_are_asked_by_them(tmp_path):
    async def play(peers):
        bees = peers["bees"]
        for _ in range(DEFAULTS.probation):
            await searched(bees, "sail")
        for _ in range(2):
            bees.runner.send_all(bees.node.checkpoint())
            await asyncio.sleep(0.05)
        assert await eventually(lambda: len(bees.node.held))
        assert bees.node.held.names() == [peers["ships"].identity.name]
        last, merged = await searched(bees, "mast")
        assert last.answers.answers[0].stage == "indexes"
        assert last.answers.issued == 1
        told = bees.status()
        assert told["indexes"][0]["bytes"] > 0
        bees.save()
        again = peer_of(bees.content, tmp_path / "bees", allow_private=True)
        assert again.node.held.names() == bees.node.held.names()
        assert again.node.buddies.names() == bees.node.buddies.names()
        return merged

    assert with_peers(tmp_path, play).hits


def test_half_of_the_peers_gone_at_once_do_not_stop_a_search(tmp_path):
    async def play(peers):
        await searched(peers["bees"], "sail")
        await peers["ships"].end()
        await peers["trees"].end()
        last, merged = await searched(peers["bees"], "mast", timeout=1.0)
        assert last.is_over
        assert last.seconds < 20
        assert not merged.hits
        _, merged = await searched(peers["bees"], "honey")
        assert len(merged.hits) == 1

    with_peers(tmp_path, play)


def test_a_page_comes_from_who_has_it_and_from_nobody_else(tmp_path):
    async def play(peers):
        bees = peers["bees"]
        _, merged = await searched(bees, "comet")
        (hit,) = merged.hits
        body = await bees.fetch(hit.providers[0], hit.url)
        assert bees.content.is_item(hit.url, body)
        assert await bees.fetch(hit.providers[0], "http://stars.example/none") is None
        assert await bees.fetch(peers["ships"].node.own_contact, hit.url) is None
        await peers["stars"].end()
        assert await bees.fetch(hit.providers[0], hit.url) is None

    with_peers(tmp_path, play, fetch_wait=1.0)


def test_the_owner_asks_through_the_control_socket(tmp_path):
    async def play(peers):
        kept = PeerFolder(tmp_path / "bees")
        control = PeerControl(peers["bees"], kept)
        await control.open()
        assert kept.path("control").stat().st_mode & 0o777 == 0o600
        replies = [
            reply async for reply in await ask_running_peer(kept, PeerRequest("search", "sail", sufficient_hits=1))
        ]
        assert replies[-1].is_over
        assert replies[-1].progress.answers.answers[0].hits[0].item == "http://ships.example/sail"
        (shown,) = [reply async for reply in await ask_running_peer(kept, PeerRequest("show"))]
        assert shown.status["name"] == peers["bees"].identity.name
        provider = replies[-1].progress.answers.answers[0].provider
        request = PeerRequest("fetch", provider=provider, url="http://ships.example/sail")
        (fetched,) = [reply async for reply in await ask_running_peer(kept, request)]
        assert peers["bees"].content.is_item(request.url, fetched.body)
        reader, writer = await asyncio.open_unix_connection(str(kept.path("control")))
        writer.write(b"nonsense\n")
        assert b"error" in await reader.readline()
        writer.close()
        await control.close()
        assert await ask_running_peer(kept, PeerRequest("show")) is None

    with_peers(tmp_path, play)


@pytest.mark.parametrize(("damaged", "is_known"), [(["state.json"], False), (["indexes"], True)])
def test_of_what_was_kept_a_part_that_is_damaged_is_done_without_and_told(tmp_path, damaged, is_known):
    async def play():
        folder = add_pages(tmp_path / "c", {"http://a.example/": ("A", "honey")})
        said = []
        with shared(folder) as content:
            before = peer_of(content, folder)
            before.node.buddies.answered(Contact("anna", "127.0.0.1:9"))
            before.save()
            for file in damaged:
                PeerFolder(folder).write(file, b"\xc1")
            peer = peer_of(content, folder, notify=said.append)
            assert (peer.node.buddies.names() == ["anna"]) == is_known
        return said

    (told,) = asyncio.run(play())
    assert "cannot be read" in told
    assert damaged[0] in told


def test_no_word_is_said_of_queries_unless_asked_for(tmp_path):
    async def play(peers):
        said = []
        peers["ships"].runner._notify = said.append
        await searched(peers["bees"], "sail")
        assert not any("sail" in line for line in said)
        peers["ships"].runner._logs_queries = True
        await searched(peers["bees"], "mast")
        return said

    assert any("mast" in line for line in with_peers(tmp_path, play))


async def eventually(happened) -> bool:
    for _ in range(6000):
        if happened():
            return True
        await asyncio.sleep(0.01)
    return False


def test_who_comes_back_at_the_same_place_is_joined_again(tmp_path, monkeypatch):
    monkeypatch.setattr(peer, "JOIN_SECONDS", 0.05)
    monkeypatch.setattr(dialer, "DIAL_AGAIN_AFTER", 0.05)

    async def play():
        bees = add_pages(tmp_path / "bees", {"http://bees.example/": ("Bees", "honey")})
        ships = add_pages(tmp_path / "ships", {"http://ships.example/": ("Ships", "sail")})
        with shared(bees) as its, shared(ships) as other:
            one, two = peer_of(its, bees, allow_private=True), peer_of(other, ships, allow_private=True)
            endpoint = await one.begin(LOCAL)
            await two.begin(LOCAL)
            two.keep_joining([("", endpoint)])
            assert await eventually(lambda: one.identity.name in two.node.neighbours)
            one.node.neighbours.names.clear()  # as a kill would, it says no goodbye
            await one.end()
            assert await eventually(lambda: one.identity.name in two.node.neighbours.down)
            again = peer_of(its, bees, allow_private=True)
            await again.begin(endpoint)
            assert await eventually(lambda: one.identity.name in two.wire.peers)
            _, merged = await searched(two, "honey")
            await again.end()
            await two.end()
            return merged

    assert asyncio.run(play()).hits


def test_one_whose_place_another_had_meanwhile_is_joined_again_and_the_other_is_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(peer, "JOIN_SECONDS", 0.02)
    monkeypatch.setattr(dialer, "DIAL_AGAIN_AFTER", 0.02)

    async def play():
        bees = add_pages(tmp_path / "bees", {"http://bees.example/": ("Bees", "honey")})
        ships = add_pages(tmp_path / "ships", {"http://ships.example/": ("Ships", "sail")})
        said = []
        with shared(bees) as its, shared(ships) as other:
            one = peer_of(its, bees, allow_private=True)
            two = peer_of(other, ships, allow_private=True, notify=said.append)
            endpoint = await one.begin(LOCAL)
            await two.begin(LOCAL)
            two.keep_joining([(one.identity.name, endpoint)])
            assert await eventually(lambda: said)
            await one.end()
            for _ in range(2):
                posing = Caller()  # each time with another key
                await posing.wire.listen(endpoint)
                seen = two.counts["another_key"]
                assert await eventually(lambda seen=seen: two.counts["another_key"] > seen + 1)
                await posing.wire.close()
            again = peer_of(its, bees, allow_private=True)
            await again.begin(endpoint)
            assert await eventually(lambda: sum("joined" in line for line in said) == 2)
            await again.end()
            await two.end()
            return said

    assert sum("is answered by" in line for line in asyncio.run(play())) == 1


def test_a_disk_that_cannot_be_written_is_told_once_and_stops_neither_searches_nor_saving(tmp_path, monkeypatch):
    monkeypatch.setattr(peer, "SAVE_SECONDS", 0.02)

    async def play(peers):
        bees, said = peers["bees"], []
        bees._notify = said.append
        state = tmp_path / "bees" / "peer" / "state.json"
        await eventually(state.exists)
        state.unlink()
        state.mkdir()
        _, merged = await searched(bees, "sail")
        assert merged.hits
        assert await eventually(lambda: said)
        await asyncio.sleep(0.2)
        state.rmdir()
        assert await eventually(state.is_file)
        return said

    (told,) = with_peers(tmp_path, play)
    assert "state.json" in told


def test_a_named_peer_that_is_not_there_was_not_there_before(tmp_path):
    async def play(peers):
        host, _, port = peers["bees"].node.own_contact.address.rpartition(":")
        with pytest.raises(WrongKeyError, match=f"not by {'a' * 32}; if"):
            await peers["trees"].join("a" * 32, Endpoint(host, int(port)))
        await peers["trees"].join("", Endpoint(host, int(port)))
        pins = tmp_path / "trees" / "peer" / "pins.json"
        pins.write_text(pins.read_text().replace(peers["bees"].identity.name, "b" * 32))
        with pytest.raises(WrongKeyError, match=f"not by {'b' * 32} as before; if"):
            await peers["trees"].join("", Endpoint(host, int(port)))

    with_peers(tmp_path, play)


def test_a_search_that_ends_while_its_caller_is_busy_is_over_at_once(tmp_path):
    async def play(peers):
        async for each in peers["bees"].search("sail", max_hits=10, sufficient_hits=1, timeout=30.0):
            await asyncio.sleep(1.0)  # everybody has answered meanwhile
            last = each
        return last

    last = with_peers(tmp_path, play)
    assert last.is_over and last.answers.answers
    assert last.seconds < 20


def test_a_command_to_a_peer_that_is_killed_meanwhile_is_told_so(tmp_path):
    async def play(folder, loop):
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(folder.path("control")))
            listening.listen()
            listening.setblocking(False)
            replies = await ask_running_peer(folder, PeerRequest("show"))
            connection, _ = await loop.sock_accept(listening)
            loop.call_later(0.1, connection.close)  # with the request unread, so that the other side gets an error
            return [reply async for reply in replies]

    async def run():
        await play(PeerFolder(tmp_path), asyncio.get_running_loop())

    kept = PeerFolder(tmp_path)
    kept.write("any", b"")
    with pytest.raises(LycosaError, match="has just ended"):
        asyncio.run(run())


def test_searches_beyond_as_many_as_can_be_are_refused_in_words(tmp_path):
    async def play(peers):
        bees = peers["bees"]
        wanted = (searched(bees, "nowhere", timeout=0.5) for _ in range(5))
        outcomes = await asyncio.gather(*wanted, return_exceptions=True)
        refused = [each for each in outcomes if isinstance(each, LycosaError)]
        assert len(refused) == 2
        assert "3 searches are under way" in str(refused[0])
        control = PeerControl(bees, PeerFolder(tmp_path / "bees"))
        await control.open()
        bees._running_searches = 3
        with pytest.raises(LycosaError, match="under way"):
            [
                reply
                async for reply in await ask_running_peer(
                    PeerFolder(tmp_path / "bees"), PeerRequest("search", "nowhere")
                )
            ]
        await control.close()
        return [each for each in outcomes if each not in refused]

    assert all(last.is_over for last, _ in with_peers(tmp_path, play, searches=3))


def test_a_search_that_many_later_ones_push_out_is_over(tmp_path):
    async def play(peers):
        bees, seen = peers["bees"], []
        await peers["ships"].end()
        silent = Caller()
        endpoint = await silent.wire.listen(LOCAL)
        bees.node.connect([Contact(silent.identity.name, str(endpoint))])
        async for each in bees.search("nowhere", max_hits=1, sufficient_hits=1, timeout=30.0):
            seen.append(each)
            for number in range(3):
                bees.node.ask(f"another {number}", asyncio.get_running_loop().time())
            bees.runner.changed.set()
            asyncio.get_running_loop().call_later(0.05, bees.runner.changed.set)
        await silent.wire.close()
        return seen[-1]

    last = with_peers(tmp_path, play, searches=3)
    assert last.is_over
    assert last.seconds < 20


def test_a_page_that_is_none_is_brought_by_nobody(tmp_path):
    async def play(peers):
        bees, liar = peers["bees"], Caller()
        host, _, port = bees.node.own_contact.address.rpartition(":")
        channel = await liar.wire.connect(Endpoint(host, int(port)))
        liar.frame_received = lambda peer, channel, frame: (
            channel.send(encode(Fetched(message.id, message.item, b"no record")))
            if isinstance(message := decode(frame), FetchRequest)
            else None
        )
        assert await eventually(lambda: liar.identity.name in bees.wire.peers)
        assert await bees.fetch(Contact(liar.identity.name), "http://liar.example/") is None
        assert channel.is_open
        await liar.wire.close()
        return bees.node.counts["failed_wrong"]

    assert with_peers(tmp_path, play) == 1


def test_a_folder_that_can_have_no_socket_is_named(tmp_path, monkeypatch):
    async def refused(*_, **__):
        raise OSError(95, "Operation not supported")  # without the name of a file, as a socket raises it

    monkeypatch.setattr(asyncio, "start_unix_server", refused)
    kept = PeerFolder(tmp_path)
    kept.write("any", b"")
    with pytest.raises(CollectionError, match=r"control: Operation not supported; move the collection"):
        asyncio.run(PeerControl(None, kept).open())


def test_a_peer_whose_pins_cannot_be_read_says_so_and_joins_when_they_can(tmp_path, monkeypatch):
    monkeypatch.setattr(peer, "JOIN_SECONDS", 0.02)

    async def play(peers):
        trees, said = peers["trees"], []
        host, _, port = peers["bees"].node.own_contact.address.rpartition(":")
        trees._bootstrap._notify = said.append
        pins = tmp_path / "trees" / "peer" / "pins.json"
        kept = pins.read_text()
        pins.write_text("{")
        trees.keep_joining([("", Endpoint(host, int(port)))])
        assert await eventually(lambda: said)
        pins.write_text(kept)
        assert await eventually(lambda: len(said) == 2)
        return said

    damaged, joined = with_peers(tmp_path, play)
    assert "pins.json is damaged" in damaged and joined.startswith("joined")
