"""A world of given pages."""

from collections.abc import Collection, Mapping

from lycosa.vocabulary.records import Host, Url
from lycosa.vocabulary.urls import host_of


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
