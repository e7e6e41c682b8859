"""libcurl on an asyncio event loop; `outcomes` interprets the responses.

HttpRequest --run--> a transfer from the pool --curl--> callbacks collect head and body --> HttpResponse
"""

import asyncio
import errno
import os
import re
import select
import socket
import sys
from collections.abc import Callable, Container
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import certifi
import pycurl
from msgspec import Struct

from lycosa.vocabulary.networks import network_of
from lycosa.vocabulary.urls import origin_of

from .outcomes import Headers
from .stalled_calls import StalledCalls

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_SUPPRESS_CONNECT_HEADERS = 265  # libcurl options that pycurl has no names for
_DISALLOW_USERNAME_IN_URL = 278
# All but Diffie-Hellman in finite fields, which browsers have given up: a server chooses its modulus, and with one of
# 10,000 bits each handshake takes .6 s of computing.
_TLS_CIPHERS = "DEFAULT:!DHE"
_MAX_KEPT_CONNECTIONS = 512  # idle ones, kept alive; fewer if the limit of open files is low
_MAX_KEPT_PER_ADDRESS = 4  # idle connections to one address, over all hosts
_MAX_IDLE_TRANSFERS = 256
_MAX_ADDRESSES = 20  # of a host name that are tried for one request
_OUT_OF_FILES = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_MAYBE_OUT_OF_FILES = frozenset(  # errors that may have this cause
    (pycurl.E_COULDNT_RESOLVE_HOST, pycurl.E_COULDNT_RESOLVE_PROXY, pycurl.E_COULDNT_CONNECT)
)
_STOP = 0  # a callback that accepts none of its bytes ends the transfer

_MESSAGES = {  # instead of those of libcurl, which has none for CURLE_TOO_LARGE
    pycurl.E_COULDNT_RESOLVE_HOST: "no such host",
    pycurl.E_COULDNT_RESOLVE_PROXY: "no such proxy",
    100: "a header is too long",
}
_OPENSSL_CODE = re.compile(r"(TLS connect error: )?error:[0-9A-F]+:[^:]*:[^:]*:")
_MILLISECONDS = re.compile(r"(?<!\d)(\d++) (milliseconds|ms)\b")
_TLS_ERRORS = frozenset(  # not all of their messages mention TLS
    (
        pycurl.E_SSL_CONNECT_ERROR,
        pycurl.E_SSL_CERTPROBLEM,
        pycurl.E_SSL_CIPHER,
        pycurl.E_SSL_CACERT,
        pycurl.E_SSL_CACERT_BADFILE,
        pycurl.E_SSL_ISSUER_ERROR,
    )
)

WhyRefused = Callable[[str], str | None]  # why an address is refused, or None

TIMED_OUT: int = pycurl.E_OPERATION_TIMEDOUT


class HttpRequest(Struct, frozen=True, gc=False):
    """One GET request."""

    url: str
    headers: list[bytes]
    bytes_wanted: Callable[[int, Headers], int]  # of the body, by status and headers; 0 ends the transfer
    is_wanted: Callable[[Headers, bytes], bool]  # by headers and the first bytes of the body
    connect_to: str | None = None  # an entry of CURLOPT_CONNECT_TO
    exempt: tuple[str, int] | None = None  # address and port that are exempt from the check
    may_connect: Callable[[str], bool] | None = None  # whether an address has a free slot


class HttpResponse(Struct, frozen=True, gc=False):
    """The response to a request, as far as it was received."""

    error: int  # code of libcurl; 0 for success, and if we ended the transfer ourselves
    message: str = ""
    refused: str = ""  # the refused address, and why
    is_address_busy: bool = False  # not connected, because its address has no free slot
    is_out_of_files: bool = False  # not connected, because the limit of open files is reached
    status: int = 0  # 0 without a status line
    reason: str = ""
    http_version: str = "1.1"
    headers: Headers = ()
    body: bytes = b""
    is_truncated: bool = False  # the body was truncated at the limit
    address: str = ""
    elapsed: float = 0.0  # seconds


class _KeptConnection(NamedTuple):
    """The kept-alive connection of an origin after its latest transfer."""

    descriptor: int
    port: int  # the local port
    address: str  # of the server; empty if the user chose it


class _Transfer:
    """A curl handle, reused for successive requests, and the response to the current one."""

    def __init__(
        self,
        flooding_networks: Container[str],
        *,
        timeout: float,
        why_refused: WhyRefused | None,
        proxy: str,
        checks_addresses: bool,
    ):
        self.curl = curl = pycurl.Curl()
        milliseconds = max(1, round(timeout * 1000))
        for option, value in (
            (pycurl.NOSIGNAL, 1),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.HTTP_CONTENT_DECODING, 0),
            (pycurl.HTTP09_ALLOWED, 0),
            (pycurl.PATH_AS_IS, 1),
            (pycurl.NETRC, 0),
            (pycurl.TCP_NODELAY, 1),
            (pycurl.TIMEOUT_MS, milliseconds),
            (pycurl.CONNECTTIMEOUT_MS, milliseconds),
            (pycurl.CAINFO, certifi.where()),
            (pycurl.SSL_VERIFYPEER, 1),
            (pycurl.SSL_VERIFYHOST, 2),
            (pycurl.SSL_CIPHER_LIST, _TLS_CIPHERS),
            (pycurl.PROXY, proxy),  # set even when empty, so that the environment is ignored
            (pycurl.NOPROXY, "" if proxy else "*"),
            (_SUPPRESS_CONNECT_HEADERS, 1),
            (_DISALLOW_USERNAME_IN_URL, 1),
            (pycurl.HEADERFUNCTION, self._take_header_line),
            (pycurl.WRITEFUNCTION, self._take_body),
        ):
            curl.setopt(option, value)
        self._why_refused = why_refused
        self._flooding_networks = flooding_networks
        if checks_addresses and not proxy:  # with a proxy, only its address is connected to, which the user chose
            curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        self._request: HttpRequest
        self._has_connect_to = False
        self._opened: list[socket.socket] = []  # pycurl duplicates their descriptors

    def begin(self, request: HttpRequest) -> None:
        self._request = request
        self._header_lines: list[bytes] = []
        self._status, self._reason, self._http_version = 0, "", "1.1"
        self._headers: Headers = ()
        self._body = bytearray()  # a list would keep an object per chunk of a body that arrives byte by byte
        self._bytes_left = 0
        self._is_start_checked = self._is_truncated = self._is_stopped = False
        self._refused = ""
        self._addresses_tried = 0
        self._is_address_busy = self._is_out_of_files = False
        self.curl.setopt(pycurl.URL, request.url.encode("utf-8", "replace"))
        self.curl.setopt(pycurl.HTTPHEADER, request.headers)
        if request.connect_to:
            self.curl.setopt(pycurl.CONNECT_TO, [request.connect_to])
            self._has_connect_to = True
        elif self._has_connect_to:
            self.curl.unsetopt(pycurl.CONNECT_TO)
            self._has_connect_to = False

    def end(self) -> None:
        while self._opened:
            self._opened.pop().close()

    def received(self, error: int, message: str) -> HttpResponse:
        return HttpResponse(
            error=0 if self._is_stopped else error,
            message="" if self._is_stopped or not error else _describe_error(error, message),
            refused=self._refused if error else "",
            is_address_busy=self._is_address_busy and bool(error),
            is_out_of_files=bool(error) and self._is_out_of_files_error(error),
            status=self._status,
            reason=self._reason,
            http_version=self._http_version,
            headers=self._headers,
            body=bytes(self._body),
            is_truncated=self._is_truncated,
            address=self.curl.getinfo(pycurl.PRIMARY_IP) or "",
            elapsed=self.curl.getinfo(pycurl.TOTAL_TIME),
        )

    def _is_out_of_files_error(self, error: int) -> bool:
        if self._is_out_of_files or self.curl.getinfo(pycurl.OS_ERRNO) in _OUT_OF_FILES:
            return True
        return error in _MAYBE_OUT_OF_FILES and not _can_open_file()

    def _take_header_line(self, line: bytes) -> int | None:
        if self._status >= 200:  # a trailer after the body
            return None
        if line not in (b"\r\n", b"\n"):
            self._header_lines.append(line)
            return None
        self._status, self._reason, self._http_version, self._headers = _parse_head(self._header_lines)
        self._header_lines = []
        if self._status < 200:
            return None
        self._bytes_left = self._request.bytes_wanted(self._status, self._headers)
        self._is_stopped = self._bytes_left <= 0
        return _STOP if self._is_stopped else None

    def _take_body(self, data: bytes) -> int | None:
        if len(data) > self._bytes_left:
            self._body += data[: self._bytes_left]
            self._is_truncated = self._is_stopped = True
            return _STOP
        self._body += data
        self._bytes_left -= len(data)
        if not self._is_start_checked:
            self._is_start_checked = True
            self._is_stopped = not self._request.is_wanted(self._headers, data)
        return _STOP if self._is_stopped else None

    def _open_socket(
        self, _purpose: int, socket_address: tuple[int, int, int, tuple[str, int]]
    ) -> "socket.socket | int":
        family, socket_type, protocol, (address, port, *_) = socket_address
        if (address, port) != self._request.exempt:
            is_ip = family in (socket.AF_INET, socket.AF_INET6)
            why = (self._why_refused(address) if self._why_refused else None) if is_ip else "not an IP address"
            if not why and network_of(address) in self._flooding_networks:
                why = "that of a server that sent TLS messages without end"
            if why:
                self._refused = f"{address} is {why}"
                refusal: int = pycurl.SOCKET_BAD
                return refusal
        not_opened: int = pycurl.SOCKET_BAD
        if self._request.may_connect is not None and not self._request.may_connect(address):
            self._is_address_busy = True
            return not_opened
        self._addresses_tried += 1
        if self._addresses_tried > _MAX_ADDRESSES:  # DNS may return thousands
            return not_opened
        try:
            opened = socket.socket(family, socket_type, protocol)
        except OSError as error:
            self._is_out_of_files = error.errno in _OUT_OF_FILES
            return not_opened
        self._opened.append(opened)
        return opened


class Transfers:
    """Runs any number of requests at a time on one event loop, over a pool of connections.

    checks_addresses: whether addresses are checked before connecting.
    """

    def __init__(self, *, timeout: float, why_refused: WhyRefused | None, proxy: str, checks_addresses: bool):
        self._descriptors: set[int] = set()  # of connections; some may be closed
        self._stalled_calls = StalledCalls(self._descriptors)
        self._new_transfer = partial(
            _Transfer, timeout=timeout, why_refused=why_refused, proxy=proxy, checks_addresses=checks_addresses
        )
        self._idle: list[_Transfer] = []
        self._running: dict[pycurl.Curl, asyncio.Future[tuple[int, str]]] = {}
        self._connections: dict[str, _KeptConnection] = {}  # by origin
        self._origins_at: dict[str, dict[str, None]] = {}  # by address: its origins, oldest first
        self._requests: dict[pycurl.Curl, HttpRequest] = {}  # of the transfers that run
        self._watched: dict[int, int] = {}  # file descriptor -> what curl waits for on it
        self._timer: asyncio.Handle | None = None
        self._multi: pycurl.CurlMulti | None = None
        self._loop: asyncio.AbstractEventLoop
        self._closed = False

    async def run(self, request: HttpRequest) -> HttpResponse:
        if self._closed:
            return HttpResponse(error=pycurl.E_ABORTED_BY_CALLBACK, message="the crawler has hung up")
        multi = self._multi or self._start()
        transfer = self._idle.pop() if self._idle else self._new_transfer(self._stalled_calls.networks)
        done: asyncio.Future[tuple[int, str]] = self._loop.create_future()
        origin = origin_of(request.url)
        if origin.startswith("https:"):
            self._stalled_calls.start()
        try:
            transfer.begin(request)
            self._drop_if_unsolicited(origin)
            multi.add_handle(transfer.curl)
            self._running[transfer.curl] = done
            self._requests[transfer.curl] = request
            error, message = await done
            return transfer.received(error, message)
        except pycurl.error as rejection:  # an option rejected by libcurl
            return HttpResponse(error=rejection.args[0], message=str(rejection.args[-1]))
        finally:
            self._requests.pop(transfer.curl, None)
            if self._running.pop(transfer.curl, None) is not None:  # cancelled, or not started
                self._remove(multi, transfer.curl)
            transfer.end()
            if self._closed or len(self._idle) >= _MAX_IDLE_TRANSFERS:
                transfer.curl.close()
            else:
                self._idle.append(transfer)

    def close(self) -> None:
        """Ends all transfers and connections."""
        self._closed = True
        for curl, done in self._running.items():
            if self._multi is not None:
                self._remove(self._multi, curl)
            if not done.done():
                done.set_result((pycurl.E_ABORTED_BY_CALLBACK, "the crawler has hung up"))
        self._running.clear()
        while self._idle:
            self._idle.pop().curl.close()
        if self._multi is not None:
            with self._stalled_calls:
                self._multi.close()
            self._multi = None
        self._stalled_calls.stop()
        if self._timer is not None:
            self._timer.cancel()
        for descriptor in list(self._watched):
            self._watch(pycurl.POLL_REMOVE, descriptor, None, None)

    def _start(self) -> pycurl.CurlMulti:
        self._loop = asyncio.get_running_loop()
        self._multi = multi = pycurl.CurlMulti()
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        multi.setopt(pycurl.M_MAXCONNECTS, min(_MAX_KEPT_CONNECTIONS, max_open_files() // 4))
        return multi

    def _watch(self, event: int, descriptor: int, _multi: object, _data: object) -> None:
        """CURLMOPT_SOCKETFUNCTION: libcurl asks to be called when a socket is ready."""
        if event == pycurl.POLL_REMOVE:
            event = 0
        previous_event = self._watched.pop(descriptor, 0)
        if event:
            self._watched[descriptor] = event
            self._descriptors.add(descriptor)
        for flag, add, remove, ready in (
            (pycurl.POLL_IN, self._loop.add_reader, self._loop.remove_reader, pycurl.CSELECT_IN),
            (pycurl.POLL_OUT, self._loop.add_writer, self._loop.remove_writer, pycurl.CSELECT_OUT),
        ):
            if event & flag and not previous_event & flag:
                add(descriptor, self._socket_action, descriptor, ready)
            elif previous_event & flag and not event & flag:
                remove(descriptor)

    def _set_timer(self, milliseconds: int) -> None:
        """CURLMOPT_TIMERFUNCTION: libcurl asks to be called after a time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if milliseconds == 0:
            self._timer = self._loop.call_soon(self._socket_action, pycurl.SOCKET_TIMEOUT, 0)
        elif milliseconds > 0:
            self._timer = self._loop.call_later(milliseconds / 1000, self._socket_action, pycurl.SOCKET_TIMEOUT, 0)

    def _socket_action(self, descriptor: int, ready: int) -> None:
        if self._multi is None:
            return
        with self._stalled_calls:
            _, running = self._multi.socket_action(descriptor, ready)
        if running < len(self._running):
            self._finish_all_done()

    def _finish_all_done(self) -> None:
        assert self._multi is not None
        waiting = 1
        while waiting:
            waiting, succeeded, failed = self._multi.info_read()
            for curl in succeeded:
                self._finish(curl, 0, "")
            for curl, error, message in failed:
                self._finish(curl, error, message)

    def _finish(self, curl: pycurl.Curl, error: int, message: str) -> None:
        assert self._multi is not None
        request = self._requests.pop(curl, None)
        if request is not None:
            address = "" if request.exempt is not None else curl.getinfo(pycurl.PRIMARY_IP) or ""
            self._remember_connection(
                origin_of(request.url),
                _KeptConnection(curl.getinfo(pycurl.LASTSOCKET), curl.getinfo(pycurl.LOCAL_PORT), address),
            )
        self._remove(self._multi, curl)
        done = self._running.pop(curl)
        if not done.done():
            done.set_result((error, message))

    def _remove(self, multi: pycurl.CurlMulti, curl: pycurl.Curl) -> None:
        with self._stalled_calls:  # libcurl may read until the server has closed the connection, too
            multi.remove_handle(curl)

    def _remember_connection(self, origin: str, connection: _KeptConnection) -> None:
        """Remembers the connection of an origin if it is still open; closes the oldest one if its address has many."""
        self._forget_connection(origin)
        if connection.descriptor < 0:
            return
        self._connections[origin] = connection
        if len(self._connections) > 2 * _MAX_KEPT_CONNECTIONS:
            self._forget_connection(next(iter(self._connections)))
        if connection.address:
            origins = self._origins_at.setdefault(connection.address, {})
            origins[origin] = None
            if len(origins) > _MAX_KEPT_PER_ADDRESS:
                _shut_down(self._forget_connection(next(iter(origins))))

    def _forget_connection(self, origin: str) -> _KeptConnection | None:
        connection = self._connections.pop(origin, None)
        if connection is not None and connection.address:
            origins = self._origins_at[connection.address]
            origins.pop(origin, None)
            if not origins:
                del self._origins_at[connection.address]
        return connection

    def _drop_if_unsolicited(self, origin: str) -> None:
        """Closes the kept connection of an origin if unsolicited data has arrived on it. It would be taken for the
        response to the next request, because libcurl checks only connections that were idle for long."""
        connection = self._forget_connection(origin)
        if connection is not None and _is_readable(connection.descriptor):
            _shut_down(connection)


def _shut_down(connection: _KeptConnection | None) -> None:
    """Shuts down a connection of libcurl, which will notice when it uses it, and open another."""
    if connection is None:
        return
    with suppress(OSError), socket.fromfd(connection.descriptor, socket.AF_INET, socket.SOCK_STREAM) as duplicate:
        if duplicate.getsockname()[1] == connection.port:  # otherwise, the descriptor has been reused
            duplicate.shutdown(socket.SHUT_RDWR)


def _is_readable(descriptor: int) -> bool:
    if not hasattr(select, "poll"):  # Windows
        return False
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _describe_error(error: int, message: str) -> str:
    """What went wrong, for people: without numbers of OpenSSL, and times in seconds.

    >>> _describe_error(pycurl.E_SSL_CONNECT_ERROR, "TLS connect error: error:0A00010B:SSL routines::wrong version")
    'TLS error: wrong version'
    >>> _describe_error(pycurl.E_OPERATION_TIMEDOUT, "Operation timed out after 10002 milliseconds")
    'Operation timed out after 10 s'
    """
    reason = _MESSAGES.get(error) or message or f"curl error {error}"
    if error in _TLS_ERRORS:
        return f"TLS error: {_OPENSSL_CODE.sub('', reason)}"
    return _MILLISECONDS.sub(lambda found: f"{int(found[1]) / 1000:.1f}".removesuffix(".0") + " s", reason)


def _parse_head(lines: list[bytes]) -> tuple[int, str, str, Headers]:
    """Status, reason, HTTP version and headers of one header block; status 0 if the status line is invalid."""
    if not lines:
        return 0, "", "1.1", ()
    version, _, rest = lines[0].decode("latin-1").strip().partition(" ")
    code, _, reason = rest.strip().partition(" ")
    headers: list[tuple[str, str]] = []
    for line in lines[1:]:
        text = line.decode("latin-1").rstrip("\r\n")
        if text[:1] in (" ", "\t") and headers:  # a folded line continues the previous value
            name, value = headers[-1]
            headers[-1] = (name, f"{value} {text.strip()}")
            continue
        name, colon, value = text.partition(":")
        if colon:
            headers.append((name.strip(), value.strip()))
    status = int(code) if len(code) == 3 and code.isascii() and code.isdigit() else 0
    return status, reason.strip(), version.partition("/")[2] or "1.1", tuple(headers)


def _can_open_file() -> bool:
    try:
        os.close(os.dup(2))
    except OSError as error:
        return error.errno not in _OUT_OF_FILES
    return True


def max_open_files() -> int:
    """The limit of open files of this process."""
    if resource is None:
        return sys.maxsize
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return limit if limit >= 0 else sys.maxsize  # negative for no limit
