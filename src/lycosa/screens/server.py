"""Serves the screens on the loopback address, and opens them in the browser."""

import os
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from html import escape
from pathlib import Path

import uvicorn

from lycosa.vocabulary.errors import UsageError

from .app import make_app
from .crawls import Crawls
from .library import Library

ADDRESS = "127.0.0.1"


def serve(root: Path, *, port: int, open_browser: bool, read_only: bool, tell: Callable[[str], None]) -> None:
    """Serves the collections of a folder until it is interrupted."""
    library = Library(root)
    listening = _listen(port)
    port = listening.getsockname()[1]
    crawls = Crawls()
    gate = make_app(library, port=port, read_only=read_only, crawls=crawls)
    address = f"http://{ADDRESS}:{port}/?token={gate.token}"
    tell(f"the screens of {root}: {address}")
    tell("the address is a secret: whoever has it can use them; Ctrl-C ends the server")
    config = uvicorn.Config(
        gate,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
        limit_concurrency=64,
    )
    opened = _open(address) if open_browser else None
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
        crawls.close()
        if opened is not None:
            opened.unlink(missing_ok=True)


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if os.name != "nt":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"cannot listen on port {port}: {error.strerror}; give another with --port, or any with --port 0"
        ) from None
    return listening


def _open(address: str) -> Path:
    """Opens the browser by a file that only its owner may read, as everybody sees the words of a command."""
    number, name = tempfile.mkstemp(prefix="lycosa-", suffix=".html")
    with os.fdopen(number, "w", encoding="utf-8") as file:
        file.write(
            '<!doctype html><meta charset="utf-8"><title>Lycosa</title>'
            f'<meta http-equiv="refresh" content="0; url={escape(address)}"><a href="{escape(address)}">Lycosa</a>'
        )
    with suppress(webbrowser.Error, OSError):
        webbrowser.open(Path(name).as_uri())
    return Path(name)
