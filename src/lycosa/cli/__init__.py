"""The command `lycosa`: a file per command, loaded when it is called; `main` turns errors into a line and a code."""

import gc
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from errno import EINVAL, ELOOP, ENAMETOOLONG, ENOTDIR
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from io import StringIO, TextIOWrapper
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded: threads slow down small matrices

import click
import typer
from typer.core import TyperGroup

from lycosa import __version__
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.plugins import distribution_of, load_plugin, plugins

from .typer_options import TYPER_OPTIONS

COMMANDS = {  # those without a module in this package are entry points of other packages
    "new": "Make a collection: a folder with a recipe (lycosa.toml).",
    "try": "Show what a crawl would make of one page.",
    "crawl": "Start or continue a crawl.",
    "refresh": "Revisit pages to find changes, and fetch new ones.",
    "show": "Show what a collection holds.",
    "search": "Search the pages of a collection.",
    "pages": "List the pages of a collection.",
    "cat": "Read a page of a collection.",
    "explain": "Explain why a page was fetched, skipped, or still waits.",
    "label": "Mark pages as on or off topic and retrain.",
    "review": "Review pages, ten at a time, and retrain.",
    "control": "Steer a crawl while it runs.",
    "ui": "Open collections in the browser: crawl, search, read, teach.",
    "report": "Write a report: one HTML page with charts.",
    "export": "Export the pages of a collection for other programs.",
    "import": "Import the HTML pages of a WARC file.",
    "rebuild": "Rebuild the catalog, the search index and the queue of waiting URLs from the archive.",
    "forget": "Remove a page or a host for good.",
    "trust": "Trust a collection that was made elsewhere.",
    "map": "Maps drawn from crawls, for later ones: build, show, merge, export.",
    "seeds": "Find URLs to start from: search engines, indexes, sitemaps.",
    "standing": "Lists of the importance of sites: import, show, remove.",
    "logs": "Access logs, to prefer pages that people visited: import, show.",
    "mcp": "Serve a collection to a language model's client, by MCP.",
    "peer": "Collections shared with others: group, serve, search, show.",
    "world": "Worlds to crawl offline: list, make, show, serve.",
    "lab": "Studies of strategies: list, run, compare, table.",
    "demo": "See Lycosa at work.",
}


# A crawl makes many objects and hardly any cycles: with Python's thresholds, looking for them takes 3 % of its time.
_GC_THRESHOLDS = (20_000, 20, 50)


class Commands(TyperGroup):
    """Lycosa's own commands, and those of plug-ins; each is loaded when it is called."""

    def list_commands(self, context: Any) -> list[str]:
        return [*COMMANDS, *(name for name in plugins("lycosa.commands") if name not in COMMANDS)]

    def get_command(self, context: Any, name: str) -> Any:
        if name not in COMMANDS and name not in plugins("lycosa.commands"):
            return None
        if name not in self.commands:
            self.add_command(_load_cached(name) if name in COMMANDS else _load(name))
        return self.commands[name]

    def resolve_command(self, context: Any, args: list[str]) -> Any:
        name = args[0]
        if not name.startswith("-") and name not in COMMANDS and name not in plugins("lycosa.commands"):
            nearest = get_close_matches(name, self.list_commands(context))  # click only knows those that were loaded
            hint = f" Did you mean {' or '.join(repr(each) for each in nearest)}?" if nearest else ""
            raise click.UsageError(f"No such command {name!r}.{hint}", context)
        return super().resolve_command(context, args)

    def format_commands(self, context: Any, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, COMMANDS.get(name) or _plugin_help(name)) for name in self.list_commands(context)]
            )


def _load(name: str) -> Any:
    """Loads a command with all its options, which takes some milliseconds."""
    gc.disable()  # modules are not garbage: collecting takes a tenth of the time of a short command
    try:
        loaded = typer.main.get_command(load_command(name))
        gc.freeze()
        gc.set_threshold(*_GC_THRESHOLDS)
    finally:
        gc.enable()
    loaded.name = name
    _describe_ranges(loaded)
    return loaded


_load_cached = cache(_load)  # for Lycosa's own commands; a process may call one more than once


class _IntRange(click.IntRange):
    def _describe_range(self) -> str:
        return _range_in_words(self.min, self.max)


class _FloatRange(click.FloatRange):
    def _describe_range(self) -> str:
        return _range_in_words(self.min, self.max)


def _range_in_words(lowest: float | None, highest: float | None) -> str:
    if lowest is None:
        return f"at most {highest}"
    return f"at least {lowest}" if highest is None else f"between {lowest} and {highest}"


def _describe_ranges(command: Any) -> None:
    """Makes the help of a command and its subcommands describe ranges in words, where click writes 0<=x<=1."""
    for parameter in command.params:
        value_type = parameter.type
        if type(value_type) is click.IntRange:
            parameter.type = _IntRange(
                value_type.min, value_type.max, value_type.min_open, value_type.max_open, value_type.clamp
            )
        elif type(value_type) is click.FloatRange:
            parameter.type = _FloatRange(
                value_type.min, value_type.max, value_type.min_open, value_type.max_open, value_type.clamp
            )
    for subcommand in getattr(command, "commands", {}).values():
        _describe_ranges(subcommand)


def _plugin_help(name: str) -> str:
    return f"Of the plug-in {distribution_of(plugins('lycosa.commands')[name])}."


def load_command(name: str) -> typer.Typer:
    """The command or group of commands of this name, from a module of this package or from a plug-in."""
    module = next(
        (candidate for candidate in (name, f"{name}_") if find_spec(f"{__package__}.{candidate}") is not None), None
    )
    settings: Mapping[str, Any] | None = None
    if name in COMMANDS and module is not None:
        loaded = import_module(f".{module}", __package__)
        command = getattr(loaded, "app", None) or getattr(loaded, module)
        settings = getattr(loaded, "CONTEXT_SETTINGS", None)
    elif name in plugins("lycosa.commands"):
        command = load_plugin("lycosa.commands", name)
    else:
        raise UsageError(f"the commands of lycosa {name} are not installed; install lycosa again")
    if isinstance(command, typer.Typer):
        return command
    single_command = typer.Typer(**{**TYPER_OPTIONS, "no_args_is_help": False})
    single_command.command(name, context_settings=dict(settings) if settings else None)(command)
    return single_command


app = typer.Typer(
    name="lycosa",
    cls=Commands,
    help="A focused web crawler: name a topic, and it collects the pages about it.",
    **TYPER_OPTIONS,
)


def _print_version(is_set: bool) -> None:
    if is_set:
        typer.echo(f"lycosa {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_print_version, is_eager=True, help="Print the version."),
) -> None:
    pass


def main() -> None:
    """Runs the command line. Exit codes: 0 done, 1 the job failed, 2 bad usage, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # file names may have bytes that are not valid text
    code = 0
    try:
        try:
            code = app(standalone_mode=False) or 0
        except SystemExit as system_exit:
            code = system_exit.code if isinstance(system_exit.code, int) else int(bool(system_exit.code))
        sys.stdout.flush()
    except LycosaError as error:
        code = _report_error(str(error), error.exit_code)
    except click.ClickException as error:
        code = _report_usage_error(error)
    except click.Abort:
        code = 1
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = _discard_output()
    except UnicodeEncodeError as error:
        code = _report_error(f"not text that can be written: {error.object[:100]!r}; write it in UTF-8", 2)
    except OSError as error:
        if error.filename is None:
            _discard_output()
        code = _report_os_error(error)
    sys.exit(code)


_MAX_MESSAGE_LENGTH = 4_000  # characters
_TYPE_NAMES = {  # click's name of the type of a value, and the words that replace it in messages
    "integer range": "a whole number",
    "integer": "a whole number",
    "float range": "a number",
    "float": "a number",
}


def _report_usage_error(error: click.ClickException) -> int:
    """Prints what is wrong with the command line and what may have been meant; returns the exit code."""
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        nearest = get_close_matches(error.option_name, error.possibilities, cutoff=0.8)
        error = click.NoSuchOption(error.option_name, possibilities=nearest, ctx=error.ctx)
    buffer = StringIO()
    error.show(buffer)
    text = buffer.getvalue()
    for click_name, plain_name in _TYPE_NAMES.items():
        text = text.replace(f"is not a valid {click_name}.", f"is not {plain_name}.")
    text = text.replace("is not in the range ", "is out of range: it must be ")
    with suppress(OSError):
        typer.echo(text, err=True, nl=False)
    return error.exit_code


def _report_error(message: str, code: int) -> int:
    from lycosa.vocabulary.text import printable  # here, since it loads numpy, which help does not need

    with suppress(OSError):
        typer.echo(
            printable(f"lycosa: {message}", _MAX_MESSAGE_LENGTH), err=True
        )  # the message may quote untrusted text
    return code


def _report_os_error(error: OSError) -> int:
    """Prints an error of a file that no command has handled, or of standard output; returns the exit code."""
    if error.filename is None:
        return _report_error(
            f"cannot write standard output: {error.strerror or error}; make room, or write elsewhere", 1
        )
    from lycosa.vocabulary.text import printable

    name = printable(os.fsdecode(error.filename), 100) if isinstance(error.filename, (str, bytes)) else error.filename
    is_name_wrong = error.errno in (ENAMETOOLONG, EINVAL, ENOTDIR, ELOOP)
    return _report_error(f"cannot use {name}: {error.strerror}; give another name", 2 if is_name_wrong else 1)


def _discard_output() -> int:
    """Discards further output, since the interpreter would report the error again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
