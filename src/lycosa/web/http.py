"""The live web, over HTTP/1.1 and TLS."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from ipaddress import ip_address

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.hosts import is_private, why_not_public, why_not_public_address
from lycosa.vocabulary.records import Fetch, Host, Outcome, PastFetch, Url
from lycosa.vocabulary.text import whole_number
from lycosa.vocabulary.urls import host_of, hostname_of, port_of

from .encodings import decoded
from .outcomes import Headers, classify, header, is_html, is_page_status, looks_like_html
from .transfers import TIMED_OUT, HttpRequest, HttpResponse, Refuses, Transfers, max_open_files

_RESERVED_FILES = 64  # file descriptors of a crawl other than connections
_FILES_PER_FETCH = 4  # the connection, its duplicate, a parallel attempt, and a kept-alive connection
_FILES_DELAY = 1.0  # seconds until a fetch is retried that found no free file descriptor
_MAX_DRAINED = 65_536  # bytes of the body of an error or redirect that are read to keep the connection alive
_ACCEPT_PAGE = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1"
_SECRET = frozenset(("cookie", "authorization"))  # sent, but not archived
# Ports of other protocols, whose servers may take a request for commands: https://fetch.spec.whatwg.org/#port-blocking
_BAD_PORTS = frozenset(
    (
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
        104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
        515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
        2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    )
)  # fmt: skip
_UNSENDABLE = re.compile(r"[\x00-\x20\x7f]")  # in a URL
_UNSENDABLE_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|[^\x00-\xff]")  # in a header
_PROXY = re.compile(r"(?:(?:https?|socks[45][ah]?)://)?[^/\s]+/?", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


def user_agent(version: str, contact: str) -> str:
    """The User-Agent header: name and version, a page about Lycosa, and the contact of its user."""
    contact_part = f"; {contact}" if contact else ""
    return f"lycosa/{version} (+https://github.com/lycosa/lycosa{contact_part})"


def max_fetches() -> int:
    """The number of concurrent fetches that the limit of open files allows.

    >>> max_fetches() >= 1
    True
    """
    return max(1, (max_open_files() - _RESERVED_FILES) // _FILES_PER_FETCH)


def connect_to(entry: str) -> str:
    """The entry of CURLOPT_CONNECT_TO for `HOST=ADDR:PORT` or `*=ADDR:PORT`.

    >>> connect_to("a.example=127.0.0.1:8080")
    'a.example::127.0.0.1:8080'
    """
    host, address, port = _resolve_entry(entry)
    return f"{'' if host == '*' else _bracketed(host)}::{_bracketed(address)}:{port}"


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _resolve_entry(entry: str) -> tuple[str, str, int]:
    host, _, place = entry.strip().rpartition("=")
    address, _, port = place.rpartition(":")
    host = host.strip().lower().removeprefix("[").removesuffix("]")
    try:
        address = str(ip_address(address.strip().removeprefix("[").removesuffix("]")))
        number = whole_number(port, maximum=65_535)
        if not host or _UNSENDABLE.search(host) or "/" in host or not number:
            raise ValueError
    except ValueError:
        raise UsageError(
            f"cannot read --resolve {entry!r}; write HOST=ADDR:PORT or *=ADDR:PORT with ADDR an IP address, "
            "for example 'www.example.org=127.0.0.1:8080' or '*=[::1]:8080'"
        ) from None
    return host, address, number


def _refuses(allow_private: bool, allow_public: bool) -> Refuses | None:
    """A function that says why an address is refused; None if all are allowed."""
    if allow_private and allow_public:
        return None

    def why(address: str) -> str | None:
        kind = why_not_public_address(address)
        if kind is None:
            return None if allow_public else "public, and no contact is given"
        return None if allow_private else kind

    return why


class LiveWeb:
    """Requests pages over HTTP, within limits of time and size, from public addresses only.

    Addresses are checked when a socket is opened, so that the spelling in a URL, a redirect or a DNS record does not
    matter. Hosts in `resolve` are at an address of the user's choice, which may be private.

    may_connect: whether an address, which hosts may share, has a free slot; if not, the fetch is postponed. Called when
        a socket is opened, since the address is not known before.
    lacks_files: called when a fetch is postponed because the limit of open files is reached.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        clock: Clock,
        timeout: float = 10.0,  # seconds for a whole request
        max_body: int = 1_000_000,  # bytes, before and after decoding
        allow_private: bool = False,
        allow_public: bool = True,  # False without a contact
        resolve: Sequence[str] = (),  # 'HOST=ADDR:PORT' or '*=ADDR:PORT'
        proxy: str | None = None,
        headers: Mapping[str, str] = {},
        cookies: str | None = None,
        may_connect: Callable[[Host, str], bool] | None = None,
        lacks_files: Callable[[], None] = lambda: None,
    ):
        self._clock = clock
        self._max_body = max_body
        self._judges_names = bool(proxy) and not allow_private  # with a proxy, there is no socket to check
        self._resolved = {
            host: (f"::{_bracketed(address)}:{port}", (address, port))
            for host, address, port in map(_resolve_entry, resolve)
        }
        fixed = [("User-Agent", user_agent), ("Accept-Encoding", "gzip, deflate, br, zstd"), *headers.items()]
        if cookies:
            fixed.append(("Cookie", cookies))
        for name, value in fixed:
            if not _HEADER_NAME.fullmatch(name) or not value.strip() or _UNSENDABLE_VALUE.search(value):
                raise UsageError(f'cannot send the header {name!r}: {value!r}; write it as NAME = "value" on one line')
        if proxy and not _PROXY.fullmatch(proxy):
            raise UsageError(f"cannot use the proxy {proxy!r}; write it as http://HOST:PORT")
        self._fixed_headers = tuple(fixed)
        self._fixed_names = {name.lower() for name, _ in fixed}
        self._may_connect = may_connect
        self._lacks_files = lacks_files
        refuses = _refuses(allow_private, allow_public)
        self._transfers = Transfers(
            timeout=timeout,
            refuses=refuses,
            proxy=proxy or "",
            judges=refuses is not None or may_connect is not None,
        )

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        """One request for a page, without following redirects; every failure is an outcome."""
        return await self._request(url, known, self._max_body, any_type=False)

    async def fetch_text(self, url: Url, *, limit: int = 512_000) -> Fetch:
        """One request for content of any type, of which at most `limit` bytes are read."""
        return await self._request(url, None, limit, any_type=True)

    async def close(self) -> None:
        self._transfers.close()

    async def _request(self, url: Url, known: PastFetch | None, limit: int, *, any_type: bool) -> Fetch:
        at = self._clock.now()
        if not url.startswith(("http://", "https://")) or _UNSENDABLE.search(url):
            return Fetch(url, Outcome.FAILED, at, detail="not a URL that can be fetched")
        if (port := port_of(url)) in _BAD_PORTS:
            return Fetch(url, Outcome.REFUSED, at, detail=f"port {port} is of another protocol than HTTP")
        if self._judges_names and is_private(name := hostname_of(url)):
            return Fetch(url, Outcome.REFUSED, at, detail=f"{name} is {why_not_public(name)}")
        sent = self._request_headers(url, known, any_type)
        where, permitted = self._resolved.get(hostname_of(url).lower()) or self._resolved.get("*") or (None, None)

        def bytes_wanted(status: int, headers: Headers) -> int:
            if is_page_status(status):
                content_type = header(headers, "content-type")
                return limit if any_type or not content_type or is_html(content_type) else 0
            length = header(headers, "content-length")
            is_number = length.isascii() and length.isdigit()
            return 0 if is_number and whole_number(length, maximum=_MAX_DRAINED) is None else _MAX_DRAINED

        def is_wanted(headers: Headers, start: bytes) -> bool:
            if any_type or header(headers, "content-type"):
                return True
            content, _ = decoded(start, header(headers, "content-encoding"), limit)
            return looks_like_html(content) or len(content.strip()) < 64  # too short to tell yet

        lines = [f"{name}: {value}".encode("latin-1", "replace") for name, value in sent]
        may_connect = partial(self._may_connect, host_of(url)) if self._may_connect is not None else None
        request = HttpRequest(url, lines, bytes_wanted, is_wanted, where, permitted, may_connect)
        received = await self._transfers.run(request)
        return self._fetch_of(url, at, sent, received, limit, any_type=any_type, conditional=known is not None)

    def _request_headers(self, url: Url, known: PastFetch | None, any_type: bool) -> Headers:
        sent: list[tuple[str, str]] = [] if "host" in self._fixed_names else [("Host", host_of(url))]
        if "accept" not in self._fixed_names:
            sent.append(("Accept", "*/*" if any_type else _ACCEPT_PAGE))
        sent.extend(self._fixed_headers)
        if known is not None:
            for name, value in (("If-None-Match", known.etag), ("If-Modified-Since", known.last_modified)):
                if value.strip() and not _UNSENDABLE_VALUE.search(value):
                    sent.append((name, value))
        return tuple(sent)

    def _fetch_of(
        self, url: Url, at: float, sent: Headers, got: HttpResponse, limit: int, *, any_type: bool, conditional: bool
    ) -> Fetch:
        def fetch(outcome: Outcome, **more: object) -> Fetch:
            return Fetch(
                url,
                outcome,
                at,
                status=got.status or None,
                reason=got.reason,
                http_version=got.http_version,
                headers=got.headers,
                request_headers=tuple(pair for pair in sent if pair[0].lower() not in _SECRET),
                address=got.address,
                elapsed=got.elapsed,
                **more,  # type: ignore[arg-type]  # keywords of Fetch
            )

        if got.error and got.refused:
            return fetch(Outcome.REFUSED, detail=got.refused)
        if got.is_address_busy:
            return fetch(Outcome.POSTPONED, detail="other hosts on its address are asked first")
        if got.lacks_files:
            self._lacks_files()
            until = self._clock.now() + _FILES_DELAY
            return fetch(Outcome.POSTPONED, host_not_before=until, detail="this process may not open more files")
        late = got.error == TIMED_OUT and got.status >= 200  # a body truncated by the timeout
        if (got.error and not late) or got.status < 200:
            return fetch(Outcome.FAILED, detail=got.message or "the answer is not HTTP")
        content, cut = b"", got.cut
        if is_page_status(got.status):
            content, cut_decoding = decoded(got.body, header(got.headers, "content-encoding"), limit)
            cut = cut or cut_decoding
            if late and not content:
                return fetch(Outcome.FAILED, detail=got.message)
        verdict = classify(
            url, got.status, got.reason, got.headers, now=self._clock.now(), start=content, any_type=any_type
        )
        if verdict.outcome is Outcome.UNCHANGED and not conditional:
            return fetch(Outcome.FAILED, detail="HTTP 304 to a request without conditions")
        if verdict.outcome is Outcome.UNWANTED:
            return fetch(Outcome.UNWANTED, detail=verdict.detail)
        return fetch(
            verdict.outcome,
            body=got.body,
            content=content,
            truncated="length" if cut else "time" if late else "",
            location=verdict.location,
            host_not_before=verdict.host_not_before,
            detail=verdict.detail,
        )
