"""The routes of the screens: each reads its parameters, computes a view in a thread, and renders it as HTML or JSON."""

import asyncio
import math
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import anyio
import jinja2
import msgspec
from anyio.to_thread import run_sync
from markupsafe import Markup, escape
from msgspec.structs import replace
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from lycosa import __version__
from lycosa.run.open import bring_index_up_to_date
from lycosa.run.trust import require_trust
from lycosa.vocabulary.errors import LycosaError, RecipeError, UsageError
from lycosa.vocabulary.text import byte_size, grouped, printable, quoted

from . import charts, parameters
from .access_control import FIGURE_POLICY, FORM, STORED_PAGE_POLICY, AccessControl, ScreenAccess
from .comparison import ComparedPart, Comparison, Comparisons
from .crawls import Crawls, steer_urls
from .exports import CONTENTS, FORMATS, ExportResponse, Exports, export_view
from .fair_share import READER, BusyError, FairQueue, ReaderSlots
from .frontier import FrontierView, frontier_view
from .learning import learn
from .library import Library, NoSuchCollectionError
from .lines import checked_url
from .neighbours import neighbours_view
from .new_collection import create_collection
from .openapi import (
    COLLECTIONS_PATH,
    CRAWL_PATH,
    EXPORT_PATH,
    FRONTIER_PATH,
    LABEL_PATH,
    PEERS_PATH,
    REFRESH_PATH,
    TEACH_PATH,
    ApiError,
    LabelReply,
    description,
)
from .overviews import CollectionCard, CollectionList, LiveView, Overviews, metrics_text
from .page import page_view, stored_html
from .peers import PeersView, is_configured, peers_view
from .refreshes import RefreshView, refresh_view
from .search import ORDERS, PERIODS, SearchView, search_view
from .studies import Studies
from .teaching import TeachingQueue
from .topic_maps import AtlasView, atlas_list, atlas_of, atlas_view, citations_picture, map_picture
from .versions import VersionsView, versions_view

T = TypeVar("T")
_MAX_THREADS = 4  # that read collections at a time
_MAX_THREADS_PER_READER = 2  # for one anonymous reader
_MAX_WAITING = 40  # requests of one anonymous reader that wait for a thread
_STATIC = {"screens.css": "text/css", "screens.js": "text/javascript", "icon.svg": "image/svg+xml"}
_MAX_METRICS_COLLECTIONS = 500  # collections
_MAX_CHOICES = 500  # collections to choose from
_MAX_PEER_QUERY = 1_000  # characters
_EVENT_INTERVAL = 1.5  # seconds
_MAX_EVENTS = 2_400  # of one connection, which then ends after an hour; browsers connect again
_MAX_STREAMS = 24  # connections that wait for events; for a further one, the oldest is ended
_MAX_STORED = 16  # stored pages that are sent at a time; each may have some megabytes
_MAX_STORED_PER_READER = 4  # to one anonymous reader
_PART = 1 << 16  # bytes of a stored page
_INDEX_INTERVAL = 30.0  # seconds at least between two updates of the search index of a collection


def make_app(library: Library, access: ScreenAccess, *, token: str = "", crawls: Crawls | None = None) -> AccessControl:
    """The whole application, with access control."""
    screens = Screens(library.published() if access.is_public else library, access, crawls or Crawls())
    routes = [
        Route("/", screens.collections),
        Route("/c/{name}", screens.collection),
        Route("/c/{name}/search", screens.search),
        Route("/c/{name}/page", screens.page),
        Route("/c/{name}/versions", screens.versions),
        Route("/c/{name}/neighbours", screens.neighbours),
        Route("/c/{name}/stored", screens.stored),
        Route("/c/{name}/frontier", screens.frontier),
        Route("/c/{name}/label", screens.label, methods=["POST"]),
        Route("/c/{name}/crawl", screens.crawl),
        Route("/c/{name}/crawl", screens.steer_crawl, methods=["POST"]),
        Route("/c/{name}/refresh", screens.refresh),
        Route("/c/{name}/refresh", screens.start_refresh, methods=["POST"]),
        Route("/c/{name}/events", screens.events),
        Route("/c/{name}/teach", screens.teach),
        Route("/c/{name}/teach", screens.answer, methods=["POST"]),
        Route("/c/{name}/steer", screens.steer, methods=["POST"]),
        Route("/c/{name}/export", screens.export),
        Route("/c/{name}/export/file", screens.export_file),
        Route("/c/{name}/peers", screens.peers),
        Route("/c/{name}/peers", screens.ask_peers, methods=["POST"]),
        Route("/compare", screens.compare),
        Route("/maps", screens.atlases),
        Route("/maps/{file}", screens.atlas),
        Route("/studies", screens.studies),
        Route("/studies/{path:path}", screens.study),
        Route("/figures/{path:path}", screens.figure),
        Route("/new", screens.new),
        Route("/new", screens.create, methods=["POST"]),
        Route(COLLECTIONS_PATH, screens.api_collections),
        Route(COLLECTIONS_PATH, screens.api_create, methods=["POST"]),
        Route("/api/collections/{name}", screens.api_collection),
        Route("/api/collections/{name}/search", screens.api_search),
        Route("/api/collections/{name}/page", screens.api_page),
        Route("/api/collections/{name}/versions", screens.api_versions),
        Route("/api/collections/{name}/neighbours", screens.api_neighbours),
        Route(FRONTIER_PATH, screens.api_frontier),
        Route(FRONTIER_PATH, screens.api_steer, methods=["POST"]),
        Route(CRAWL_PATH, screens.api_crawl),
        Route(CRAWL_PATH, screens.api_steer_crawl, methods=["POST"]),
        Route(TEACH_PATH, screens.api_teach),
        Route(TEACH_PATH, screens.api_answer, methods=["POST"]),
        Route(REFRESH_PATH, screens.api_refresh),
        Route(REFRESH_PATH, screens.api_start_refresh, methods=["POST"]),
        Route(EXPORT_PATH, screens.export_file),
        Route(PEERS_PATH, screens.api_peers),
        Route(PEERS_PATH, screens.api_ask_peers, methods=["POST"]),
        Route("/api/compare", screens.api_compare),
        Route("/api/maps", screens.api_atlases),
        Route("/api/maps/{file}", screens.api_atlas),
        Route("/api/studies", screens.api_studies),
        Route("/api/studies/{path:path}", screens.api_study),
        Route(LABEL_PATH, screens.api_label, methods=["POST"]),
        Route("/api/openapi.json", screens.api_description),
        Route("/metrics", screens.metrics),
        Route("/static/{file}", screens.static),
    ]
    app = Starlette(routes=routes, exception_handlers={LycosaError: screens.failure, HTTPException: screens.failure})
    application = AccessControl(app, access, token=token)
    screens.set_form_token(application.form_token)
    return application


class Screens:
    """Handles requests that passed access control."""

    def __init__(self, library: Library, access: ScreenAccess, crawls: Crawls):
        self._library = library
        self._access = access
        self._overviews = Overviews()
        self._comparisons = Comparisons()
        self._studies = Studies(library)
        self._exports = Exports()
        self._crawls = crawls
        self._streams: deque[object] = deque(maxlen=_MAX_STREAMS)  # connections that wait for events, the oldest first
        self._threads = FairQueue(_MAX_THREADS, per_reader=_MAX_THREADS_PER_READER, max_waiting=_MAX_WAITING)
        self._stored = ReaderSlots(_MAX_STORED, per_reader=_MAX_STORED_PER_READER)
        self._queues: dict[Path, TeachingQueue] = {}
        self._indexing: dict[Path, tuple[float, asyncio.Task[None]]] = {}  # with when it began
        self._files = {name: (files(__package__) / "static" / name).read_bytes() for name in _STATIC}
        self._templates = jinja2.Environment(
            loader=jinja2.PackageLoader(__package__),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            finalize=_without_controls,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {
            "count": grouped,
            "quoted": quoted,
            "percent": _percent,
            "size": byte_size,
            "moment": _moment,
            "highlighted": _highlighted,
            "safe_link": _safe_link,
            "query_with": _query_with,
            "query_without": _query_without,
        }
        self._templates.globals |= {
            "sparkline": charts.sparkline,
            "harvest_chart": charts.harvest_chart,
            "harvest_comparison": charts.harvest_comparison,
            "factor_bars": charts.factor_bars,
            "path_graph": charts.path_graph,
            "overlap_bar": charts.overlap_bar,
            "version": __version__,
            "root": library.root.name,
            "single": library.is_single,
            "read_only": access.read_only,
            "audience": _audience(access),
            "orders": ORDERS,
            "periods": PERIODS,
            "formats": {name: title for name, (title, _) in FORMATS.items()},
            "contents": CONTENTS,
        }

    def set_form_token(self, token: str) -> None:
        """Sets the token that every form of a template sends back."""
        self._templates.globals["form_token"] = token

    async def _in_thread(self, function: Callable[..., T], *arguments: Any, **keywords: Any) -> T:
        try:
            async with self._threads.slot(READER.get()):
                return await run_sync(partial(function, *arguments, **keywords))
        except BusyError:
            raise HTTPException(503, "Too many requests at a time; try again.") from None

    def _render(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        return HTMLResponse(self._templates.get_template(template).render(**values), status)

    # ------------------------------------------------------------ HTML

    async def collections(self, request: Request) -> Response:
        view = await self._in_thread(self._cards, parameters.page(request))
        atlases = await self._in_thread(atlas_list, self._library)
        studies = await self._in_thread(self._studies.page, 1)
        return self._render("collections.html", view=view, atlases=len(atlases.atlases), studies=studies.total)

    async def collection(self, request: Request) -> Response:
        name = request.path_params["name"]
        folder = self._library.folder(name)
        card = await self._in_thread(self._card, name)
        if card.problem:
            return self._render("problem.html", card=card, name=name, tab="overview")
        view = await self._in_thread(self._overviews.collection, name, folder)
        atlas = await self._in_thread(atlas_of, self._library, folder)
        has_peers = is_configured(folder) and not self._access.read_only
        return self._render("collection.html", view=view, name=name, tab="overview", atlas=atlas, has_peers=has_peers)

    async def search(self, request: Request) -> Response:
        view = await self._search(request, is_being_typed="typed" in request.query_params)
        template = "results.html" if "part" in request.query_params else "search.html"
        return self._render(template, view=view, name=request.path_params["name"], tab="search")

    async def page(self, request: Request) -> Response:
        folder = self._requested_folder(request)
        view = await self._in_thread(page_view, folder, parameters.url(request))
        name, message = request.path_params["name"], _LABEL_MESSAGES.get(request.query_params.get("label", ""), "")
        status = 404 if view.state == "unknown" else 200
        return self._render("page.html", status=status, view=view, name=name, tab="search", message=message)

    async def stored(self, request: Request) -> Response:
        """The stored copy of a page, the latest or that of its n-th fetch (`look`), for a sandboxed frame: opaque
        origin, no scripts, requests or cookies."""
        folder = self._requested_folder(request)
        url, look = parameters.url(request), parameters.integer(request, "look")
        reader = READER.get()
        if not self._stored.take(reader):
            raise HTTPException(503, "too many stored pages are being read; try again")
        release = partial(self._stored.release, reader)
        try:
            html = await self._in_thread(stored_html, folder, url, look)
        except BaseException:
            release()
            raise
        headers = {
            "Content-Security-Policy": STORED_PAGE_POLICY,
            "X-Frame-Options": "SAMEORIGIN",
            "Referrer-Policy": "no-referrer",
        }
        return _StoredPageResponse(html.encode("utf-8", "replace"), headers=headers, release=release)

    async def frontier(self, request: Request) -> Response:
        view = await self._frontier(request)
        return self._render("frontier.html", view=view, name=request.path_params["name"], tab="frontier")

    async def versions(self, request: Request) -> Response:
        view = await self._versions(request)
        return self._render("versions.html", view=view, name=request.path_params["name"], tab="search")

    async def neighbours(self, request: Request) -> Response:
        folder = self._requested_folder(request)
        view = await self._in_thread(neighbours_view, folder, parameters.url(request))
        return self._render("neighbours.html", view=view, name=request.path_params["name"], tab="search")

    async def refresh(self, request: Request) -> Response:
        name = request.path_params["name"]
        view = await self._refresh(request)
        problem = self._failure_output(self._library.folder(name))
        return self._render("refresh.html", view=view, name=name, tab="refresh", problem=problem)

    async def start_refresh(self, request: Request) -> Response:
        await self._start_refresh(request)
        return self._redirect_to(request.path_params["name"], "refresh")

    async def export(self, request: Request) -> Response:
        name = request.path_params["name"]
        asked = parameters.export_request(request)
        view = await self._in_thread(export_view, self._library.folder(name), asked)
        return self._render("export.html", view=view, name=name, tab="export")

    async def export_file(self, request: Request) -> Response:
        """Pages as a download."""
        name, asked = request.path_params["name"], parameters.export_request(request)
        stream = await self._in_thread(self._exports.open, self._library.folder(name), asked)
        return ExportResponse(stream, name, asked)

    async def peers(self, request: Request) -> Response:
        return self._render_peers(request, await self._peers(request))

    async def ask_peers(self, request: Request) -> Response:
        return self._render_peers(request, await self._peers(request, asked=request.scope[FORM].get("q", "")))

    def _render_peers(self, request: Request, view: PeersView) -> Response:
        return self._render("peers.html", view=view, name=request.path_params["name"], tab="overview")

    async def compare(self, request: Request) -> Response:
        view = await self._comparison(request)
        names = self._library.names()[:_MAX_CHOICES]
        return self._render("compare.html", view=view, names=names)

    async def atlases(self, request: Request) -> Response:
        return self._render("atlases.html", view=await self._in_thread(atlas_list, self._library))

    async def atlas(self, request: Request) -> Response:
        view = await self._atlas(request)
        pictures = Markup(map_picture(view)), Markup(citations_picture(view))
        return self._render("atlas.html", view=view, picture=pictures[0], citations=pictures[1])

    async def studies(self, request: Request) -> Response:
        return self._render("studies.html", view=await self._in_thread(self._studies.page, parameters.page(request)))

    async def study(self, request: Request) -> Response:
        return self._render("study.html", view=await self._in_thread(self._studies.study, request.path_params["path"]))

    async def figure(self, request: Request) -> Response:
        """A figure of a study, for an <img>: scripts in it do not run, and it loads nothing."""
        path, _, name = request.path_params["path"].rpartition("/")
        svg = await self._in_thread(self._studies.figure, path, name)
        return Response(svg, media_type="image/svg+xml", headers={"Content-Security-Policy": FIGURE_POLICY})

    async def crawl(self, request: Request) -> Response:
        name = request.path_params["name"]
        folder = self._library.folder(name)
        view = await self._in_thread(self._live, name, folder)
        return self._render("crawl.html", view=view, name=name, tab="crawl", problem=self._failure_output(folder))

    async def steer_crawl(self, request: Request) -> Response:
        await self._steer_crawl(request)
        return self._redirect_to(request.path_params["name"], "crawl")

    async def events(self, request: Request) -> Response:
        """The live part of the crawl's screen, by server-sent events; a single event with the parameter `once`."""
        name = request.path_params["name"]
        folder = self._library.folder(name)

        stream = object()
        if "once" not in request.query_params:
            self._streams.append(stream)

        async def events() -> AsyncIterator[bytes]:
            last_html = ""
            for number in range(1 if "once" in request.query_params else _MAX_EVENTS):
                if number and stream not in self._streams:
                    return  # browsers connect again, and get their turn
                try:
                    view = await self._in_thread(self._live, name, folder)
                    html = self._templates.get_template("live.html").render(view=view, name=name)
                except (LycosaError, HTTPException) as error:
                    message = error.detail if isinstance(error, HTTPException) else self._message(error)
                    html = self._templates.get_template("failure_part.html").render(message=message)
                yield b"data: " + msgspec.json.encode(html) + b"\n\n" if html != last_html else b": as before\n\n"
                last_html = html
                await anyio.sleep(_EVENT_INTERVAL if "once" not in request.query_params else 0)

        async def until_it_ends() -> AsyncIterator[bytes]:
            try:
                async for event in events():
                    yield event
            finally:
                with suppress(ValueError):  # a later one has taken its place
                    self._streams.remove(stream)

        return StreamingResponse(until_it_ends(), media_type="text/event-stream")

    async def teach(self, request: Request) -> Response:
        name = request.path_params["name"]
        view = await self._in_thread(self._queue(self._library.folder(name)).view)
        return self._render("teach.html", view=view, name=name, tab="teach")

    async def answer(self, request: Request) -> Response:
        await self._answer(request)
        return self._redirect_to(request.path_params["name"], "teach")

    async def steer(self, request: Request) -> Response:
        await self._steer(request)
        return self._redirect_to(request.path_params["name"], "frontier")

    async def new(self, request: Request) -> Response:
        return self._render("new.html", form={}, problem="")

    async def create(self, request: Request) -> Response:
        form = request.scope[FORM]
        try:
            name = await self._in_thread(create_collection, self._library, form)
        except LycosaError as error:
            message = self._message(error)
            return self._render("new.html", status=400, form=form, problem=message)
        return self._redirect_to(name, "crawl")

    async def label(self, request: Request) -> Response:
        reply = await self._label(request)
        name = self._templates.filters["urlencode"](request.path_params["name"])
        url = self._templates.filters["urlencode"](reply.url)
        effect = "waits" if reply.judged is None else "learnt"
        return RedirectResponse(f"/c/{name}/page?url={url}&label={effect}", 303)

    # ------------------------------------------------------------ JSON, for programs

    async def api_collections(self, request: Request) -> Response:
        return _json(await self._in_thread(self._cards, parameters.page(request)))

    async def api_collection(self, request: Request) -> Response:
        name = request.path_params["name"]
        return _json(await self._in_thread(self._overviews.collection, name, self._library.folder(name)))

    async def api_search(self, request: Request) -> Response:
        return _json(await self._search(request))

    async def api_page(self, request: Request) -> Response:
        folder = self._requested_folder(request)
        return _json(await self._in_thread(page_view, folder, parameters.url(request)))

    async def api_frontier(self, request: Request) -> Response:
        return _json(await self._frontier(request))

    async def api_crawl(self, request: Request) -> Response:
        name = request.path_params["name"]
        return _json(await self._in_thread(self._live, name, self._library.folder(name)))

    async def api_teach(self, request: Request) -> Response:
        return _json(await self._in_thread(self._queue(self._requested_folder(request)).view))

    async def api_versions(self, request: Request) -> Response:
        return _json(await self._versions(request))

    async def api_neighbours(self, request: Request) -> Response:
        folder = self._requested_folder(request)
        return _json(await self._in_thread(neighbours_view, folder, parameters.url(request)))

    async def api_refresh(self, request: Request) -> Response:
        return _json(await self._refresh(request))

    async def api_create(self, request: Request) -> Response:
        name = await self._in_thread(create_collection, self._library, request.scope[FORM])
        return _json(await self._in_thread(self._card, name))

    async def api_steer_crawl(self, request: Request) -> Response:
        await self._steer_crawl(request)
        return await self.api_crawl(request)

    async def api_start_refresh(self, request: Request) -> Response:
        await self._start_refresh(request)
        return await self.api_refresh(request)

    async def api_answer(self, request: Request) -> Response:
        await self._answer(request)
        return await self.api_teach(request)

    async def api_steer(self, request: Request) -> Response:
        await self._steer(request)
        return await self.api_frontier(request)

    async def api_peers(self, request: Request) -> Response:
        return _json(await self._peers(request))

    async def api_ask_peers(self, request: Request) -> Response:
        return _json(await self._peers(request, asked=request.scope[FORM].get("q", "")))

    async def api_compare(self, request: Request) -> Response:
        view = await self._comparison(request)
        if view is None:
            raise UsageError("which two? give one and other, the names of collections")
        return _json(view)

    async def api_atlases(self, request: Request) -> Response:
        return _json(await self._in_thread(atlas_list, self._library))

    async def api_atlas(self, request: Request) -> Response:
        return _json(await self._atlas(request))

    async def api_studies(self, request: Request) -> Response:
        return _json(await self._in_thread(self._studies.page, parameters.page(request)))

    async def api_study(self, request: Request) -> Response:
        return _json(await self._in_thread(self._studies.study, request.path_params["path"]))

    async def api_label(self, request: Request) -> Response:
        return _json(await self._label(request))

    async def api_description(self, request: Request) -> Response:
        return _json(description())

    async def metrics(self, request: Request) -> Response:
        cards = await self._in_thread(self._all_cards)
        return Response(metrics_text(cards), media_type="text/plain; version=0.0.4; charset=utf-8")

    async def static(self, request: Request) -> Response:
        name = request.path_params["file"]
        if name not in _STATIC:
            raise HTTPException(404)
        headers = {"Cache-Control": "private, max-age=300"}
        return Response(self._files[name], media_type=_STATIC[name], headers=headers)

    async def failure(self, request: Request, error: Exception) -> Response:
        """An error of a request or a collection, as one line; only part of a screen if just a `part` was requested."""
        if isinstance(error, HTTPException):
            status, message = error.status_code, "There is nothing here." if error.status_code == 404 else error.detail
        elif isinstance(error, NoSuchCollectionError):
            status, message = 404, str(error)
        else:
            message = self._message(error)
            status = 400 if isinstance(error, UsageError) else 503
        if request.url.path.startswith("/api/"):
            return _json(ApiError(message), status)
        if "part" in request.query_params:
            return self._render("failure_part.html", status=status, message=message)
        return self._render("failure.html", status=status, message=message)

    # ------------------------------------------------------------ shared by HTML and JSON

    def _message(self, error: Exception) -> str:
        """The message of an error; one that could quote a recipe is hidden from anonymous readers."""
        if self._access.is_public and (isinstance(error, RecipeError) or not isinstance(error, UsageError)):
            return _REDACTED
        return printable(str(error).replace(f"{self._library.root}/", ""), 500)

    def _redirect_to(self, name: str, screen: str) -> Response:
        return RedirectResponse(f"/c/{self._templates.filters['urlencode'](name)}/{screen}", 303)

    def _failure_output(self, folder: Path) -> str:
        return "" if self._access.is_public else self._crawls.failure_output(folder)

    async def _steer_crawl(self, request: Request) -> None:
        form = request.scope[FORM]
        folder, action, pages = self._requested_folder(request), form.get("action", ""), form.get("pages", "")
        if action == "start":
            await self._in_thread(self._crawls.start, folder, pages)
        else:
            await self._in_thread(self._crawls.steer, folder, action, pages)

    async def _start_refresh(self, request: Request) -> None:
        folder, form = self._requested_folder(request), request.scope[FORM]
        await self._in_thread(self._crawls.refresh, folder, form.get("requests", ""), form.get("expand", ""))

    async def _answer(self, request: Request) -> None:
        queue, form = self._queue(self._requested_folder(request)), request.scope[FORM]
        await self._in_thread(queue.answer, form.get("url", ""), form.get("answer", ""))

    async def _steer(self, request: Request) -> None:
        folder, form = self._requested_folder(request), request.scope[FORM]
        await self._in_thread(steer_urls, folder, form.get("action", ""), form.get("what", ""))

    def _requested_folder(self, request: Request) -> Path:
        return self._library.folder(request.path_params["name"])

    async def _versions(self, request: Request) -> VersionsView:
        folder = self._requested_folder(request)
        old, new = (parameters.integer(request, name) for name in ("old", "new"))
        return await self._in_thread(versions_view, folder, parameters.url(request), old, new)

    async def _refresh(self, request: Request) -> RefreshView:
        folder = self._requested_folder(request)

        def view() -> RefreshView:
            return refresh_view(
                folder,
                self._crawls.figures(folder)[0],
                process_phase=self._crawls.process_phase(folder),
                run=parameters.integer(request, "run"),
                kind=parameters.text(request, "kind", 20),
                page=parameters.page(request),
            )

        return await self._in_thread(view)

    async def _peers(self, request: Request, *, asked: str = "") -> PeersView:
        folder = self._requested_folder(request)
        if self._access.read_only:
            raise UsageError("read-only screens ask no peers")
        return await self._in_thread(peers_view, folder, asked[:_MAX_PEER_QUERY])

    async def _comparison(self, request: Request) -> Comparison | None:
        """The comparison of the two requested sides; None unless both are named."""
        parts = []
        for side in ("one", "other"):
            name = parameters.text(request, side)
            if not name:
                return None
            run = parameters.integer(request, f"{side}_run")
            parts.append(ComparedPart(name, self._library.folder(name), run))
        return await self._in_thread(self._comparisons.compare, *parts)

    async def _atlas(self, request: Request) -> AtlasView:
        topic = parameters.text(request, "topic")
        return await self._in_thread(atlas_view, self._library, request.path_params["file"], topic)

    def _live(self, name: str, folder: Path) -> LiveView:
        crawl_figures, speed = self._crawls.figures(folder)
        phase = self._crawls.process_phase(folder)
        return self._overviews.live(name, folder, crawl_figures, speed=speed, process_phase=phase)

    def _queue(self, folder: Path) -> TeachingQueue:
        return self._queues.setdefault(folder, TeachingQueue(folder))

    def _cards(self, page: int) -> CollectionList:
        view = self._overviews.cards({name: self._library.folder(name) for name in self._library.names()}, page)
        return replace(view, collections=[self._redacted(card) for card in view.collections])

    def _card(self, name: str) -> CollectionCard:
        return self._redacted(self._overviews.card(name, self._library.folder(name)))

    def _redacted(self, card: CollectionCard) -> CollectionCard:
        """A card for display: an error that could quote the recipe is hidden from anonymous readers."""
        return replace(card, problem=_REDACTED) if card.problem and self._access.is_public else card

    def _all_cards(self) -> list[CollectionCard]:
        return [self._card(name) for name in self._library.names()[:_MAX_METRICS_COLLECTIONS]]

    async def _search(self, request: Request, *, is_being_typed: bool = False) -> SearchView:
        folder, asked = self._requested_folder(request), parameters.search_request(request)
        view = await self._in_thread(search_view, folder, asked, now=time.time(), is_being_typed=is_being_typed)
        if view.not_indexed and not self._access.read_only:
            self._update_index_in_background(folder)
        return view

    def _update_index_in_background(self, folder: Path) -> None:
        """Adds the pages that a crawl left out to the search index, in the background; fails while a crawl runs."""
        began, task = self._indexing.get(folder, (-math.inf, None))
        if (task is None or task.done()) and time.monotonic() - began > _INDEX_INTERVAL:
            update = self._in_thread(bring_index_up_to_date, folder, notify=lambda line: None)
            self._indexing[folder] = time.monotonic(), asyncio.create_task(update)

    async def _frontier(self, request: Request) -> FrontierView:
        folder = self._requested_folder(request)
        host = parameters.text(request, "host").lower()
        return await self._in_thread(frontier_view, folder, now=time.time(), host=host, page=parameters.page(request))

    async def _label(self, request: Request) -> LabelReply:
        folder, form = self._requested_folder(request), request.scope[FORM]
        label = form.get("label", "")
        if label not in ("good", "bad"):
            raise UsageError("a label is good or bad")
        url = checked_url(form.get("url", ""))

        def judged() -> int | None:
            require_trust(folder)
            return learn(folder, {url: label == "good"}).judged

        return LabelReply(url, label, await self._in_thread(judged))


_LABEL_MESSAGES = {  # by the effect of a label
    "learnt": "Saved. Model retrained; pages re-scored.",
    "waits": "Saved. The next crawl trains the model with it.",
}


_REDACTED = "This cannot be shown here."


class _StoredPageResponse(HTMLResponse):
    """A stored page, in parts, each when the last one was read; `release` is called when it was sent, or cannot be."""

    def __init__(self, html: bytes, *, headers: Mapping[str, str], release: Callable[[], None]):
        super().__init__(html, headers=headers)
        self._release = release

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            body = memoryview(bytes(self.body))
            for start in range(0, len(body), _PART):
                part = bytes(body[start : start + _PART])
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._release()


def _json(view: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(view), status, media_type="application/json")


def _audience(access: ScreenAccess) -> str:
    """Who can read the screens, for the footer."""
    if access.is_public:
        return "published, read-only"
    return "behind a password" if access.password else "this machine only"


# ---------------------------------------------------------------- filters of templates


def _without_controls(value: Any) -> Any:
    """Removes control and bidirectional characters from text; numbers and markup stay as they are."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return value if value.isprintable() and value.isascii() else printable(value, 10_000)
    return value


def _safe_link(url: str) -> str:
    """A URL that is safe in a link: http or https; otherwise #."""
    return url if url.startswith(("http://", "https://")) else "#"


def _highlighted(snippet: str) -> Markup:
    """A snippet with its matches highlighted."""
    return Markup(re.sub("«([^«»]*+)»", r"<mark>\1</mark>", str(escape(printable(snippet, 600)))))


def _query_with(asked: Mapping[str, str], name: str, value: str) -> str:
    """The query string with one parameter replaced."""
    return urlencode({key: each for key, each in {**asked, name: value}.items() if each})


def _query_without(asked: Mapping[str, str], name: str) -> str:
    """The query string without one parameter."""
    return urlencode({key: each for key, each in asked.items() if each and key != name})


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{fraction:.0%}"


def _moment(at: float | None) -> str:
    if at is None:
        return "–"
    try:
        return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "–"
