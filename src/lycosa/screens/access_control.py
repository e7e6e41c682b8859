"""Access control of the screens: host name, secret and origin of requests, and security headers of responses.

The address that `lycosa ui` prints has a token, which is exchanged for a cookie; on addresses other than the loopback
address, a password takes the place of the token. Other sites cannot make a browser send that cookie (SameSite=Strict),
read a response (no CORS), frame a screen (frame-ancestors, X-Frame-Options) or reach the server by a name of their own
(Host). A request that changes something also needs the Origin and a second token, which only the screens know.
Published screens are public and read-only.
"""

import hashlib
import hmac
import ipaddress
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from msgspec import Struct
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lycosa.vocabulary.networks import is_address, network_of

from .fair_share import OWNER, READER

ADMITTED = "lycosa.admitted"  # key of the ASGI scope, of requests that are let through: how
ANONYMOUS, BY_SECRET = "anonymous", "by a secret"
MAX_BODY = 1 << 20  # bytes of a request
FORM = "lycosa.form"  # key of the ASGI scope: the form fields of the body
SCREEN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
STORED_PAGE_POLICY = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'"
FIGURE_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers would send no Origin with forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "X-DNS-Prefetch-Control": "off",
    "Cache-Control": "no-store",
}
LOGIN = "/login"
_MAX_FAILURES_PER_NETWORK = 5  # wrong passwords per minute and address (of IPv6, network of 64 bits), after which no
# password from it is checked
_MAX_FAILURES = 100  # the same from all networks, but for those from which somebody has logged in
_MAX_LOGGED_IN = 100  # such networks that are remembered
# those that a response may set itself
_OVERRIDABLE_HEADERS = ("content-security-policy", "x-frame-options", "referrer-policy", "cache-control")


class ScreenAccess(Struct, frozen=True):
    """The addresses of the screens, and who may use them."""

    port: int
    read_only: bool = False
    password: str = ""  # takes the place of the token in the browser
    is_remote: bool = False  # whether other machines reach the port, by numeric addresses
    public_url: str = ""  # origin by which a proxy publishes it

    @property
    def is_public(self) -> bool:
        """Whether anyone may read without a secret."""
        return bool(self.public_url) and self.read_only and not self.password

    def origins(self, host: str) -> frozenset[str]:
        """The valid origins of requests with this Host header; empty if it is not a name of this server."""
        found = set()
        name = host.removesuffix(f":{self.port}")
        if name != host or self.port == 80:  # which browsers leave out
            address = _numeric_address(name)
            if name == "localhost" or (address is not None and (self.is_remote or address.is_loopback)):
                found.add(f"http://{host}")
        if self.public_url and host == _host_of(self.public_url):
            found.add(self.public_url)
        return frozenset(found)


class AccessControl:
    """Middleware: lets permitted requests through, and adds security headers to the responses."""

    def __init__(
        self, app: ASGIApp, access: ScreenAccess, *, token: str = "", clock: Callable[[], float] = time.monotonic
    ):
        self.token = token or secrets.token_urlsafe(32)
        self.access = access
        self._app = app
        self._clock = clock
        self._cookie = f"lycosa-{access.port}"  # cookies of all ports of a host go to each of them
        self._session = secrets.token_urlsafe(32)
        self._failures: deque[tuple[float, str]] = deque(maxlen=_MAX_FAILURES)  # when, and from which network
        self._logged_in: deque[str] = deque(maxlen=_MAX_LOGGED_IN)  # networks
        self.form_token = hmac.new(self._session.encode(), b"form", hashlib.sha256).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._respond(scope, receive, _with_headers(send))

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        header_pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value.lower() for name, value in header_pairs if name == "host"]
        headers = dict(header_pairs)
        origins = self.access.origins(hosts[0]) if len(hosts) == 1 else frozenset[str]()
        response: Response | None = None  # None: the request is for the screens
        admitted = ANONYMOUS
        if not origins:
            response = PlainTextResponse("this server does not answer to that name\n", 421)
        elif scope["method"] not in ("GET", "HEAD", "POST"):
            response = PlainTextResponse("use GET, HEAD or POST\n", 405)
        elif (entry := self._entry_page(scope)) is not None:
            response = entry
        elif not self._is_same_site(headers):
            response = PlainTextResponse("a page of another site asked for this\n", 403)
        elif scope["path"] == LOGIN and self.access.password:
            response = await self._login(scope, receive, headers, origins)
        else:
            is_program = self._has_token(headers)
            admitted = BY_SECRET if is_program or self._has_cookie(headers) else ANONYMOUS
            if admitted is ANONYMOUS and not self._is_public_request(scope):
                response = self._login_or_denial(scope)
            elif scope["method"] == "POST":
                response = await self._refusal_of_post(scope, receive, headers, origins, is_program=is_program)
        if response is None:
            scope[ADMITTED] = admitted
            READER.set(OWNER if admitted is BY_SECRET else self._network(scope, headers))
        await (response or self._app)(scope, receive, send)

    def _network(self, scope: Scope, headers: Mapping[str, str]) -> str:
        """The network that a request comes from. Behind the proxy that publishes the screens, it is that of the last
        address in X-Forwarded-For, which the proxy adds."""
        address = (scope.get("client") or ("",))[0]
        forwarded = headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        if self.access.public_url and _is_loopback(address) and is_address(forwarded):
            address = forwarded
        return network_of(address)

    def _is_same_site(self, headers: Mapping[str, str]) -> bool:
        """Whether no page of another site made the request; links to public screens are allowed."""
        if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
            return True
        is_navigation = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        return self.access.is_public and is_navigation

    def _is_public_request(self, scope: Scope) -> bool:
        """Whether a request is answered without a secret: of public screens, or for the style of the login page."""
        is_style_of_login = bool(self.access.password) and scope["path"].startswith("/static/")
        return scope["method"] != "POST" and (self.access.is_public or is_style_of_login)

    def _login_or_denial(self, scope: Scope) -> Response:
        """The response to a request without a secret: the login page for people with a password, else a denial."""
        if scope["path"].startswith("/api/"):
            return JSONResponse({"error": _NO_SECRET}, 403)
        if scope["path"] == "/metrics":
            return PlainTextResponse(f"{_NO_SECRET}\n", 403)
        if self.access.password and scope["method"] == "GET":
            return RedirectResponse(LOGIN, 303)
        return HTMLResponse(_DENIED_PAGE, 403)

    async def _login(
        self, scope: Scope, receive: Receive, headers: Mapping[str, str], origins: frozenset[str]
    ) -> Response:
        """Exchanges the password for a cookie; failures per minute are limited, by network and in total."""
        if scope["method"] != "POST":
            return HTMLResponse(_login_page(""))
        if headers.get("origin", "").lower() not in origins:
            return PlainTextResponse("a page of another site sent this\n", 403)
        now, network = self._clock(), self._network(scope, headers)
        recent = [failed_network for at, failed_network in self._failures if now - at < 60.0]
        are_too_many = len(recent) >= _MAX_FAILURES and network not in self._logged_in
        if recent.count(network) >= _MAX_FAILURES_PER_NETWORK or are_too_many:
            return HTMLResponse(_login_page("Too many wrong passwords: try again in a minute."), 429)
        form = _form_of(await _read(receive))
        if form is None or not _is_equal(form.get("password", ""), self.access.password):
            self._failures.append((now, network))
            return HTMLResponse(_login_page("That is not the password."), 403)
        if network not in self._logged_in:
            self._logged_in.append(network)
        response = RedirectResponse("/", 303)
        self._set_cookie(response)
        return response

    def _set_cookie(self, response: Response) -> None:
        is_secure = self.access.public_url.startswith("https://")
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/", secure=is_secure)

    def _entry_page(self, scope: Scope) -> Response | None:
        """The page that exchanges the token in the URL for a cookie; None if the token is missing or wrong."""
        if scope["method"] != "GET":
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=None)
        if not any(name == "token" and _is_equal(value, self.token) for name, value in query):
            return None
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        path = "/" + scope["path"].lstrip("/\\")  # //host would be another site
        # No redirect: the browser would not send the cookie along when the address came from elsewhere.
        response = HTMLResponse(_ENTRY_PAGE)
        response.headers["Refresh"] = "0; url=" + quote(path, safe="/") + (f"?{rest}" if rest else "")
        self._set_cookie(response)
        return response

    def _has_token(self, headers: Mapping[str, str]) -> bool:
        scheme, _, value = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and _is_equal(value.strip(), self.token)

    def _has_cookie(self, headers: Mapping[str, str]) -> bool:
        # Unlike `http.cookies`, this parser tolerates whatever other servers on the same host set as cookies.
        return _is_equal(cookie_parser(headers.get("cookie", "")).get(self._cookie, ""), self._session)

    async def _refusal_of_post(
        self, scope: Scope, receive: Receive, headers: Mapping[str, str], origins: frozenset[str], *, is_program: bool
    ) -> Response | None:
        """Why a POST request is refused; None if it is allowed, with its form fields then in the scope."""
        origin = headers.get("origin")
        if self.access.read_only:
            return PlainTextResponse("these screens are read-only\n", 403)
        if origin is None and not is_program:
            return PlainTextResponse("the request does not say where it comes from\n", 403)
        if origin is not None and origin.lower() not in origins:
            return PlainTextResponse("a page of another site sent this\n", 403)
        body = await _read(receive)
        if body is None:
            return PlainTextResponse(f"more than {MAX_BODY} bytes\n", 413)
        form = _form_of(body)
        if form is None:
            return PlainTextResponse("the body is not a form\n", 400)
        if not is_program and not _is_equal(form.pop("form_token", ""), self.form_token):
            return PlainTextResponse("the form is out of date: load the screen again\n", 403)
        scope[FORM] = form
        return None


def _numeric_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that the name in a Host header is; None for other names, which could be rebound to this server."""
    try:
        if name.startswith("[") and name.endswith("]"):
            return ipaddress.IPv6Address(name[1:-1])
        return ipaddress.IPv4Address(name)
    except ValueError:
        return None


def _is_loopback(address: str) -> bool:
    return is_address(address) and ipaddress.ip_address(address).is_loopback


def _host_of(origin: str) -> str:
    return urlsplit(origin).netloc.lower()


def _form_of(body: bytes | None) -> dict[str, str] | None:
    """The fields of a form; None if the body is not a form."""
    try:
        return None if body is None else dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=1_000))
    except (UnicodeDecodeError, ValueError):
        return None


async def _read(receive: Receive) -> bytes | None:
    """The body of a request; None if it is too long."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            return None
        if not message.get("more_body"):
            return bytes(body)


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            added = {"Content-Security-Policy": SCREEN_POLICY, **_HEADERS}
            message["headers"] = [
                *message["headers"],
                *(
                    (name.lower().encode(), value.encode())
                    for name, value in added.items()
                    if name.lower() not in _OVERRIDABLE_HEADERS or name.lower().encode() not in present
                ),
            ]
        await send(message)

    return send_with_headers


def _is_equal(one: str, other: str) -> bool:
    """Whether two secrets are equal, compared in constant time."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


_NO_SECRET = "this is a private server: send the token that lycosa ui has printed, as Authorization: Bearer TOKEN"
_ENTRY_PAGE = (
    '<!doctype html><html lang="en"><title>Lycosa</title><link rel="icon" href="/static/icon.svg" type="image/svg+xml">'
    "<p>Opening Lycosa …</p></html>"
)
_DENIED_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Lycosa</title><h1>This is a private server</h1>'
    "<p>Open the address that <code>lycosa ui</code> has printed: it has a token, and is valid as long as the server"
    " runs.</p></html>"
)


def _login_page(problem: str) -> str:
    alert = f'<p class="notice" role="alert">{problem}</p>' if problem else ""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Lycosa</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<link rel="stylesheet" href="/static/screens.css"><main><h1>Lycosa</h1>{alert}'
        f'<form class="form" method="post" action="{LOGIN}"><label>Password '
        '<input type="password" name="password" required autofocus autocomplete="current-password"></label>'
        "<button>Open</button></form></main></html>"
    )
