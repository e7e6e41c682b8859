"""Arguments and ways of speaking that several commands share."""

import re
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.plain_text import visible
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import normalise

LOOK: dict[str, Any] = {  # of every group of commands
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
Name = Annotated[Path, typer.Argument(metavar="NAME", help="The folder of the collection.")]
UrlArgument = Annotated[str, typer.Argument(metavar="URL", help="http://… or https://…")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
_STEERING = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")  # and C0, which JSON escapes anyway
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]

# Of the commands that ask a live web:
Minutes = Annotated[float | None, typer.Option(metavar="N", min=0, help="Stop after so many minutes.")]
Delay = Annotated[float | None, typer.Option(metavar="SECONDS", min=0, help="Pause between two requests to one host.")]
Concurrency = Annotated[int | None, typer.Option(metavar="N", min=1, help="Fetches under way at once.")]
AllowPrivate = Annotated[bool, typer.Option("--allow-private", help="Also connect to loopback and private addresses.")]
Resolve = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST=ADDR:PORT", help="Reach HOST (or *, every host) at this address. Repeatable."),
]
PageLog = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a line per page to FILE.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print a line per page.")]


def program() -> str:
    """How the user can call this command again."""
    called = Path(sys.argv[0])
    if called.name != "lycosa" or len(called.parts) == 1 or shutil.which("lycosa"):
        return "lycosa"
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)


def url_argument(text: str) -> Url:
    url = normalise(text)
    if url is None:
        raise UsageError(f"not a URL that can be crawled: {text!r}; write http://… or https://…")
    return url


def print_json(plain: Any) -> None:
    """Prints one line; what would steer a terminal is escaped, which JSON allows and reads back the same."""
    typer.echo(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", msgspec.json.encode(plain).decode()))


def tell(line: str) -> None:
    """Says something beside the result: on standard error."""
    typer.echo(visible(line, 500), err=True)
