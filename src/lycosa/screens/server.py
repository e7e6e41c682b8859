"""Serves the screens, by default on the loopback address, and opens them in the browser."""

import ipaddress
import os
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn

from lycosa.vocabulary.errors import UsageError

from .access_control import ScreenAccess
from .app import make_app
from .crawls import Crawls
from .library import Library

LOOPBACK = "127.0.0.1"
MIN_PASSWORD_LENGTH = 12  # characters


def serve(
    root: Path,
    *,
    port: int,
    open_browser: bool,
    notify: Callable[[str], None],
    read_only: bool = False,
    listen: str = "",
    password: str = "",
    public_url: str = "",
) -> None:
    """Serves the collections of a folder until it is interrupted.

    listen: an address other than the loopback address; requires a password.
    public_url: under which a proxy publishes the screens; requires read_only.
    """
    address = checked_address(listen) if listen else LOOPBACK
    is_remote = not ipaddress.ip_address(address).is_loopback
    if is_remote and not password:
        raise UsageError(f"--listen {address} lets other machines in: give a password with --password-file FILE")
    if password and len(password) < MIN_PASSWORD_LENGTH:
        raise UsageError(f"the password is too short; give {MIN_PASSWORD_LENGTH} characters or more")
    if public_url and not read_only:
        raise UsageError("--public-url publishes the screens: give --read-only as well")
    origin = checked_public_url(public_url) if public_url else ""
    library = Library(root)
    listening = _listen(address, port)
    port = listening.getsockname()[1]
    crawls = Crawls()
    access = ScreenAccess(port, read_only=read_only, password=password, is_remote=is_remote, public_url=origin)
    application = make_app(library, access, crawls=crawls)
    url_host = f"[{address}]" if ":" in address else address
    url = f"http://{url_host}:{port}/"
    if not password and not access.is_public:
        url += f"?token={application.token}"
    notify(f"the screens of {root}: {url}")
    if access.is_public:
        notify(f"everybody who reaches it may read; {origin} is the address that it answers to behind a proxy")
    elif password:
        notify("the password opens them; the connection is not encrypted: use it in a network that you trust")
        notify(f"programs send the token: {application.token}")
    else:
        notify("the address is a secret: whoever has it can use them; Ctrl-C ends the server")
    config = uvicorn.Config(
        application,
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
    redirect_file = _open_in_browser(url) if open_browser else None
    try:
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        listening.close()
        crawls.close()
        if redirect_file is not None:
            redirect_file.unlink(missing_ok=True)


def checked_address(text: str) -> str:
    """A numeric address to listen on; raises UsageError for anything else."""
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        raise UsageError(
            f"--listen: no address: {text[:100]!r}; write it in figures, such as 192.168.1.5 or 0.0.0.0"
        ) from None


def checked_public_url(text: str) -> str:
    """The origin of the URL under which a proxy publishes the screens.

    >>> checked_public_url("https://Bees.example/")
    'https://bees.example'
    """
    try:
        parts = urlsplit(text)
        is_valid = bool(parts.hostname) and parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid or parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc:
        raise UsageError(
            f"--public-url: {text[:100]!r} is not the address of a whole site; write it such as https://bees.example"
        )
    default_port = {"http": ":80", "https": ":443"}[parts.scheme]
    return f"{parts.scheme}://{parts.netloc.lower().removesuffix(default_port)}"


def _listen(address: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    if os.name != "nt":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise UsageError(
            f"cannot listen on {address}, port {port}: {error.strerror}; give another with --port, or any with --port 0"
        ) from None
    return listening


def _open_in_browser(url: str) -> Path:
    """Opens a URL by a file that redirects to it and that only its owner can read: other users can see command lines.

    Returns the file.
    """
    descriptor, name = tempfile.mkstemp(prefix="lycosa-", suffix=".html")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(
            '<!doctype html><meta charset="utf-8"><title>Lycosa</title>'
            f'<meta http-equiv="refresh" content="0; url={escape(url)}"><a href="{escape(url)}">Lycosa</a>'
        )
    with suppress(webbrowser.Error, OSError):
        webbrowser.open(Path(name).as_uri())
    return Path(name)
