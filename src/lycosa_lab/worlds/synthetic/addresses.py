"""The URLs of a synthetic world: computed from the number of a page, and the number from the URL.

The pages of a site are numbered consecutively: its home page, its sections, then the articles of each section.
"""

import re
from collections.abc import Iterable
from copy import copy

import numpy as np

from lycosa.vocabulary.records import Host, Url

from .counter_rng import Ints
from .plan import MAX_FOLDERS, PageKind, WorldPlan
from .vocabulary import FOLDERS, SECTION_NAMES, Vocabulary

_SECTION = re.compile(r"http://([a-z-]+\.example)/(?:[a-z]+-([0-9]{1,4})/)?").fullmatch
_ARTICLE = re.compile(r"http://[a-z-]+\.example/[a-z0-9/-]*/([0-9]{1,9})\.html").fullmatch
_HOME_PAGE, _SECTION_PAGE = int(PageKind.HOME), int(PageKind.SECTION)  # to compare integers, millions of times
_PATHS = [  # folders below a section, by the number of a page modulo len(FOLDERS) and by its depth
    [
        "".join(f"{FOLDERS[(first + 5 * level) % len(FOLDERS)]}/" for level in range(depth - 1))
        for depth in range(MAX_FOLDERS + 1)
    ]
    for first in range(len(FOLDERS))
]


class PageUrls:
    """Converts between the numbers and the URLs of pages."""

    def __init__(self, plan: WorldPlan, hosts: Iterable[str], words: Vocabulary):
        self._hosts = [Host(host) for host in hosts]
        self._site_of_host = {host: site for site, host in enumerate(self._hosts)}
        self.hosts = self._site_of_host.keys()
        self._plan = plan
        names = words.words(np.maximum(plan.section_word, 0).astype(np.int64))
        self.section_names = [
            name if word_index >= 0 else SECTION_NAMES[-1 - word_index]
            for name, word_index in zip(names, plan.section_word.tolist(), strict=True)
        ]
        sites = np.searchsorted(plan.first_section, np.arange(len(names)), side="right") - 1
        orders = (np.arange(len(names)) - plan.first_section[sites] + 1).tolist()  # within the site, from 1 on
        self._sections = [
            f"http://{self._hosts[site]}/{name}-{order}/"
            for site, name, order in zip(sites.tolist(), self.section_names, orders, strict=True)
        ]

    def urls(self, pages: Ints) -> list[Url]:
        """The URLs of pages; faster than `url` for each."""
        plan = self._plan
        columns = (plan.section_of_page[pages], plan.site_of_page[pages], plan.depth[pages])
        rows = zip(pages.tolist(), *(column.tolist() for column in columns), plan.kind[pages].tolist(), strict=True)
        return [Url(self._url(*row)) for row in rows]

    def url(self, page: int) -> Url:
        plan = self._plan
        section, site = plan.section_of_page.item(page), plan.site_of_page.item(page)
        return Url(self._url(page, section, site, plan.depth.item(page), plan.kind.item(page)))

    def with_plan(self, plan: WorldPlan) -> "PageUrls":
        """The URLs of a plan with the same sites and more pages."""
        extended = copy(self)
        extended._plan = plan
        return extended

    def number(self, url: str) -> int | None:
        """The page at a URL, None if there is none."""
        found = _ARTICLE(url)
        if found:
            page = int(found[1])
        else:
            found = _SECTION(url)
            site = self._site_of_host.get(Host(found[1])) if found else None
            if found is None or site is None:
                return None
            order = int(found[2] or 0)
            page = int(self._plan.site_start[site]) + order
        return page if page < len(self._plan) and self.url(page) == url else None

    def _url(self, page: int, section: int, site: int, depth: int, kind: int) -> str:
        if kind == _HOME_PAGE:
            return f"http://{self._hosts[site]}/"
        if kind == _SECTION_PAGE:
            return self._sections[section]
        return f"{self._sections[section]}{_PATHS[page % len(FOLDERS)][depth]}{page}.html"
