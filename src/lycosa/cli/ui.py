"""`lycosa ui`: the collections of a folder in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from lycosa.vocabulary.errors import UsageError

from .options import tell


def ui(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="A folder with collections in it, or a collection.")
    ] = Path(),
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65_535, help="Where to listen; 0: any free port.")
    ] = 8700,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show everything, change nothing.")] = False,
) -> None:
    """Open collections in the browser: crawl, search, read, teach, and see why each page was fetched.

    Listens on this machine alone, and answers only those who have the address that it prints.
    """
    try:
        from lycosa.screens.server import serve
    except ImportError as error:
        if (error.name or "").startswith("lycosa"):
            raise
        raise UsageError("lycosa ui needs other libraries: pip install 'lycosa[ui]'") from error
    serve(folder, port=port, open_browser=not no_browser, read_only=read_only, tell=tell)
