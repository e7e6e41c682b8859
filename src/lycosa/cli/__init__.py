"""The command `lycosa`. One file per command; `main` turns errors into one line and an exit code."""

import os
import sys
from contextlib import suppress
from difflib import get_close_matches
from errno import EINVAL, ELOOP, ENAMETOOLONG, ENOTDIR
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from io import StringIO, TextIOWrapper
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy: its threads cost small matrices more than they save

import click
import typer
from typer.core import TyperGroup

from lycosa import __version__
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.plugins import distribution_of, load_plugin, plugins
from lycosa.vocabulary.text import visible

from .options import TYPER_OPTIONS

COMMANDS = {  # and the module of each, where it is not called so
    "new": "new",
    "try": "try_",
    "crawl": "crawl",
    "refresh": "refresh",
    "show": "show",
    "search": "search",
    "pages": "pages",
    "cat": "cat",
    "explain": "explain",
    "label": "label",
    "review": "review",
    "control": "control",
    "report": "report",
    "export": "export",
    "import": "import_",
    "rebuild": "rebuild",
    "forget": "forget",
}


@cache
def _command(name: str) -> Any:
    """One of the commands above; a command loads its own modules and no others, which halves the time to start."""
    module = import_module(f".{COMMANDS[name]}", __package__)
    alone = typer.Typer(**TYPER_OPTIONS)
    alone.command(name, context_settings=getattr(module, "CONTEXT_SETTINGS", None))(getattr(module, COMMANDS[name]))
    return typer.main.get_command(alone)


class Commands(TyperGroup):
    """Lycosa's own commands, and those of plug-ins, which are looked up when a name is unknown or all are listed."""

    def list_commands(self, context: Any) -> list[str]:
        own = [*COMMANDS, *super().list_commands(context)]
        return [*own, *(name for name in plugins("lycosa.commands") if name not in own)]

    def get_command(self, context: Any, name: str) -> Any:
        own = _command(name) if name in COMMANDS else super().get_command(context, name)
        if own is not None or name not in plugins("lycosa.commands"):
            return own
        alone = typer.Typer(**TYPER_OPTIONS)
        _stub(name, f"Of the plug-in {distribution_of(plugins('lycosa.commands')[name])}.", alone)
        return typer.main.get_command(alone)


app = typer.Typer(
    name="lycosa",
    cls=Commands,
    help="A focused web crawler: name a topic, and it collects the pages about it.",
    **TYPER_OPTIONS,
)
LOADED_WHEN_CALLED = {  # a crawl needs none of these; those that are no module here are entry points of other packages
    "map": "Maps that crawls draw for the next: build, show, merge, export.",
    "seeds": "Find URLs to start from: search engines, indexes, sitemaps.",
    "standing": "Lists of the importance of sites: import, show, remove.",
    "logs": "Access logs, to prefer pages that people visited: import, show.",
    "mcp": "Serve a collection to language models, by MCP.",
    "peer": "Collections shared with others: group, serve, search, show.",
    "world": "Worlds to crawl offline: list, make, show, serve.",
    "lab": "Studies of strategies: list, run, compare, table.",
    "demo": "See Lycosa at work. Three strategies crawl a made-up web on this machine, side by side.",
}


def load_command(name: str) -> typer.Typer:
    """The command, or group of commands, of that name: of a module of this package, or of a plug-in."""
    if find_spec(f"{__package__}.{name}") is not None:
        found = import_module(f".{name}", __package__).app
    elif name in plugins("lycosa.commands"):
        found = load_plugin("lycosa.commands", name)
    else:
        raise UsageError(f"the commands of lycosa {name} are not installed; install lycosa again")
    if isinstance(found, typer.Typer):
        return found
    single = typer.Typer(**{**TYPER_OPTIONS, "no_args_is_help": False})
    single.command(name)(found)
    return single


def _stub(name: str, help_text: str, group: typer.Typer) -> None:
    """Adds a command whose modules are loaded when it is called."""

    def run(context: typer.Context) -> None:
        program = f"{context.find_root().info_name} {name}"
        code = load_command(name)(context.args, prog_name=program, standalone_mode=False)
        if code:
            raise typer.Exit(code)

    run.__doc__ = help_text
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    group.command(name, context_settings=settings, add_help_option=False)(run)


for name, help_text in LOADED_WHEN_CALLED.items():
    _stub(name, help_text, app)


def _print_version(asked: bool) -> None:
    if asked:
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
            stream.reconfigure(errors="backslashreplace")  # names of files may hold bytes that are no text
    code = 0
    try:
        try:
            code = app(standalone_mode=False) or 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        sys.stdout.flush()
    except LycosaError as error:
        code = _fail(str(error), error.exit_code)
    except click.ClickException as error:
        code = _refuse(error)
    except click.Abort:
        code = 1
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        code = _no_more_output()
    except UnicodeEncodeError as error:
        code = _fail(f"not text that can be written: {error.object[:100]!r}; say it in UTF-8", 2)
    except OSError as error:
        if error.filename is None:
            _no_more_output()
        code = _fail_by(error)
    sys.exit(code)


_KINDS = {  # of values, as click calls them, and as people do
    "integer range": "a whole number",
    "integer": "a whole number",
    "float range": "a number",
    "float": "a number",
}


def _refuse(error: click.ClickException) -> int:
    """Says what is wrong with the words of the command line, and what may have been meant."""
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        nearest = get_close_matches(error.option_name, error.possibilities, cutoff=0.8)
        error = click.NoSuchOption(error.option_name, possibilities=nearest, ctx=error.ctx)
    shown = StringIO()
    error.show(shown)
    text = shown.getvalue()
    for kind, words in _KINDS.items():
        text = text.replace(f"is not a valid {kind}.", f"is not {words}.")
    with suppress(OSError):
        typer.echo(text, err=True, nl=False)
    return error.exit_code


def _fail(message: str, code: int) -> int:
    with suppress(OSError):
        typer.echo(f"lycosa: {message}", err=True)
    return code


def _fail_by(error: OSError) -> int:
    """Trouble with a file that no command foresaw, such as a name too long; without a name, with standard output."""
    if error.filename is None:
        return _fail(f"cannot write standard output: {error.strerror or error}; make room, or write elsewhere", 1)
    name = visible(os.fsdecode(error.filename), 100) if isinstance(error.filename, (str, bytes)) else error.filename
    is_name_wrong = error.errno in (ENAMETOOLONG, EINVAL, ENOTDIR, ELOOP)
    return _fail(f"cannot use {name}: {error.strerror}; give another name", 2 if is_name_wrong else 1)


def _no_more_output() -> int:
    """Standard output takes no more: else the interpreter reports the error again when it flushes it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
