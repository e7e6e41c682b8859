"""Arguments, options and output functions shared by several commands."""

import inspect
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec
import typer

from lycosa.run.options import FetchOptions, Flag
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import cannot_write
from lycosa.vocabulary.text import printable, quoted


def _finish_interrupted(folder: Path) -> Path:
    """Finishes maintenance of a collection that a kill interrupted, and tells the user; returns the folder."""
    if (folder / "journal.json").exists():  # rare, and the import takes time
        from lycosa.run.upkeep import finish_upkeep

        finish_upkeep(folder, clock=WallClock(), notify=notify)
    return folder


Name = Annotated[
    Path, typer.Argument(metavar="NAME", help="The folder of the collection.", callback=_finish_interrupted)
]
UrlArgument = Annotated[str, typer.Argument(metavar="URL", help="http://… or https://…")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
_TERMINAL_CONTROLS = re.compile(
    "[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)  # without C0 controls, which JSON escapes anyway
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]

PageLog = Annotated[Path | None, typer.Option("--log", metavar="FILE", help="Write a line per page to FILE.")]
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
    typer.Option(metavar="DATE", help="Only pages that are new or have changed since: 2026-11-16 (UTC), 7d or 12h."),
]
SortOrder = Annotated[
    str | None,
    typer.Option(
        "--order", metavar="ORDER", help="Sort by number (the order of fetching), relevance, importance or url."
    ),
]
NO_IMPORTANCE = "the importance of no page is known: they come in the order of fetching"
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print a line per page.")]


Command = TypeVar("Command", bound=Callable[..., None])


def with_options(options: type, *, last: bool = False) -> Callable[[Command], Command]:
    """Adds a flag for every option of a TypedDict, as its `Flag` says, to a command that takes them as `**options`.

    The command receives the options that the user gave, parsed.

    last: whether the help lists them after the options that the command itself declares.
    """
    hints = get_type_hints(options, include_extras=True)
    shared_last = sorted(hints, key=FetchOptions.__annotations__.__contains__)
    flags = {name: _typer_option(name, hints[name]) for name in shared_last}

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**values: Any) -> None:
            given = {name: values.pop(name) for name in flags}
            parsed = {
                name: flag.parse(value, _flag_name(name, flag)) if (flag := flags[name].flag).parse else value
                for name, value in given.items()
                if not (value is None or value is False or value == [])  # 0 is a value
            }
            command(**values, **parsed)

        signature = inspect.signature(command)
        declared = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        added = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=option.annotation
            )
            for name, option in flags.items()
        ]
        # Arguments, which have no default, come before options.
        arguments = [parameter for parameter in declared if parameter.default is inspect.Parameter.empty]
        declared_options = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in declared
            if parameter not in arguments
        ]
        parameters = [*arguments, *declared_options, *added] if last else [*arguments, *added, *declared_options]
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*declared, *added)}
        return cast(Command, run)

    return decorate


class _TyperOption(NamedTuple):
    """The declaration of an option for typer."""

    annotation: Any
    default: Any
    flag: Flag


def _flag_name(name: str, flag: Flag) -> str:
    return flag.name or f"--{name.replace('_', '-')}"


def _typer_option(name: str, hint: Any) -> _TyperOption:
    value_type, flag = get_args(hint)
    option = typer.Option(_flag_name(name, flag), metavar=flag.metavar, min=flag.min, max=flag.max, help=flag.help)
    if value_type is bool:  # without a negative flag --no-…
        return _TyperOption(Annotated[bool, option], False, flag)
    if get_origin(value_type) in (Sequence, Mapping):
        value_type = list[str] | None
    elif Path in get_args(value_type):
        value_type = Path | None
    elif flag.parse is not None:
        value_type = str | None
    return _TyperOption(Annotated[value_type, option], None, flag)


def program() -> str:
    """The name or path by which the user can call this command again, quoted for a shell."""
    called = sys.argv[0]
    if Path(called).name != "lycosa" or Path(called).name == called or shutil.which("lycosa"):
        return "lycosa"
    path = Path(called).absolute()
    path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return quoted(path if len(path.parts) > 1 else f".{os.sep}{path}")


def shell_command(*words: object) -> str:
    """A command that the user can copy into a shell."""
    return " ".join([program(), *map(quoted, words)])


def print_json(value: Any) -> None:
    """Prints one line; terminal control characters are escaped, which leaves the JSON value the same."""
    typer.echo(_TERMINAL_CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", msgspec.json.encode(value).decode()))


@contextmanager
def standard_output() -> Iterator[BinaryIO]:
    """Standard output, for bytes; a failure to write is raised as a message that tells the user what to do."""
    try:
        yield sys.stdout.buffer
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # Otherwise, the interpreter tries to write the rest when it exits, and fails again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise cannot_write("to standard output", error, advice="give a file with --out") from None


def notify(line: str) -> None:
    """Prints a message to standard error."""
    typer.echo(printable(line, 500), err=True)
