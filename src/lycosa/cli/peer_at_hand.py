"""The peer behind a command: the one that runs, else one for a short while."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from lycosa.collection import Collection
from lycosa.peers.addresses import Place, is_at_home, parsed
from lycosa.peers.control import Reply, Request, asked, replies
from lycosa.peers.identity import Group, Identity
from lycosa.peers.joining import PINS_FILE
from lycosa.peers.keeping import Kept
from lycosa.peers.merging import Merged
from lycosa.peers.serving import Peer
from lycosa.peers.shared_collection import SharedCollection
from lycosa.peers.stored_page import record_of
from lycosa.sessions.opening import open_for_reading
from lycosa.sessions.taking import Given
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.records import Url

from .options import tell
from .working import Counting

SETTINGS_FILE, GROUP_FILE = "settings.json", "group"
Ask = Callable[[Request], AsyncIterator[Reply]]


@asynccontextmanager
async def peer_of(
    name: Path,
    joins: list[tuple[str, Place]],
    group: Path | None,
    no_group: bool,
    allow_private: bool,
    *,
    quiet: bool,
    makes: bool = True,
) -> AsyncIterator[tuple[str, Ask]]:
    """The peer of a collection, as its name and a way to ask it: the one that runs, else one for a short while.

    The short-lived one goes by what the last one kept, and is reached where that one was, as long as it is there.
    """
    kept = Kept(name)
    running = await asked(kept, Request("show"))
    if running is not None:
        if joins or group or no_group:
            raise UsageError(f"{name} is being served; say --join and --group to lycosa peer serve")
        async for reply in running:
            facts = reply.told

        async def ask_running(request: Request) -> AsyncIterator[Reply]:
            answers = await asked(kept, request)
            if answers is None:
                raise LycosaError(f"the peer that served {name} has ended; try again")
            async for reply in answers:
                yield reply

        yield facts["name"], ask_running
        return
    with open_for_reading(name) as collection:
        if not makes and kept.bytes_of("key.pem") is None:
            raise UsageError(f"{name} is no peer yet; serve it with: lycosa peer serve {name} --listen ADDR:PORT")
        with kept.locked():
            settings = kept.read(SETTINGS_FILE, dict) or {}
            identity = identity_of(kept, group, no_group)
            content = content_of(collection, kept, allow_private or bool(settings.get("allow_private")), quiet=quiet)
            listen, at = (parsed(settings.get(which) or "") for which in ("listen", "at"))
            joined = [*(place for _, place in joins), *map(parsed, kept.read(PINS_FILE, dict) or {})]
            is_local = any(is_at_home(place) for place in (at or listen, *joined) if place is not None)
            peer = Peer(identity, content, kept, allow_private=is_local)
            if makes:
                try:
                    await peer.begin(listen, at)
                except OSError:
                    await peer.begin()  # somebody else has the place: those that were called can still answer
                for who, place in joins:
                    if await peer.join(who, place) is None and not quiet:
                        tell(f"nobody at {place} takes us in")

            def ask_this(request: Request) -> AsyncIterator[Reply]:
                return replies(peer, request)

            try:
                yield identity.name, ask_this
            finally:
                await peer.end()


def identity_of(kept: Kept, group: Path | None, no_group: bool) -> Identity:
    """Who the peer is; it stays in the group it was in until it is told otherwise, so as not to be open by mistake."""
    if group is not None and no_group:
        raise UsageError("--group and --no-group go not together")
    if group is not None:
        kept.keep_bytes(GROUP_FILE, Group.of_file(group).secret.encode())
    elif no_group:
        kept.drop(GROUP_FILE)
    secret = kept.bytes_of(GROUP_FILE)
    return Identity.kept(kept, None if secret is None else Group.of_text(secret.decode("ascii", "replace")))


def content_of(collection: Collection, kept: Kept, allow_private: bool, *, quiet: bool) -> SharedCollection:
    content = SharedCollection(collection, kept, allow_private=allow_private)
    with Counting("pages read", quiet=quiet) as count:
        content.catch_up(count)
    return content


async def listening(peer: Peer, place: Place, at: Place | None) -> Place | None:
    try:
        return await peer.begin(place, at)
    except OSError as error:
        raise UsageError(f"cannot listen at {place}: {error.strerror or error}; choose another --listen") from error


async def given_by(merged: Merged, most: int, ask: Ask) -> AsyncIterator[Given]:
    """The best pages that are not at home, from the first who gives them."""
    for hit in [hit for hit in merged.hits if not hit.at_home][:most]:
        for provider in hit.providers:
            body = None
            async for reply in ask(Request("fetch", provider=provider, url=hit.url)):
                body = reply.body
            record = record_of(hit.url, body) if body is not None else None
            if record is not None:
                yield Given(Url(hit.url), record, provider.name)
                break
