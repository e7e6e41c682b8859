"""The command `lycosa`. One file per command; `main` turns errors into one line and an exit code."""

import os
import sys
from collections.abc import Callable

import typer

from lycosa import __version__
from lycosa.vocabulary.errors import LycosaError

from . import crawl, demo, explain, export, forget, import_, lab, label, new, rebuild, report, search, show, world

app = typer.Typer(
    name="lycosa",
    help="A focused web crawler: name a topic, and it brings home the pages that are on it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS: dict[str, Callable[..., None]] = {
    "new": new.new,
    "crawl": crawl.crawl,
    "show": show.show,
    "search": search.search,
    "explain": explain.explain,
    "label": label.label,
    "report": report.report,
    "export": export.export,
    "import": import_.import_,
    "rebuild": rebuild.rebuild,
    "forget": forget.forget,
    "demo": demo.demo,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
for group in (world.app, lab.app):
    app.add_typer(group)


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
    try:
        app()
    except LycosaError as error:
        typer.echo(f"lycosa: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains at its end
        sys.exit(1)
