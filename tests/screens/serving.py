"""Screens over a small folder of collections, asked in this process."""

import asyncio
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from subprocess import Popen
from typing import Any

import msgspec
from starlette.testclient import TestClient

from crawling import collection, listing
from lycosa.maps import Atlas, CitationMatrix, Sighting
from lycosa.recipe import Budget
from lycosa.run.options import CommandSettings
from lycosa.run.refresh import Refresh, plan_of
from lycosa.run.session import Session
from lycosa.screens.access_control import AccessControl, ScreenAccess
from lycosa.screens.app import make_app
from lycosa.screens.crawls import Crawls
from lycosa.screens.library import Library
from lycosa.vocabulary.records import Url
from lycosa.web.robots import RobotsWeb
from sessions import NOW, crawl, opened, web_of
from story.test_hostile_text import HOME, TITLES, escaped
from worlds import html

PORT = 8700
BASE = f"http://127.0.0.1:{PORT}"
EVIL = "<script>alert(9)</script><a href='javascript:alert(8)'>x</a><link rel=preconnect href=//evil.example>"
WORLD = {
    HOME: html("Home", "honey", [(f"{HOME}{name}", escaped(title)) for name, title in TITLES.items()]),
    **{
        f"{HOME}{name}": html(
            escaped(title), f"honey bees and hives {escaped(title)} {name}x {name}y {EVIL}", [f"{HOME}more/{name}"]
        )
        for name, title in TITLES.items()
    },
}


CHANGED, GONE = f"{HOME}markup", f"{HOME}closing"
LATER = {
    **{url: page for url, page in WORLD.items() if url != GONE},
    CHANGED: html(escaped(TITLES["markup"]), f"honey bees swarm {escaped(TITLES['closing'])} {EVIL}", [f"{HOME}young"]),
}
EVIL_TOPIC = "<script>alert(4)</script>=1+1"
EVIL_TEXT = f"{EVIL_TOPIC}\u202e\x1b[2J"
STUDY = {
    "study": EVIL_TEXT,
    "scale": "small",
    "seed": 1,
    "world": {"name": '"><img src=x onerror=alert(5)>', "pages": 10},
    "claims": [
        {"id": "s.one", "kind": "paper", "says": EVIL_TEXT, "paper": "0.5", "measured": "0.6", "holds": True},
        {"id": "s.two", "kind": "beyond", "says": "bees swarm", "measured": "never", "holds": False, "p": 0.04},
        {"id": "s.three", "kind": "beyond", "says": "bees dance", "measured": "often", "holds": None},
    ],
    "tables": {"=1+1": [{"<b>": number / 7, "name": EVIL_TEXT} for number in range(70)]},
    "seconds": 1.5,
}
EVIL_FIGURE = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><script>alert(6)</script></svg>"


def folder_of_collections(place: Path) -> Path:
    """Two collections with titles that would act, one of them refreshed, one that was never crawled, a map, a study,
    and things that are none of all that."""
    for name, pages in (("bees", len(TITLES) + 1), ("few", 6)):
        crawled = collection(place / name, [HOME], topic='examples = "good.txt"')
        listing(crawled / "good.txt", ["honey bees in their hive", "a hive of bees and its honey"])
        crawl(crawled, WORLD, pages)
    refresh(place / "few", LATER, requests=6)
    collection(place / "new", [HOME])
    with Atlas(place / "atlas", writable=True, allow_private=True, now=NOW) as atlas:
        seen = {Url(f"http://maps.example.org/{number}"): Sighting(NOW, EVIL_TOPIC) for number in range(30)}
        atlas.extend(EVIL_TOPIC, seen, [(one, other) for one in seen for other in seen if one != other], at=NOW)
        atlas.set_citations("bees", CitationMatrix((EVIL_TOPIC, "bees"), ((3, 1), (0, 2))))
    study = place / "results" / "small"
    study.mkdir(parents=True)
    (study / "results.json").write_bytes(msgspec.json.encode(STUDY))
    (study / "one.svg").write_text(EVIL_FIGURE)
    (place / "results" / "results.json").write_text("no results")
    (place / "notes").mkdir()
    (place / ".hidden").mkdir()
    (place / ".hidden" / "lycosa.toml").write_text("")
    return place


class _Refresh(Refresh):
    """A refresh that asks a web in memory."""

    def __init__(self, session: Session, world: Mapping[Url, Any], requests: int):
        super().__init__(session, CommandSettings(), plan_of(budget=requests, expand=0.0))
        self._world = world

    def _web(self, stack: AsyncExitStack) -> RobotsWeb:
        return web_of(self._world, self._session)


def refresh(folder: Path, world: Mapping[Url, Any], *, requests: int) -> None:
    """Sees so many pages again, a day after the crawl."""

    async def seen(refreshing: _Refresh) -> None:
        async with refreshing as visits:
            async for _ in visits:
                pass

    with opened(folder, now=NOW + 86_400, stop=Budget(requests=requests)) as session:
        asyncio.run(seen(_Refresh(session, world, requests)))


class Browser:
    """Somebody who asks the screens: with the cookie of the entry page, or without it."""

    def __init__(self, root: Path, *, has_cookie: bool = True, base: str = BASE, **access: Any):
        self.launched: list[list[str]] = []
        crawls = Crawls(launch=self._launch)
        self.base = base
        self.application: AccessControl = make_app(Library(root), ScreenAccess(PORT, **access), crawls=crawls)
        self._client = TestClient(self.application, base_url=base, follow_redirects=False, raise_server_exceptions=True)
        if has_cookie:
            self.get(f"/?token={self.application.token}")

    def open(self) -> TestClient:
        """One event loop for all requests within it, as a server has."""
        return self._client

    def _launch(self, words: list[str], **options: Any) -> Any:
        """Something that fails, in the place of a crawl."""
        self.launched.append(words)
        return Popen([sys.executable, "-c", "import sys; sys.exit('lycosa: no page was stored')"], **options)

    def get(self, path: str, **headers: str) -> Any:
        return self._client.get(path, headers=_headers(headers))

    def post(self, path: str, fields: Mapping[str, str], *, form_token: str | None = None, **headers: str) -> Any:
        token = self.application.form_token if form_token is None else form_token
        headers.setdefault("origin", self.base)
        return self._client.post(path, data={**fields, "form_token": token}, headers=_headers(headers))

    def ask(self, method: str, path: str, **headers: str) -> Any:
        return self._client.request(method, path, headers=_headers(headers))


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items() if value}
