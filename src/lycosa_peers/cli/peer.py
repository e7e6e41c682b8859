"""`lycosa peer`: share a collection with others, and search theirs."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from lycosa.cli.options import Json, Name, Quiet, notify, print_json, shell_command
from lycosa.cli.typer_options import TYPER_OPTIONS
from lycosa.collection.json_text import replace_surrogates
from lycosa.run.imports import ImportedPeerPages, PeerPage, import_peer_pages
from lycosa.run.open import bring_index_up_to_date, open_for_reading
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import CollectionError, UsageError, cannot_write
from lycosa.vocabulary.records import JsonValue
from lycosa.vocabulary.text import counted, printable, quoted

try:
    from lycosa_peers.addresses import endpoint_argument, is_local, is_unspecified, join_argument
    from lycosa_peers.control import MAX_QUERY_LENGTH, PeerControl, PeerRequest
    from lycosa_peers.identity import Group
    from lycosa_peers.peer import Peer, SearchProgress
    from lycosa_peers.peer_folder import PeerFolder
    from lycosa_peers.ranking import Ranking, merge, query_words

    from .client import (
        SETTINGS_FILE,
        ClientOptions,
        NotJoined,
        PeerClient,
        ServeSettings,
        fetch_pages,
        load_identity,
        open_content,
        open_peer,
        peer_status,
        running_peer_or_lock,
        start_listening,
        withheld_line,
    )
    from .results import LiveResults, hit_lines, missing_pages_text, search_json, summary_lines
except ModuleNotFoundError as missing:
    raise UsageError(f"peers need {missing.name}; install it with: pip install 'lycosa[peers]'") from missing

MIN_SECONDS = 0.05  # that a search may take
MAX_PER_PEER = 30  # hits requested of one peer, more than are shown, as its best may not be the best of all
app = typer.Typer(name="peer", help="Search each other's collections.", **TYPER_OPTIONS)
Join = Annotated[
    list[str] | None,
    typer.Option(metavar="[NAME@]ADDR:PORT", help="A peer to connect to first; with NAME, only if it is that one."),
]
GroupFile = Annotated[
    Path | None, typer.Option("--group", metavar="FILE", help="The secret of a closed group, made by peer group.")
]
NoGroup = Annotated[bool, typer.Option("--no-group", help="Leave the group that was joined before.")]
AllowPrivate = Annotated[bool, typer.Option("--allow-private", help="Also share and show pages at private addresses.")]


@app.command("group")
def group(file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the secret.")]) -> None:
    """Make the secret of a closed group. Whoever has the file is a member."""
    made = Group.new()
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(made.secret + "\n")
    except FileExistsError as error:
        raise UsageError(f"{file} exists; name another file, or remove it") from error
    except OSError as error:
        raise cannot_write(file, error, advice="name another file") from error
    typer.echo(f"{file} is the secret of the group {made.name}: give it to its members, and to nobody else")
    typer.echo(f"Serve in it:  {shell_command('peer', 'serve', 'NAME', '--listen', 'ADDR:PORT', '--group', file)}")


@app.command("serve")
def serve(
    name: Name,
    listen: Annotated[str, typer.Option(metavar="ADDR:PORT", help="Address to listen on; port 0: any free port.")],
    join: Join = None,
    reached_at: Annotated[
        str | None,
        typer.Option("--at", metavar="ADDR:PORT", help="Address at which others reach it, if not that of --listen."),
    ] = None,
    group: GroupFile = None,
    no_group: NoGroup = False,
    allow_private: AllowPrivate = False,
    log_queries: Annotated[bool, typer.Option("--log-queries", help="Print what others search for.")] = False,
    quiet: Quiet = False,
) -> None:
    """Serve a collection as a peer. It is only read; pages that are added to it are served, too."""
    endpoint = endpoint_argument(listen, option="--listen")
    at = endpoint_argument(reached_at, option="--at") if reached_at else None
    joins = [join_argument(each) for each in join or ()]
    if at is not None and (is_unspecified(at) or not at.port):
        raise UsageError(f"--at {reached_at}: nobody can reach it there; give the address that others connect to")
    if at is None and is_unspecified(endpoint):
        raise UsageError(f"--listen {listen} is everywhere; say with --at ADDR:PORT where others reach it")
    inform = (lambda line: None) if quiet else notify

    async def served() -> None:
        bring_index_up_to_date(name, notify=inform)
        with open_for_reading(name) as collection:
            folder = PeerFolder(name)
            lock = await running_peer_or_lock(name)
            if isinstance(lock, PeerClient):
                raise CollectionError(
                    f"{name} is served as a peer already;"
                    f" stop that one first, or ask it: lycosa peer search {quoted(name)}"
                )
            with lock:
                identity = load_identity(folder, group, no_group)
                content = open_content(collection, folder, allow_private, quiet=quiet)
                ended = asyncio.Event()
                for number in (signal.SIGINT, signal.SIGTERM):
                    asyncio.get_running_loop().add_signal_handler(number, ended.set)
                peer = Peer(
                    identity,
                    content,
                    folder,
                    allow_private=is_local(at or endpoint),
                    notify=inform,
                    logs_queries=log_queries and not quiet,
                )
                listens_at = await start_listening(peer, endpoint, at)
                folder.write_json(SETTINGS_FILE, ServeSettings(listen, reached_at, allow_private))
                control = PeerControl(peer, folder)
                await control.open()
                peer.keep_joining(joins)
                peer.follow_collection()
                typer.echo(f"{identity.name}@{at or listens_at} serves {counted(content.pages, 'page')} of {name}")
                if content.withheld:
                    inform(withheld_line(content.withheld))
                if identity.group is None:
                    inform("anybody who can connect may search and take these pages; --group admits only its members")
                await ended.wait()
                await control.close()
                await peer.end()

    asyncio.run(served())


@app.command("search")
def search(
    name: Name,
    query: Annotated[str, typer.Argument(metavar="WORDS", help="Words that a page must all have.")],
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=100, help="Stop at N hits.")] = 10,
    deadline: Annotated[
        float, typer.Option(metavar="SECONDS", min=MIN_SECONDS, max=60, help="Answer with what was found by then.")
    ] = 2.0,
    take: Annotated[
        int, typer.Option(metavar="N", min=0, max=100, help="Import the best N pages of others into the collection.")
    ] = 0,
    join: Join = None,
    group: GroupFile = None,
    no_group: NoGroup = False,
    allow_private: AllowPrivate = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but hits and errors.")] = False,
    as_json: Json = False,
) -> None:
    """Search this collection, then those of buddies and of other peers. Hits come as they are found."""
    query = replace_surrogates(query)
    if len(query) > MAX_QUERY_LENGTH:
        raise UsageError(f"WORDS are {len(query)} characters; the limit is {MAX_QUERY_LENGTH}")
    if not query_words(query):
        raise UsageError("nothing to search for; give a word or more")
    joins = [join_argument(each) for each in join or ()]

    async def searched() -> tuple[SearchProgress, str, Ranking, list[PeerPage], NotJoined]:
        async with open_peer(name, ClientOptions(joins, deadline / 2, group, no_group, allow_private, quiet)) as mine:
            waited = mine.joins.seconds if mine.joins else 0.0
            left = max(MIN_SECONDS, deadline - waited)
            request = PeerRequest(
                "search", query, max_hits=max(limit, min(3 * limit, MAX_PER_PEER)), sufficient_hits=limit, timeout=left
            )
            last, ranking = None, Ranking((), 0)
            with LiveResults(not quiet and not as_json) as showing:
                async for reply in mine.ask(request):
                    if reply.progress is not None:
                        last = replace(reply.progress, seconds=waited + reply.progress.seconds)
                        ranking = merge(
                            query,
                            last.answers.answers,
                            own_name=mine.name,
                            allow_private=allow_private,
                            now=WallClock().now(),
                        )
                        showing(ranking, last, mine.name)
            assert last is not None
            given = [each async for each in fetch_pages(ranking, take, mine.ask)] if take else []
            return last, mine.name, ranking, given, mine.joins.not_joined() if mine.joins else NotJoined()

    last, me, ranking, given, not_joined = asyncio.run(searched())
    imported = (
        import_peer_pages(name, given, clock=WallClock(), notify=notify) if given else ImportedPeerPages((), (), ())
    )
    hits = ranking.hits[:limit]
    if as_json:
        print_json(search_json(query, last, me, ranking, hits, imported, take, not_joined))
        return
    if not hits:
        typer.echo("nothing found")
    for number, hit in enumerate(hits, 1):
        typer.echo("\n".join(hit_lines(number, hit, me)) + "\n")
    if quiet:
        return
    for line in summary_lines(last, me, ranking, not_joined):
        notify(line)
    if take:
        typer.echo(
            f"{counted(len(imported.pages), 'page')} imported, "
            f"{len(imported.known)} already in the collection or forgotten, "
            f"{missing_pages_text(ranking, take, imported)}"
        )
        for url in imported.pages:
            typer.echo(f"  {printable(url, 300)}")


@app.command("show")
def show(name: Name, as_json: Json = False) -> None:
    """Show who a peer is. Lists its buddies, what they answered, whose indexes it holds, and what has happened."""
    status: JsonValue = asyncio.run(peer_status(name))
    if as_json:
        print_json(status)
        return
    where = f" at {status['address']}" if status["address"] else ""
    state = "running" if status["is_running"] else "not running"
    typer.echo(printable(f"{status['name']}{where}, {state}; {counted(status['pages'], 'page')} shared", 300))
    typer.echo(f"group      {status['group'] or 'none: open to anybody'}")
    for each in status["buddies"]:
        typer.echo(printable(f"buddy      {each['name']} {each['address']}  answers {each['count']}", 300))
    for each in status["neighbours"]:
        down = "  down" if each["is_down"] else ""
        typer.echo(printable(f"neighbour  {each['name']} {each['address']}{down}", 300))
    for each in status["indexes"]:
        typer.echo(printable(f"index      of {each['name']}  {each['bytes'] / 1000:.1f} KB", 300))
    for what, count in status["counts"].items():
        typer.echo(printable(f"{count:10}  {what.replace('_', ' ')}", 300))
