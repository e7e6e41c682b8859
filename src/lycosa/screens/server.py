"""Serves the screens, by default on the loopback address, and opens them in the browser."""

import ipaddress
import os
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn

from lycosa.vocabulary.errors import UsageError

from .access_control import ScreenAccess
from .app import make_app
from .connections import BoundedProtocol
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

    listen: IP address to listen on, instead of 127.0.0.1; requires a password unless it is a loopback address.
    public_url: URL at which a proxy publishes the screens; requires read_only.
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
    with ExitStack() as stack:
        stack.enter_context(suppress(KeyboardInterrupt))
        stack.enter_context(_sigterm_as_interrupt())
        listener = stack.enter_context(_listen(address, port))
        crawls = stack.enter_context(closing(Crawls()))
        port = listener.getsockname()[1]
        access = ScreenAccess(port, read_only=read_only, password=password, is_remote=is_remote, public_url=origin)
        application = make_app(library, access, crawls=crawls)
        is_every_address = ipaddress.ip_address(address).is_unspecified
        reachable = _own_address(listener) if is_every_address else address
        url_host = f"[{reachable}]" if ":" in reachable else reachable
        url = f"http://{url_host}:{port}/"
        if not password and not access.is_public:
            url += f"?token={application.token}"
        notify(f"the screens of {root}: {url}")
        if is_every_address:
            notify("they listen on all addresses of this machine; use a numeric one, since names are not answered")
        if access.is_public:
            if hidden := sorted(library.published().hidden_names()):
                notify(f"not shown, as some pages were requested with cookies or headers of yours: {', '.join(hidden)}")
            notify(f"anyone who can reach this port can read the screens; behind a proxy they answer only as {origin}")
        elif password:
            notify("log in with the password; the connection is not encrypted, so use it only on a network you trust")
            notify(f"programs authenticate with this token: {application.token}")
        else:
            notify("the address is a secret: whoever has it can use the screens")
        notify("Ctrl-C ends the server")
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
            http=BoundedProtocol,
        )
        if open_browser:
            stack.enter_context(_opened_in_browser(url, notify))
        uvicorn.Server(config).run(sockets=[listener])


def checked_address(text: str) -> str:
    """An IP address to listen on; raises UsageError for anything else."""
    try:
        return str(ipaddress.ip_address(text.strip("[]")))
    except ValueError:
        raise UsageError(
            f"--listen: {text[:100]!r} is not an IP address; give one such as 192.168.1.5 or 0.0.0.0"
        ) from None


def checked_public_url(text: str) -> str:
    """The origin of the URL at which a proxy publishes the screens, as browsers send it.

    >>> checked_public_url("https://Bees.example/")
    'https://bees.example'
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
        is_valid = bool(host) and parts.scheme in ("http", "https") and port != 0 and not parts.netloc.endswith(":")
    except ValueError:
        is_valid = False
    if not is_valid or parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc:
        raise UsageError(
            f"--public-url: {text[:100]!r} is not the address of a whole site; write it like https://bees.example"
        )
    if not host.isascii():
        raise UsageError(f"--public-url: {text[:100]!r} is not ASCII; {_ascii_hint(host)}")
    if ":" in host:
        host = f"[{host}]"
    default_port = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in (None, default_port) else "")


def _ascii_hint(host: str) -> str:
    """What to write instead of a host name that is not ASCII."""
    try:
        return f"write the host as {host.encode('idna').decode()}"
    except UnicodeError:
        return "write the host in its ASCII form, xn--…"


def _listen(address: str, port: int) -> socket.socket:
    listener: socket.socket | None = None
    try:
        listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        if os.name != "nt":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(64)
    except OSError as error:  # also of a machine without IPv6
        if listener is not None:
            listener.close()
        raise UsageError(
            f"cannot listen on {address}, port {port}: {error.strerror}; give another with --port, or any with --port 0"
        ) from None
    return listener


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Makes SIGTERM raise KeyboardInterrupt: uvicorn passes it on when it has ended, and by default it would kill the
    process before the file with the token is deleted."""
    if threading.current_thread() is not threading.main_thread():  # where no handler can be set
        yield
        return
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous or signal.SIG_DFL)


def _own_address(listener: socket.socket) -> str:
    """An address of this machine at which a listener on all addresses can be reached.

    It is the one from which the machine would send to the Internet; without a network, a loopback address.
    """
    # Addresses reserved for documentation: connecting a UDP socket chooses a route and sends nothing.
    destinations = [(socket.AF_INET, "192.0.2.1", LOOPBACK)]
    if listener.family == socket.AF_INET6:
        destinations.insert(0, (socket.AF_INET6, "2001:db8::1", "::1"))
        if listener.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY):
            destinations.pop()
    for family, destination, _ in destinations:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((destination, 9))
            return str(probe.getsockname()[0])
    return destinations[0][2]


@contextmanager
def _opened_in_browser(url: str, notify: Callable[[str], None]) -> Iterator[None]:
    """Opens a URL through a redirect file that only its owner can read, since other users could see a token on the
    command line. The file is deleted on leaving."""
    redirect_file: Path | None = None
    try:
        try:
            descriptor, name = tempfile.mkstemp(prefix="lycosa-", suffix=".html")
            redirect_file = Path(name)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(
                    '<!doctype html><meta charset="utf-8"><title>Lycosa</title>'
                    f'<meta http-equiv="refresh" content="0; url={escape(url)}"><a href="{escape(url)}">Lycosa</a>'
                )
            webbrowser.open(redirect_file.as_uri())
        except (webbrowser.Error, OSError) as error:
            notify(f"cannot open the browser: {error}; open the address yourself")
        yield
    finally:
        if redirect_file is not None:
            redirect_file.unlink(missing_ok=True)
