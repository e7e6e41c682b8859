"""`lycosa ui`: the collections of a folder in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import read_user_file

from .options import notify

_MAX_PASSWORD_FILE = 10_000  # bytes


def ui(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="A folder with collections in it, or a collection.")
    ] = Path(),
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65_535, help="Port to listen on; 0: any free one.")
    ] = 8700,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address only.")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show everything, change nothing.")] = False,
    listen: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Accept connections from other machines at this address; needs --password-file."
        ),
    ] = "",
    password_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File whose first line is the password for the screens.")
    ] = None,
    public_url: Annotated[
        str, typer.Option(metavar="URL", help="Publish read-only screens behind a proxy that has this address.")
    ] = "",
) -> None:
    """Open collections in the browser: crawl, search, read, teach, and see why each page was fetched.

    Without --listen, only this machine can connect, and only with the address that is printed.
    """
    try:
        from lycosa.screens.server import serve
    except ImportError as error:
        if (error.name or "").startswith("lycosa"):
            raise
        raise UsageError("lycosa ui needs other libraries: pip install 'lycosa[ui]'") from error
    serve(
        folder,
        port=port,
        open_browser=not no_browser,
        notify=notify,
        read_only=read_only,
        listen=listen,
        password=_password(password_file) if password_file is not None else "",
        public_url=public_url,
    )


def _password(path: Path) -> str:
    try:
        text = read_user_file(path, _MAX_PASSWORD_FILE).decode()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"cannot read the password in {path}: {why}; name another file") from None
    password = text.partition("\n")[0].strip()
    if not password:
        raise UsageError(f"there is no password in the first line of {path}")
    return password
