"""Webs that are made, not found: for the demo, for tests and for studies. `World` is all that `serve` asks of one."""

from collections.abc import Collection, Mapping
from typing import Protocol

from lycosa.vocabulary.records import Host, Url
from lycosa.vocabulary.urls import host_of


class World(Protocol):
    """Everything there is to fetch, held in memory or made up when asked for."""

    @property
    def hosts(self) -> Collection[Host]: ...

    def page(self, url: Url) -> bytes | None:
        """The body found at the URL, None where there is none."""
        ...

    def redirect(self, url: Url) -> Url | None:
        """Where the URL sends its visitors, None where it does not."""
        ...

    def robots(self, host: Host) -> str | None:
        """The host's robots.txt, None where it has none."""
        ...


class FixedWorld:
    """A world of given pages."""

    def __init__(
        self,
        pages: Mapping[Url, bytes],
        *,
        redirects: Mapping[Url, Url] | None = None,
        robots: Mapping[Host, str] | None = None,
    ):
        self._pages = pages
        self._redirects = redirects or {}
        self._robots = robots or {}
        self.hosts: Collection[Host] = sorted({host_of(url) for url in (*pages, *self._redirects)})

    def page(self, url: Url) -> bytes | None:
        return self._pages.get(url)

    def redirect(self, url: Url) -> Url | None:
        return self._redirects.get(url)

    def robots(self, host: Host) -> str | None:
        return self._robots.get(host)
