"""Small collections to share, made without a crawl, and peers to share them, all in this process."""

import asyncio
import sqlite3
import time
from contextlib import closing, contextmanager
from pathlib import Path

from lycosa.reading import Reader
from lycosa.run.open import open_collection, open_for_reading
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.records import Candidate, Fetch, Outcome, Url, Visit
from lycosa_peers.addresses import Endpoint
from lycosa_peers.identity import Identity
from lycosa_peers.messages import Contact, Query, Response, decode, encode
from lycosa_peers.peer import Peer
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.shared_collection import SharedCollection
from lycosa_peers.wire import Wire, _Dialled

PUBLIC = "93.184.215.14"  # an address that pages come from


def add_pages(
    folder: Path,
    pages: dict[str, tuple[str, str]],
    *,
    address: str = PUBLIC,
    request_headers: tuple[tuple[str, str], ...] = (),
) -> Path:
    """Puts pages, title and text by URL, into the collection of a folder, which is made where there is none."""
    folder.mkdir(exist_ok=True)
    (folder / "lycosa.toml").write_text('[topic]\ntext = "anything"\n')
    reader = Reader()
    with open_collection(folder, clock=WallClock(), reader=reader, writable=True) as collection:
        for url, (title, text) in pages.items():
            html = f"<title>{title}</title><p>{text}</p>".encode()
            headers = (("content-type", "text/html; charset=utf-8"),)
            fetch = Fetch(
                Url(url),
                Outcome.OK,
                time.time(),
                200,
                "OK",
                headers=headers,
                request_headers=request_headers,
                body=html,
                content=html,
                address=address,
            )
            page = reader(fetch)
            collection.record(Visit(Candidate(Url(url), 0.5), fetch, page, relevance=0.5, standing=0.25))
    return folder


@contextmanager
def shared(folder: Path, **options):
    """The collection of a folder as a peer shares it."""
    with open_for_reading(folder) as collection:
        content = SharedCollection(collection, PeerFolder(folder), **options)
        content.update_summary()
        yield content


class Caller:
    """Somebody who connects to a peer and says whatever they like."""

    def __init__(self, identity: Identity | None = None):
        self.identity = identity or Identity.new()
        self.wire = Wire(self.identity.context(), self, own_name=self.identity.name, allow_private=True)
        self.heard_messages = []
        self.gone = 0

    async def dial(self, endpoint, local: str = "127.0.0.1"):
        """A connection from one of the addresses of this machine; None where there is none."""
        loop = asyncio.get_running_loop()
        channel = _Dialled(self.wire._context, self.wire, loop.create_future(), str(endpoint))
        self.wire._all_channels[channel] = None
        await loop.create_connection(lambda: channel, *endpoint, local_addr=(local, 0))
        return channel if await channel._handshake else None

    def connected(self, peer, channel):
        pass

    def disconnected(self, peer):
        self.gone += 1

    def refuses(self, peer):
        return False

    def trusts(self, peer):
        return False

    def frame_received(self, peer, channel, frame):
        self.heard_messages.append(decode(frame))


def peer_of(content: SharedCollection, folder: Path, **options) -> Peer:
    return Peer(Identity.load(PeerFolder(folder)), content, PeerFolder(folder), **options)


def against(folder: Path, play, **options):
    """Lets somebody play against a peer that serves; the peer has to answer honest ones afterwards."""

    async def run():
        with shared(folder) as content:
            peer = peer_of(content, folder, allow_private=True, **options)
            endpoint = await peer.begin(Endpoint("127.0.0.1", 0))
            try:
                outcome = await asyncio.wait_for(play(peer, endpoint), 300)
                assert await asks(endpoint), "it serves no longer"
            finally:
                await peer.end()
            return outcome

    return asyncio.run(run())


async def asks(endpoint, local: str = "127.0.0.1", identity: Identity | None = None) -> int | None:
    """How many pages with the word honey an honest stranger is told of; None where it gets no answer."""
    caller = Caller(identity)
    channel = await caller.dial(endpoint, local)
    if channel is None:
        return None
    channel.send(encode(Query(7, "honey", Contact(caller.identity.name), max_hits=5)))
    await until(lambda: not channel.is_open or any(isinstance(each, Response) for each in caller.heard_messages))
    await caller.wire.close()
    return next((len(each.hits) for each in caller.heard_messages if isinstance(each, Response)), None)


async def until(happened) -> bool:
    for _ in range(3000):
        if happened():
            return True
        await asyncio.sleep(0.01)
    return False


def as_made_before_cookies_were_recorded(folder: Path, requests: str = "") -> Path:
    """Takes from a collection what says whether its pages were requested with cookies; `requests` is for its recipe."""
    with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection, connection:
        connection.execute("DELETE FROM state WHERE key LIKE '%_personal_pages'")
    with (folder / "lycosa.toml").open("a") as recipe:
        recipe.write(f"[requests]\n{requests}\n")
    return folder
