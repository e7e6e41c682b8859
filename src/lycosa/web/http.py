"""The live web, over HTTP/1.1 and TLS."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from ipaddress import ip_address

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.hosts import is_private, why_not_public, why_not_public_address
from lycosa.vocabulary.personal_headers import without_secrets
from lycosa.vocabulary.records import Fetch, Host, Outcome, PastFetch, Url
from lycosa.vocabulary.text import whole_number
from lycosa.vocabulary.urls import host_of, hostname_of, port_of

from .encodings import decoded
from .outcomes import Headers, classify, header, is_html, is_page_status, looks_like_html
from .transfers import TIMED_OUT, HttpRequest, HttpResponse, Transfers, WhyRefused, max_open_files

_RESERVED_FILES = 64  # file descriptors of a crawl other than connections
_FILES_PER_FETCH = 4  # the connection, its duplicate, a parallel attempt, and a kept-alive connection
_OUT_OF_FILES_DELAY = 1.0  # seconds until a fetch is retried that found no free file descriptor
_MAX_ERROR_BODY = 65_536  # bytes of the body of an error or redirect that are read to keep the connection alive
_ACCEPT_PAGE = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.1"
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
_PORT_AT_END = re.compile(r":[0-9]+$")
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


def curl_connect_to(entry: str) -> str:
    """The entry of CURLOPT_CONNECT_TO for `HOST=ADDR:PORT` or `*=ADDR:PORT`.

    >>> curl_connect_to("a.example=127.0.0.1:8080")
    'a.example::127.0.0.1:8080'
    """
    host, address, port = _parse_resolve(entry)
    return f"{'' if host == '*' else _bracketed(host)}::{_bracketed(address)}:{port}"


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _parse_resolve(entry: str) -> tuple[str, str, int]:
    """The host, address and port of `HOST=ADDR:PORT`; UsageError if it is not written so."""
    host, _, target = entry.strip().rpartition("=")
    address, _, port = target.rpartition(":")
    host = host.strip().lower().removeprefix("[").removesuffix("]")
    if _PORT_AT_END.search(host) and host.count(":") == 1:
        raise UsageError(
            f"--resolve {entry!r}: write the host without its port, as in "
            f"{host.partition(':')[0] + '=' + target.strip()!r}; all of its ports are reached there"
        )
    if "*" in host and host != "*":
        raise UsageError(
            f"--resolve {entry!r}: * means every host and cannot be part of a name; name each host, "
            f"or write {'*=' + target.strip()!r}"
        )
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


def _refusal_rule(allow_private: bool, allow_public: bool) -> WhyRefused | None:
    """A function that says why an address is refused; None if all are allowed."""
    if allow_private and allow_public:
        return None

    def why(address: str) -> str | None:
        reason = why_not_public_address(address)
        if reason is None:
            return None if allow_public else "public, and no contact is given"
        return None if allow_private else reason

    return why


class LiveWeb:
    """Requests pages over HTTP, within limits of time and size, by default from public addresses only.

    `allow_private` adds private addresses; without `allow_public`, for want of a contact, public ones are refused.

    Addresses are checked when a socket is opened, so that the spelling in a URL, a redirect or a DNS record does not
    matter. Hosts in `resolve` are at an address of the user's choice, which may be private.

    may_connect: whether an address, which hosts may share, has a free slot; if not, the fetch is postponed. Called when
        a socket is opened, since the address is not known before.
    on_out_of_files: called when a fetch is postponed because the limit of open files is reached.
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
        on_out_of_files: Callable[[], None] = lambda: None,
    ):
        self._clock = clock
        self._max_body = max_body
        self._has_proxy = bool(proxy)
        self._checks_names = bool(proxy) and not allow_private  # with a proxy, there is no socket to check
        self._resolved = {  # by host: an entry of CURLOPT_CONNECT_TO, and the address and port, which need no check
            host: (f"::{_bracketed(address)}:{port}", (address, port))
            for host, address, port in map(_parse_resolve, resolve)
        }
        fixed_headers = [("User-Agent", user_agent), ("Accept-Encoding", "gzip, deflate, br, zstd"), *headers.items()]
        if cookies:
            fixed_headers.append(("Cookie", cookies))
        for name, value in fixed_headers:
            if not _HEADER_NAME.fullmatch(name) or not value.strip() or _UNSENDABLE_VALUE.search(value):
                raise UsageError(f'cannot send the header {name!r}: {value!r}; write it as NAME = "value" on one line')
        if proxy and not _PROXY.fullmatch(proxy):
            raise UsageError(f"cannot use the proxy {proxy!r}; write it as http://HOST:PORT")
        self._fixed_headers = tuple(fixed_headers)
        self._fixed_names = {name.lower() for name, _ in fixed_headers}
        self._may_connect = may_connect
        self._on_out_of_files = on_out_of_files
        why_refused = _refusal_rule(allow_private, allow_public)
        self._transfers = Transfers(
            timeout=timeout,
            why_refused=why_refused,
            proxy=proxy or "",
            checks_addresses=why_refused is not None or may_connect is not None,
        )

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        """One request for a page, without following redirects; every failure is an outcome."""
        return await self._request(url, known, self._max_body, any_type=False)

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
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
        if self._checks_names and is_private(name := hostname_of(url)):
            return Fetch(url, Outcome.REFUSED, at, detail=f"{name} is {why_not_public(name)}")
        request_headers = self._request_headers(url, known, any_type)
        connect_to, exempt = self._resolved.get(hostname_of(url).lower()) or self._resolved.get("*") or (None, None)

        def bytes_wanted(status: int, headers: Headers) -> int:
            if is_page_status(status):
                content_type = header(headers, "content-type")
                return limit if any_type or not content_type or is_html(content_type) else 0
            length = header(headers, "content-length")
            is_number = length.isascii() and length.isdigit()
            return 0 if is_number and whole_number(length, maximum=_MAX_ERROR_BODY) is None else _MAX_ERROR_BODY

        def is_wanted(headers: Headers, start: bytes) -> bool:
            if any_type or header(headers, "content-type"):
                return True
            content, _ = decoded(start, header(headers, "content-encoding"), limit)
            return looks_like_html(content) or len(content.strip()) < 64  # too short to tell yet

        header_lines = [f"{name}: {value}".encode("latin-1", "replace") for name, value in request_headers]
        may_connect = partial(self._may_connect, host_of(url)) if self._may_connect is not None else None
        request = HttpRequest(url, header_lines, bytes_wanted, is_wanted, connect_to, exempt, may_connect)
        response = await self._transfers.run(request)
        return self._fetch_of(
            url, at, request_headers, response, limit, any_type=any_type, conditional=known is not None
        )

    def _request_headers(self, url: Url, known: PastFetch | None, any_type: bool) -> Headers:
        request_headers: list[tuple[str, str]] = [] if "host" in self._fixed_names else [("Host", host_of(url))]
        if "accept" not in self._fixed_names:
            request_headers.append(("Accept", "*/*" if any_type else _ACCEPT_PAGE))
        request_headers.extend(self._fixed_headers)
        if known is not None:
            for name, value in (("If-None-Match", known.etag), ("If-Modified-Since", known.last_modified)):
                if value.strip() and not _UNSENDABLE_VALUE.search(value):
                    request_headers.append((name, value))
        return tuple(request_headers)

    def _fetch_of(
        self,
        url: Url,
        at: float,
        request_headers: Headers,
        response: HttpResponse,
        limit: int,
        *,
        any_type: bool,
        conditional: bool,
    ) -> Fetch:
        def fetch(outcome: Outcome, **more: object) -> Fetch:
            return Fetch(
                url,
                outcome,
                at,
                status=response.status or None,
                reason=response.reason,
                http_version=response.http_version,
                headers=response.headers,
                request_headers=without_secrets(request_headers),
                address="" if self._has_proxy else response.address,  # which would be that of the proxy
                elapsed=response.elapsed,
                **more,  # type: ignore[arg-type]  # keywords of Fetch
            )

        if response.error and response.refused:
            return fetch(Outcome.REFUSED, detail=response.refused)
        if response.is_address_busy:
            return fetch(Outcome.POSTPONED, detail="other hosts on its address are asked first")
        if response.is_out_of_files:
            self._on_out_of_files()
            until = self._clock.now() + _OUT_OF_FILES_DELAY
            return fetch(Outcome.POSTPONED, host_not_before=until, detail="this process may not open more files")
        timed_out_in_body = response.error == TIMED_OUT and response.status >= 200  # a body truncated by the timeout
        if (response.error and not timed_out_in_body) or response.status < 200:
            return fetch(Outcome.FAILED, detail=response.message or "the answer is not HTTP")
        content, is_truncated = b"", response.is_truncated
        if is_page_status(response.status):
            content, is_content_truncated = decoded(response.body, header(response.headers, "content-encoding"), limit)
            is_truncated = is_truncated or is_content_truncated
            if timed_out_in_body and not content:
                return fetch(Outcome.FAILED, detail=response.message)
        classification = classify(
            url,
            response.status,
            response.reason,
            response.headers,
            now=self._clock.now(),
            start=content,
            any_type=any_type,
        )
        if classification.outcome is Outcome.UNCHANGED and not conditional:
            return fetch(Outcome.FAILED, detail="HTTP 304 to a request without conditions")
        if classification.outcome is Outcome.UNWANTED:
            return fetch(Outcome.UNWANTED, detail=classification.detail)
        return fetch(
            classification.outcome,
            body=response.body,
            content=content,
            truncated="length" if is_truncated else "time" if timed_out_in_body else "",
            location=classification.location,
            host_not_before=classification.host_not_before,
            detail=classification.detail,
        )
