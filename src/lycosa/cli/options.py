"""Arguments, options and output functions shared by several commands."""

import inspect
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, BinaryIO, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec
import typer

from lycosa.run.options import FetchOptions, Flag
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import cannot_write
from lycosa.vocabulary.text import visible


def _settled(folder: Path) -> Path:
    """The folder of a collection; what a kill interrupted in it is finished first, with a message."""
    if (folder / "journal.json").exists():  # seldom, and what it needs takes time to load
        from lycosa.run.upkeep import finish_upkeep

        finish_upkeep(folder, clock=WallClock(), notify=notify)
    return folder


Name = Annotated[Path, typer.Argument(metavar="NAME", help="The folder of the collection.", callback=_settled)]
UrlArgument = Annotated[str, typer.Argument(metavar="URL", help="http://… or https://…")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
_TERMINAL_CONTROLS = re.compile(
    "[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)  # and C0, which JSON escapes anyway
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]

PageLog = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a line per page to FILE.")]
Hosts = Annotated[list[str] | None, typer.Option("--host", metavar="HOST", help="Only pages of this host. Repeatable.")]
Languages = Annotated[
    list[str] | None,
    typer.Option("--language", metavar="CODE", help="Only pages in this language, such as en. Repeatable."),
]
MinRelevance = Annotated[
    float | None, typer.Option(metavar="N", min=0, max=1, help="Only pages at least this relevant.")
]
Label = Annotated[
    str | None, typer.Option(metavar="good|bad", help="Only pages marked so by lycosa label, or given as examples.")
]
Since = Annotated[
    str | None,
    typer.Option(metavar="DATE", help="Only pages fetched, new or changed, since then: 2026-11-16 (UTC), 7d or 12h."),
]
SortOrder = Annotated[
    str | None,
    typer.Option(
        "--order", metavar="ORDER", help="Sort by number (the order of fetching), relevance, importance or url."
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print a line per page.")]


Command = TypeVar("Command", bound=Callable[..., None])


def takes(options: type, *, last: bool = False) -> Callable[[Command], Command]:
    """Adds a flag for every option of a TypedDict, as its `Flag` says, to a command that takes them as `**options`.

    The command receives the options that the user gave, parsed.

    last: whether the help lists them after the options that the command itself declares.
    """
    hints = get_type_hints(options, include_extras=True)
    shared_last = sorted(hints, key=FetchOptions.__annotations__.__contains__)
    flags = {name: _flag(name, hints[name]) for name in shared_last}

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**values: Any) -> None:
            given = {name: values.pop(name) for name in flags}
            parsed = {
                name: flag.parse(value, flag.name or "") if (flag := flags[name][1]).parse else value
                for name, value in given.items()
                if not (value is None or value is False or value == [])  # 0 is a value
            }
            command(**values, **parsed)

        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, _, default) in flags.items()
        ]
        first = [each for each in own if each.default is inspect.Parameter.empty]  # arguments stand before options
        rest = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own if each not in first]
        parameters = [*first, *rest, *added] if last else [*first, *added, *rest]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (*own, *added)}
        return cast(Command, run)

    return decorate


def _flag(name: str, hint: Any) -> tuple[Any, Flag, Any]:
    """The declaration of an option for typer: its annotation and its default."""
    kind, flag = get_args(hint)
    option = partial(typer.Option, metavar=flag.metavar, min=flag.min, max=flag.max, help=flag.help)
    if kind is bool:  # without a negative flag --no-…
        return Annotated[bool, option(f"--{name.replace('_', '-')}")], flag, False
    if get_origin(kind) in (Sequence, Mapping):
        kind = list[str] | None
    elif Path in get_args(kind):
        kind = Path | None
    elif flag.parse is not None:
        kind = str | None
    return Annotated[kind, option(flag.name) if flag.name else option()], flag, None


def program() -> str:
    """The name or path by which the user can call this command again."""
    called = Path(sys.argv[0])
    if called.name != "lycosa" or len(called.parts) == 1 or shutil.which("lycosa"):
        return "lycosa"
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)


def command(*words: object) -> str:
    """A command that the user can copy, as a shell wants it."""
    return " ".join([program(), *(quote(str(word)) for word in words)])


def print_json(plain: Any) -> None:
    """Prints one line; terminal control characters are escaped, which leaves the JSON value the same."""
    typer.echo(_TERMINAL_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", msgspec.json.encode(plain).decode()))


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Standard output, for bytes; where it cannot be written, one line for the user."""
    try:
        yield sys.stdout.buffer
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # Else the interpreter tries, and fails, to write the rest when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise cannot_write("to standard output", error, advice="give a file with --out") from None


def notify(line: str) -> None:
    """Prints a message to standard error."""
    typer.echo(visible(line, 500), err=True)
