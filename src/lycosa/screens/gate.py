"""Who is answered: requests to the loopback address by a name of it, with a secret, sent by a screen of this server.

The address that `lycosa ui` prints has a token, which is exchanged for a cookie. Other sites cannot have a browser send
that cookie (SameSite=Strict), read an answer (no CORS), frame a screen (frame-ancestors, X-Frame-Options) or reach the
server by a name of their own (Host). A request that changes something needs the Origin and a second token as well,
which only the screens know.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, quote, urlencode

from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 1 << 20  # bytes of a request
FORM = "lycosa.form"  # key of the scope: the fields of the body
SCREEN_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
STORED_POLICY = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'"
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
_NAMES = ("127.0.0.1", "localhost", "[::1]")
_KEPT_AS_SENT = ("content-security-policy", "x-frame-options", "referrer-policy", "cache-control")


class Gate:
    """Wraps an application: answers what may be answered, and adds the headers that keep content from acting."""

    def __init__(self, app: ASGIApp, *, port: int, token: str = "", read_only: bool = False):
        self.token = token or secrets.token_urlsafe(32)
        self._app = app
        self._hosts = frozenset(f"{name}:{port}" for name in _NAMES) | (
            frozenset(_NAMES) if port == 80 else frozenset()
        )
        self._cookie = f"lycosa-{port}"  # cookies of all ports of a host go to each of them
        self._session = secrets.token_urlsafe(32)
        self.form_token = hmac.new(self._session.encode(), b"form", hashlib.sha256).hexdigest()
        self.is_read_only = read_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, _with_headers(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == "host"]
        fields = dict(headers)
        refusal: Response | None = None
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            refusal = PlainTextResponse("this server answers to the loopback address alone\n", 421)
        elif scope["method"] not in ("GET", "HEAD", "POST"):
            refusal = PlainTextResponse("there are GET, HEAD and POST\n", 405)
        elif (entry := self._entry(scope)) is not None:
            refusal = entry
        elif fields.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            refusal = PlainTextResponse("a page of another site asked for this\n", 403)
        else:
            is_program = self._is_program(fields)
            if not is_program and not self._has_cookie(fields):
                refusal = HTMLResponse(_CLOSED, 403)
            elif scope["method"] == "POST":
                refusal = await self._refused_post(scope, receive, fields, is_program=is_program)
        await (refusal or self._app)(scope, receive, send)

    def _entry(self, scope: Scope) -> Response | None:
        """The page that exchanges the token of an address for a cookie; None if the address has no right one."""
        if scope["method"] != "GET":
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=None)
        if not any(name == "token" and _is_same(value, self.token) for name, value in query):
            return None
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        path = "/" + scope["path"].lstrip("/\\")  # //host would be another site
        # No redirect: the browser would not send the cookie along when the address came from elsewhere.
        response = HTMLResponse(_ENTRY)
        response.headers["Refresh"] = "0; url=" + quote(path, safe="/") + (f"?{rest}" if rest else "")
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        return response

    def _is_program(self, fields: Mapping[str, str]) -> bool:
        scheme, _, value = fields.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and _is_same(value.strip(), self.token)

    def _has_cookie(self, fields: Mapping[str, str]) -> bool:
        try:
            morsel = SimpleCookie(fields.get("cookie", "")[:8_000]).get(self._cookie)
        except CookieError:
            return False
        return morsel is not None and _is_same(morsel.value, self._session)

    async def _refused_post(
        self, scope: Scope, receive: Receive, fields: Mapping[str, str], *, is_program: bool
    ) -> Response | None:
        """Why a request that changes something is refused; None if it is not, its fields being in the scope."""
        origin = fields.get("origin")
        if self.is_read_only:
            return PlainTextResponse("these screens are read-only\n", 403)
        if origin is None and not is_program:
            return PlainTextResponse("the request does not say where it comes from\n", 403)
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self._hosts}:
            return PlainTextResponse("a page of another site sent this\n", 403)
        body = await _read(receive)
        if body is None:
            return PlainTextResponse(f"more than {MAX_BODY} bytes\n", 413)
        try:
            form = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=1_000))
        except (UnicodeDecodeError, ValueError):
            return PlainTextResponse("not the fields of a form\n", 400)
        if not is_program and not _is_same(form.pop("form_token", ""), self.form_token):
            return PlainTextResponse("the form is of another time: load the screen again\n", 403)
        scope[FORM] = form
        return None


async def _read(receive: Receive) -> bytes | None:
    """The body of a request; None for one that is too long."""
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
            given = {name.lower() for name, _ in message["headers"]}
            wanted = {"Content-Security-Policy": SCREEN_POLICY, **_HEADERS}
            message["headers"] = [
                *message["headers"],
                *(
                    (name.lower().encode(), value.encode())
                    for name, value in wanted.items()
                    if name.lower() not in _KEPT_AS_SENT or name.lower().encode() not in given
                ),
            ]
        await send(message)

    return send_with_headers


def _is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


_ENTRY = '<!doctype html><html lang="en"><title>Lycosa</title><p>Opening Lycosa …</p></html>'
_CLOSED = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Lycosa</title><h1>This is a private server</h1>'
    "<p>Open the address that <code>lycosa ui</code> has printed: it has a token, and is valid as long as the server"
    " runs.</p></html>"
)
