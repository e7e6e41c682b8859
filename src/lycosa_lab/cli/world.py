"""`lycosa world`: worlds to crawl without touching the Web.

A world may have a directory: categories, each with a list of pages, as web directories once had.
"""

import errno
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import typer

from lycosa.cli.job_progress import elapsed_notice
from lycosa.cli.options import Json, notify, print_json, shell_command
from lycosa.cli.typer_options import TYPER_OPTIONS
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import write_file
from lycosa.vocabulary.text import counted, printable
from lycosa_lab.worlds.calibration import Statistic, measure
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.registry import WORLDS, make_world, open_world, require_empty, save_world
from lycosa_lab.worlds.server import WorldServer
from lycosa_lab.worlds.world import StudyWorld, World

_MAX_HOSTS = 5  # named when a world is served
_MAX_CATEGORIES = 8  # named in one list
_SLOW = 5.0  # seconds; if opening takes longer, the user is told how to open it faster

app = typer.Typer(name="world", help="Worlds to crawl without touching the Web.", **TYPER_OPTIONS)
WorldArgument = Annotated[
    str,
    typer.Argument(
        metavar="WORLD", help="A name, NAME:key=value,…, a folder made by `world make`, or a file; see `world list`."
    ),
]


@app.command("list")
def list_worlds(as_json: Json = False) -> None:
    """List the kinds of worlds. Lists their options, too."""
    if as_json:
        print_json({name: {"says": kind.summary, "options": kind.options()} for name, kind in WORLDS.items()})
        return
    for name, kind in WORLDS.items():
        typer.echo(f"{name:20}{kind.summary}")
        typer.echo(f"{'':20}options: {', '.join(kind.options())}")


@app.command(
    "make",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    epilog="Every option of a kind can be given: --pages 40000 is the same as WORLD:pages=40000. See `world list`.",
)
def make(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="The kind of world, such as synthetic.")],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="The new folder to write it into.")],
) -> None:
    """Make a world. It is written into a folder, from which it opens quickly."""
    name, _, options = kind.partition(":")
    if options:
        raise UsageError(f"give the options of {name} as flags, such as --{options.partition('=')[0]} VALUE")
    require_empty(out)
    began = time.monotonic()
    with elapsed_notice(f"making a {name} world"):
        world = make_world(name, _parse_flags(context.args))
        save_world(world, out)
    size = f"{counted(len(world), 'page')} on {counted(len(world.hosts), 'host')}"
    typer.echo(f"{out}: {size}, made in {time.monotonic() - began:.0f} s")
    typer.echo(f"Look at it:  {shell_command('world', 'show', out)}")
    typer.echo(f"Serve it:    {shell_command('world', 'serve', out, '--port', 8099)}")


def _parse_flags(arguments: list[str]) -> dict[str, str]:
    """The options given as `--key value` and `--key=value`."""
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        flag = rest.pop(0)
        if not flag.startswith("--"):
            raise UsageError(f"{flag!r} belongs to no option; give options as flags, for example --pages 40000")
        key, equals, value = flag[2:].partition("=")
        if not equals:
            if not rest:
                raise UsageError(f"--{key} needs a value")
            value = rest.pop(0)
        name = key.replace("-", "_")
        if name in options:
            raise UsageError(f"--{key} is given twice; give it once")
        options[name] = value
    return options


@app.command("show")
def show(
    world: WorldArgument,
    as_json: Json = False,
    category: Annotated[
        str | None,
        typer.Option("--category", metavar="NAME", help="Print the URLs that the directory lists under this name."),
    ] = None,
) -> None:
    """Show what a world holds. Compares its figures with those published about the Web."""
    opened = _open(world)
    if category is not None:
        _show_category(opened, category)
        return
    if not as_json:
        typer.echo("\n".join(_world_lines(opened)))
    with elapsed_notice("measuring"):
        measured = measure(opened)
    if as_json:
        print_json(
            {
                **opened.facts,
                "host_count": len(opened.hosts),
                "categories": {each.name: len(each.entries) for each in opened.directory()},
                "figures": [
                    {"name": each.name, "measured": each.measured, "published": each.published} for each in measured
                ],
            }
        )
    elif measured:
        typer.echo("\n".join(_statistic_lines(measured)))


def _open(world: str) -> StudyWorld:
    """Opens a world; if that is slow, tells how to make it faster."""
    began = time.monotonic()
    with elapsed_notice("opening the world"):
        opened = open_world(world)
    kind, _, options = world.partition(":")
    if time.monotonic() - began > _SLOW and kind in WORLDS:
        flags = _to_flags(options)
        notify(
            f"To open it faster next time: {shell_command('world', 'make', kind, *flags, '--out', 'w')}, then use w."
        )
    return opened


def _to_flags(options: str) -> list[str]:
    """The options `key=value,…` of a world as flags; a word without a key belongs to the list before it.

    >>> _to_flags("packages=git-doc,sqlite3-doc,host_count=2")
    ['--packages', 'git-doc/sqlite3-doc', '--host-count', '2']
    """
    flags: list[str] = []
    for option in filter(None, options.split(",")):
        key, equals, value = option.partition("=")
        if equals:
            flags += [f"--{key.replace('_', '-')}", value]
        elif flags:
            flags[-1] += f"/{key}"
    return flags


def _show_category(world: StudyWorld, name: str) -> None:
    by_name = {each.name: each for each in world.directory()}
    if name not in by_name:
        similar = [each for each in by_name if name.lower() in each.lower()] or get_close_matches(name, by_name)
        suggestions = ", ".join((similar or list(by_name))[:_MAX_CATEGORIES]) or "none"
        more = "; world show --json lists all" if len(by_name) > _MAX_CATEGORIES else ""
        raise UsageError(f"the world has no category {name!r}; it has {suggestions}{' …' if more else ''}{more}")
    for entry in by_name[name].entries:
        typer.echo(entry.url)


def _world_lines(world: StudyWorld) -> list[str]:
    facts: dict[str, Any] = dict(world.facts)
    options = ", ".join(f"{key} {value}" for key, value in facts.items() if key not in ("name", "pages"))
    lines = [f"{world.name}: {counted(len(world), 'page')} on {counted(len(world.hosts), 'host')}"]
    if options:
        lines.append(f"  {printable(options, 300)}")
    categories = world.directory()
    if categories:
        listed = sum(len(each.entries) for each in categories)
        lines.append(f"directory: {counted(len(categories), 'category', 'categories')}, {counted(listed, 'page')}")
        lines += [f"  {printable(each.name, 40):40}{len(each.entries):6}" for each in categories[:_MAX_CATEGORIES]]
        if len(categories) > _MAX_CATEGORIES:
            lines.append(f"  … and {len(categories) - _MAX_CATEGORIES} more, which --json lists")
    return lines


def _statistic_lines(measured: list[Statistic]) -> list[str]:
    width = max(len(each.name) for each in measured) + 2
    head = f"{'':{width}}{'measured':>12}  published"
    return [head, *(f"{each.name:{width}}{each.measured:12.3f}  {each.published}" for each in measured)]


@app.command("serve")
def serve(
    world: WorldArgument,
    port: Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="0: any free port.")] = 8099,
    address: Annotated[str, typer.Option("--address", metavar="ADDRESS", help="A loopback address.")] = "127.0.0.1",
) -> None:
    """Serve a world over HTTP. All its hosts are on one port, until interrupted."""
    if not _is_loopback(address):
        raise UsageError(f"a world is served on a loopback address, such as 127.0.0.1, not on {address!r}")
    opened = _open(world)
    with _serving(opened, port, address) as served:
        count = f"{counted(len(opened), 'page')} on {counted(len(opened.hosts), 'host')}"
        typer.echo(f"{opened.name}: {count} at {address}:{served.port}")
        shown_hosts = ", ".join(sorted(opened.hosts)[:_MAX_HOSTS])
        typer.echo(f"Hosts:     {shown_hosts}{', …' if len(opened.hosts) > _MAX_HOSTS else ''}")
        categories = opened.directory()
        if categories:
            name = categories[0].name
            typer.echo(f"Examples:  {shell_command('world', 'show', world, '--category', name)} > good.txt")
            typer.echo(f"           {shell_command('new', 'mine', '--examples', 'good.txt')}")
        crawl = shell_command("crawl", "mine", "--resolve", served.resolve, "--delay", 0, "--pages", 500)
        typer.echo(f"Crawl it:  {crawl}\nCtrl-C ends.")


@app.command("practice")
def practice(
    port: Annotated[int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="0: any free port.")] = 8090,
) -> None:
    """Serve a web to practise on. It is that of the quick start, and comes with pos.txt and seeds.txt to start from."""
    world = PracticeWeb(seed=1)
    about_bees = [url for url in world.urls() if world.topic(url) == "beekeeping"]
    for name, urls in (("pos.txt", random.Random(1).sample(about_bees, 20)), ("seeds.txt", [world.front_page])):
        _write_list(Path(name), urls)
    with _serving(world, port, "127.0.0.1") as served:
        count = f"{counted(len(world.urls()), 'page')} on {counted(len(world.hosts), 'host')}"
        typer.echo(f"{count} at {served.address}:{served.port}")
        typer.echo("pos.txt: 20 pages about beekeeping; seeds.txt: the front page")


def _write_list(path: Path, urls: Sequence[str]) -> None:
    """Writes a file with one URL a line; UsageError if a different file of that name exists."""
    text = "".join(f"{url}\n" for url in urls)
    try:
        if path.exists() and path.read_text(encoding="utf-8", errors="replace") != text:
            raise UsageError(f"there is a {path} already; do this in an empty folder")
        write_file(path, text)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; do this in a folder of your own") from None


@contextmanager
def _serving(world: World, port: int, address: str) -> Iterator[WorldServer]:
    """Serves a world until interrupted; the block runs first, to print instructions."""
    with ExitStack() as stack:
        try:
            served = stack.enter_context(WorldServer(world, port=port, address=address))
        except OSError as error:
            option = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--address"
            raise UsageError(f"cannot serve on {address}:{port}: {error.strerror}; give another {option}") from None
        try:
            yield served
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            notify("ended")


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
