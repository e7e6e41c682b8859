"""`lycosa control`: steers a crawl while it runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from lycosa.frontier.admission import host_url_or_pattern
from lycosa.recipe import load_recipe
from lycosa.run import steering
from lycosa.run.control import CrawlReply, CrawlRequest, drop_in_words, execute_command
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.text import counted, printable, whole_number

from .options import Json, Name, notify, print_json, shell_command

_COMMANDS_WITHOUT_ARGUMENT = ("status", "pause", "resume", "stop", "undo")
_STEERING: Mapping[str, Literal["block", "boost", "drop"]] = {"block": "block", "boost": "boost", "drop": "drop"}
_ARGUMENT_OF = {"budget": "PAGES", **dict.fromkeys(_STEERING, "HOST, URL or PATTERN")}
_COMMANDS = ", ".join((*_COMMANDS_WITHOUT_ARGUMENT, *(f"{name} {argument}" for name, argument in _ARGUMENT_OF.items())))


def control(
    name: Name,
    command: Annotated[str, typer.Argument(metavar="COMMAND", help=f"One of: {_COMMANDS}.")],
    what: Annotated[
        str,
        typer.Argument(
            metavar="[WHAT]",
            help="The number of pages, the host, the URL, or a pattern of URLs: '*://example.org/ads/*'.",
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Steer a crawl while it runs. Pause, resume, give it another budget, block, boost or drop hosts or URLs, undo."""
    request = _request(command, what)
    load_recipe(name)  # raises if it is not a collection
    notes: list[str] = []
    reply = execute_command(name, request, notify=notes.append if request.do in ("undo", "drop") else notify)
    if reply is not None:
        message = _in_words(request, reply, name)
    else:
        for line in notes[:-1]:  # the last one says what was done
            notify(line)
        message = notes[-1] if notes else f"Noted for the next crawl: {request.do} {request.what}."
    if as_json:
        print_json({"running": reply is not None, "said": message, **({"status": reply.status} if reply else {})})
    else:
        typer.echo(printable(message, 500))


def _request(command: str, argument: str) -> CrawlRequest:
    if command in _COMMANDS_WITHOUT_ARGUMENT:
        if argument:
            raise UsageError(f"{command} takes no argument; leave out {printable(argument, 50)!r}")
        return CrawlRequest(cast(Any, command))
    if command not in _ARGUMENT_OF:
        raise UsageError(f"no command {printable(command, 50)!r}; there are {_COMMANDS}")
    if not argument:
        raise UsageError(f"{command} what? write: {command} {_ARGUMENT_OF[command]}")
    if command == "budget":
        pages = whole_number(argument, maximum=10**12)
        if not pages:
            raise UsageError(f"not a number of pages: {printable(argument, 50)!r}; write one such as 500")
        return CrawlRequest("budget", pages=pages)
    return CrawlRequest(_STEERING[command], what=steering.checked_argument(argument))


def _in_words(request: CrawlRequest, reply: CrawlReply, name: Path) -> str:
    match request.do:
        case "pause":
            return f"Paused. Fetches in progress will finish; to continue: {shell_command('control', name, 'resume')}."
        case "resume":
            return "Resumed."
        case "stop":
            return "Stopping after the current page."
        case "budget":
            return f"The crawl stops when the collection has {counted(request.pages or 0, 'page')}."
        case "block":
            return f"Blocked: nothing more {_urls_in_words(request.what)} is fetched."
        case "boost":
            return f"Boosted: {request.what} comes first."
        case "drop":
            return drop_in_words(reply.dropped)
        case "undo":
            return f"Undone: {reply.undone}."
        case _:
            status = reply.status
            state = "paused" if status["paused"] else "running"
            pages, budget = status["pages"], status["budget"]
            of_budget = f"{pages:,} of {counted(budget, 'page')}" if budget else counted(pages, "page")
            return (
                f"{state}: {of_budget}, {status['relevant']:,} judged relevant, "
                f"{counted(status['waiting'], 'URL')} waiting"
            )


def _urls_in_words(what: str) -> str:
    """Which URLs a host, a URL or a pattern stands for, in words that follow a noun."""
    match host_url_or_pattern(what):
        case "pattern":
            return f"that matches {what}"
        case "URL":
            return f"at {what}"
        case "host":
            return f"of {what} and its subdomains"
