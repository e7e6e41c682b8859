"""Screens over a small folder of collections, asked in this process."""

import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import Popen
from typing import Any

from starlette.testclient import TestClient

from crawling import collection, listing
from lycosa.screens.app import make_app
from lycosa.screens.crawls import Crawls
from lycosa.screens.gate import Gate
from lycosa.screens.library import Library
from sessions import crawl
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


def folder_of_collections(place: Path) -> Path:
    """A collection with titles that would act, one that was never crawled, and things that are none."""
    crawled = collection(place / "bees", [HOME], topic='examples = "good.txt"')
    listing(crawled / "good.txt", ["honey bees in their hive", "a hive of bees and its honey"])
    crawl(crawled, WORLD, len(TITLES) + 1)
    collection(place / "new", [HOME])
    (place / "notes").mkdir()
    (place / ".hidden").mkdir()
    (place / ".hidden" / "lycosa.toml").write_text("")
    return place


class Browser:
    """Somebody who asks the screens: with the cookie of the entry page, or without it."""

    def __init__(self, root: Path, *, has_cookie: bool = True, **options: Any):
        self.launched: list[list[str]] = []
        crawls = Crawls(launch=self._launch)
        self.gate: Gate = make_app(Library(root), port=PORT, crawls=crawls, **options)
        self._client = TestClient(self.gate, base_url=BASE, follow_redirects=False, raise_server_exceptions=True)
        if has_cookie:
            self.get(f"/?token={self.gate.token}")

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
        token = self.gate.form_token if form_token is None else form_token
        headers.setdefault("origin", BASE)
        return self._client.post(path, data={**fields, "form_token": token}, headers=_headers(headers))

    def ask(self, method: str, path: str, **headers: str) -> Any:
        return self._client.request(method, path, headers=_headers(headers))


def _headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items() if value}
