"""The routes of the screens: each reads its parameters, has a view made in a thread, and draws or sends it."""

import asyncio
import math
import re
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import anyio
import jinja2
import msgspec
from anyio.to_thread import run_sync
from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from lycosa import __version__
from lycosa.run.control import label_pages
from lycosa.run.open import bring_index_up_to_date
from lycosa.run.trust import require_trust
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.text import byte_size, grouped, visible

from . import charts, views
from .crawls import Crawls, prefer_or_block
from .gate import FORM, STORED_POLICY, Gate
from .library import Library, NoSuchCollectionError
from .metrics import metrics_text
from .new_collection import create_collection
from .openapi import LABEL_PATH, ApiError, LabelReply, description
from .teaching import TeachingQueue

T = TypeVar("T")
_THREADS = 4  # that read collections at a time
_STATIC = {"screens.css": "text/css", "screens.js": "text/javascript", "icon.svg": "image/svg+xml"}
_MAX_QUERY = 1_000  # characters
_MAX_METRICS = 500  # collections
_BETWEEN_EVENTS = 1.5  # seconds
_EVENTS = 2_400  # of one connection: an hour; browsers connect again
_INDEX_EVERY = 30.0  # seconds, at most


def make_app(
    library: Library, *, port: int, token: str = "", read_only: bool = False, crawls: Crawls | None = None
) -> Gate:
    """The whole application, gate included."""
    screens = Screens(library, crawls or Crawls())
    routes = [
        Route("/", screens.collections),
        Route("/c/{name}", screens.collection),
        Route("/c/{name}/search", screens.search),
        Route("/c/{name}/page", screens.page),
        Route("/c/{name}/stored", screens.stored),
        Route("/c/{name}/frontier", screens.frontier),
        Route("/c/{name}/label", screens.label, methods=["POST"]),
        Route("/c/{name}/crawl", screens.crawl),
        Route("/c/{name}/crawl", screens.steer_crawl, methods=["POST"]),
        Route("/c/{name}/events", screens.events),
        Route("/c/{name}/teach", screens.teach),
        Route("/c/{name}/teach", screens.answer, methods=["POST"]),
        Route("/c/{name}/steer", screens.steer, methods=["POST"]),
        Route("/new", screens.new),
        Route("/new", screens.create, methods=["POST"]),
        Route("/api/collections", screens.api_collections),
        Route("/api/collections/{name}", screens.api_collection),
        Route("/api/collections/{name}/search", screens.api_search),
        Route("/api/collections/{name}/page", screens.api_page),
        Route("/api/collections/{name}/frontier", screens.api_frontier),
        Route(LABEL_PATH, screens.api_label, methods=["POST"]),
        Route("/api/openapi.json", screens.api_description),
        Route("/metrics", screens.metrics),
        Route("/static/{file}", screens.static),
    ]
    app = Starlette(routes=routes, exception_handlers={LycosaError: screens.failure, HTTPException: screens.failure})
    gate = Gate(app, port=port, token=token, read_only=read_only)
    screens.use(gate)
    return gate


class Screens:
    """Answers requests that the gate has let through."""

    def __init__(self, library: Library, crawls: Crawls):
        self._library = library
        self._views = views.Views()
        self._crawls = crawls
        self._queues: dict[Path, TeachingQueue] = {}
        self._indexing: dict[Path, tuple[float, asyncio.Task[None]]] = {}  # when it began
        self._limiter: anyio.CapacityLimiter | None = None
        self._files = {name: (files(__package__) / "static" / name).read_bytes() for name in _STATIC}
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader(__package__),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            finalize=_inert,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "count": grouped,
            "percent": _percent,
            "size": byte_size,
            "moment": _moment,
            "marked": _marked,
            "web": _web,
        }
        self._templates.globals |= {
            "sparkline": charts.sparkline,
            "harvest_chart": charts.harvest_chart,
            "factor_bars": charts.factor_bars,
            "version": __version__,
            "root": library.root.name,
            "single": library.is_single,
        }

    def use(self, gate: Gate) -> None:
        self._templates.globals |= {"form_token": gate.form_token, "read_only": gate.is_read_only}

    async def _threaded(self, function: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(_THREADS)
        return await run_sync(partial(function, *arguments, **keywords), limiter=self._limiter)

    def _drawn(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        return HTMLResponse(self._templates.get_template(template).render(**values), status)

    # ------------------------------------------------------------ screens

    async def collections(self, request: Request) -> Response:
        found = await self._threaded(self._cards, _number(request, "page"))
        return self._drawn("collections.html", view=found, here="/")

    async def collection(self, request: Request) -> Response:
        name = request.path_params["name"]
        folder = self._library.folder(name)
        card = await self._threaded(self._views.card, name, folder)
        if card.problem:
            return self._drawn("problem.html", card=card, name=name, tab="overview")
        found = await self._threaded(self._views.collection, name, folder)
        return self._drawn("collection.html", view=found, name=name, tab="overview")

    async def search(self, request: Request) -> Response:
        found = await self._search(request, is_typed="typed" in request.query_params)
        template = "results.html" if "part" in request.query_params else "search.html"
        return self._drawn(template, view=found, name=request.path_params["name"], tab="search")

    async def page(self, request: Request) -> Response:
        folder = self._library.folder(request.path_params["name"])
        found = await self._threaded(views.page_view, folder, _url(request))
        name, said = request.path_params["name"], _SAID.get(request.query_params.get("said", ""), "")
        status = 404 if found.state == "unknown" else 200
        return self._drawn("page.html", status=status, view=found, name=name, tab="search", said=said)

    async def stored(self, request: Request) -> Response:
        """The stored copy of a page, for a frame: in an origin of its own, without scripts, requests or cookies."""
        folder = self._library.folder(request.path_params["name"])
        look = _number(request, "look") if "look" in request.query_params else None
        html = await self._threaded(views.stored_html, folder, _url(request), look)
        headers = {
            "Content-Security-Policy": STORED_POLICY,
            "X-Frame-Options": "SAMEORIGIN",
            "Referrer-Policy": "no-referrer",
        }
        return HTMLResponse(html.encode("utf-8", "replace"), headers=headers)

    async def frontier(self, request: Request) -> Response:
        found = await self._frontier(request)
        return self._drawn("frontier.html", view=found, name=request.path_params["name"], tab="frontier")

    async def crawl(self, request: Request) -> Response:
        name = request.path_params["name"]
        folder = self._library.folder(name)
        found = await self._threaded(self._live, name, folder)
        problem = self._crawls.last_words(folder)
        return self._drawn("crawl.html", view=found, name=name, tab="crawl", problem=problem)

    async def steer_crawl(self, request: Request) -> Response:
        name, form = request.path_params["name"], request.scope[FORM]
        folder, action = self._library.folder(name), form.get("action", "")
        if action == "start":
            await self._threaded(self._crawls.start, folder, form.get("pages", ""))
        else:
            await self._threaded(self._crawls.steer, folder, action, form.get("pages", ""))
        return self._back(name, "crawl")

    async def events(self, request: Request) -> Response:
        """The part of the crawl's screen that moves, by server-sent events; one event where `once` is asked."""
        name = request.path_params["name"]
        folder = self._library.folder(name)

        async def stream() -> AsyncIterator[bytes]:
            before = ""
            for _ in range(1 if "once" in request.query_params else _EVENTS):
                try:
                    view = await self._threaded(self._live, name, folder)
                    html = self._templates.get_template("live.html").render(view=view, name=name)
                except LycosaError as error:
                    message = views.without_paths(str(error), folder)
                    html = self._templates.get_template("failure_part.html").render(message=message)
                yield b"data: " + msgspec.json.encode(html) + b"\n\n" if html != before else b": as before\n\n"
                before = html
                await anyio.sleep(_BETWEEN_EVENTS if "once" not in request.query_params else 0)

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def teach(self, request: Request) -> Response:
        name = request.path_params["name"]
        found = await self._threaded(self._queue(self._library.folder(name)).view)
        return self._drawn("teach.html", view=found, name=name, tab="teach")

    async def answer(self, request: Request) -> Response:
        name, form = request.path_params["name"], request.scope[FORM]
        queue = self._queue(self._library.folder(name))
        await self._threaded(queue.answer, form.get("url", ""), form.get("answer", ""))
        return self._back(name, "teach")

    async def steer(self, request: Request) -> Response:
        name, form = request.path_params["name"], request.scope[FORM]
        folder = self._library.folder(name)
        await self._threaded(prefer_or_block, folder, form.get("action", ""), form.get("what", ""))
        return self._back(name, "frontier")

    async def new(self, request: Request) -> Response:
        return self._drawn("new.html", form={}, problem="")

    async def create(self, request: Request) -> Response:
        form = request.scope[FORM]
        try:
            name = await self._threaded(create_collection, self._library, form)
        except LycosaError as error:
            message = visible(str(error).replace(f"{self._library.root}/", ""), 500)
            return self._drawn("new.html", status=400, form=form, problem=message)
        return self._back(name, "crawl")

    async def label(self, request: Request) -> Response:
        reply = await self._label(request)
        name = self._templates.filters["urlencode"](request.path_params["name"])
        url = self._templates.filters["urlencode"](reply.url)
        said = "waits" if reply.judged is None else "learnt"
        return RedirectResponse(f"/c/{name}/page?url={url}&said={said}", 303)

    # ------------------------------------------------------------ for programs

    async def api_collections(self, request: Request) -> Response:
        return _json(await self._threaded(self._cards, _number(request, "page")))

    async def api_collection(self, request: Request) -> Response:
        name = request.path_params["name"]
        return _json(await self._threaded(self._views.collection, name, self._library.folder(name)))

    async def api_search(self, request: Request) -> Response:
        return _json(await self._search(request))

    async def api_page(self, request: Request) -> Response:
        folder = self._library.folder(request.path_params["name"])
        return _json(await self._threaded(views.page_view, folder, _url(request)))

    async def api_frontier(self, request: Request) -> Response:
        return _json(await self._frontier(request))

    async def api_label(self, request: Request) -> Response:
        return _json(await self._label(request))

    async def api_description(self, request: Request) -> Response:
        return _json(description())

    async def metrics(self, request: Request) -> Response:
        cards = await self._threaded(self._all_cards)
        return Response(metrics_text(cards), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def static(self, request: Request) -> Response:
        name = request.path_params["file"]
        if name not in _STATIC:
            raise HTTPException(404)
        headers = {"Cache-Control": "private, max-age=300"}
        return Response(self._files[name], media_type=_STATIC[name], headers=headers)

    async def failure(self, request: Request, error: Exception) -> Response:
        """What is wrong, in a line: of a request, or of a collection."""
        if isinstance(error, HTTPException):
            status, message = error.status_code, "There is nothing here." if error.status_code == 404 else error.detail
        elif isinstance(error, NoSuchCollectionError):
            status, message = 404, str(error)
        else:
            message = visible(str(error).replace(f"{self._library.root}/", ""), 500)
            status = 400 if isinstance(error, UsageError) else 503
        if request.url.path.startswith("/api/"):
            return _json(ApiError(message), status)
        if "part" in request.query_params:
            return self._drawn("failure_part.html", status=status, message=message)
        return self._drawn("failure.html", status=status, message=message)

    # ------------------------------------------------------------ parts

    def _back(self, name: str, screen: str) -> Response:
        return RedirectResponse(f"/c/{self._templates.filters['urlencode'](name)}/{screen}", 303)

    def _live(self, name: str, folder: Path) -> views.LiveView:
        figures, speed = self._crawls.figures(folder)
        is_starting = self._crawls.is_starting(folder)
        return self._views.live(name, folder, figures, speed=speed, is_starting=is_starting)

    def _queue(self, folder: Path) -> TeachingQueue:
        return self._queues.setdefault(folder, TeachingQueue(folder))

    def _cards(self, page: int) -> views.CollectionList:
        return self._views.cards({name: self._library.folder(name) for name in self._library.names()}, page)

    def _all_cards(self) -> list[views.CollectionCard]:
        names = self._library.names()[:_MAX_METRICS]
        return [self._views.card(name, self._library.folder(name)) for name in names]

    async def _search(self, request: Request, *, is_typed: bool = False) -> views.SearchView:
        asked = request.query_params
        label = asked.get("label", "")
        folder = self._library.folder(request.path_params["name"])
        found = await self._threaded(
            views.search_view,
            folder,
            asked.get("q", "")[:_MAX_QUERY],
            host=asked.get("host", "")[:300],
            language=asked.get("language", "")[:20],
            min_relevance=_share(request, "min_relevance"),
            label=label if label in ("good", "bad") else "",
            page=_number(request, "page"),
            is_typed=is_typed,
        )
        if found.not_indexed and not self._templates.globals["read_only"]:
            self._index_soon(folder)
        return found

    def _index_soon(self, folder: Path) -> None:
        """Adds the pages that a crawl left out of the search index; while another crawl runs, it is tried in vain."""
        began, task = self._indexing.get(folder, (-math.inf, None))
        if (task is None or task.done()) and time.monotonic() - began > _INDEX_EVERY:
            adding = self._threaded(bring_index_up_to_date, folder, tell=lambda line: None)
            self._indexing[folder] = time.monotonic(), asyncio.create_task(adding)

    async def _frontier(self, request: Request) -> views.FrontierView:
        folder = self._library.folder(request.path_params["name"])
        host = request.query_params.get("host", "")[:300].lower()
        return await self._threaded(views.frontier_view, folder, host=host, page=_number(request, "page"))

    async def _label(self, request: Request) -> LabelReply:
        folder, form = self._library.folder(request.path_params["name"]), request.scope[FORM]
        label = form.get("label", "")
        if label not in ("good", "bad"):
            raise UsageError("a label is good or bad")
        url = views.url_of(form.get("url", ""))

        def learn() -> int | None:
            require_trust(folder)
            return label_pages(folder, {url: label == "good"}, tell=lambda line: None).judged

        return LabelReply(url, label, await self._threaded(learn))


_SAID = {
    "learnt": "Saved. The model has learnt from it, and the pages are judged again.",
    "waits": "Saved. The next crawl trains the model with it.",
}


def _json(answer: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(answer), status, media_type="application/json")


def _url(request: Request) -> Any:
    return views.url_of(request.query_params.get("url", ""))


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "1")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 1


def _share(request: Request, name: str) -> float | None:
    try:
        number = float(request.query_params.get(name, ""))
    except ValueError:
        return None
    return number if 0.0 <= number <= 1.0 else None


# ---------------------------------------------------------------- in templates


def _inert(value: Any) -> Any:
    """Text without characters that steer reading order or mean nothing; numbers and markup as they are."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return value if value.isprintable() and value.isascii() else visible(value, 10_000)
    return value


def _web(url: str) -> str:
    """A URL for a link: one of the Web, or none at all."""
    return url if url.startswith(("http://", "https://")) else "#"


def _marked(snippet: str) -> Markup:
    """A snippet with the words that matched marked."""
    return Markup(re.sub("«([^«»]*+)»", r"<mark>\1</mark>", str(escape(visible(snippet, 600)))))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _moment(at: float | None) -> str:
    if at is None:
        return "–"
    try:
        return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "–"
