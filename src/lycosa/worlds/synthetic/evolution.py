"""How the world goes on: pages appear, vanish and change, each at its own rate, as a pure function of time.

Changes come as a Poisson process for each page (Cho and Garcia-Molina, The evolution of the Web, 2000). New pages are
articles that grow beside a page that was there at the start; its text links to them, and so does their section.
"""

from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError

from .counter_rng import Floats, Ints, key, normals, subkey, uniforms, uniforms_at
from .links import SECTIONS_SHOWN, Attraction, Links
from .pages import CHUNK
from .plan import Features, Kind, Options, Plan, draw_features

BIRTHS = 0.002  # new pages a day, for each page at the start
DEATHS = (0.00003, 0.00015, 0.0015)  # a day, of the median home page, section and article
CHANGES = (0.1, 0.06, 0.02)  # a day, likewise
DEATH_SPREAD, CHANGE_SPREAD = 0.8, 1.5  # of the logarithms of these rates
MOST_CHANGES = 4.0  # a day
REWRITTEN, RELINKED = 0.25, 0.15  # of the chunks and of the links in the text, at a change
NEWEST_LISTED = 10  # new articles that a section shows
_LATEST = 64  # changes that are looked back at; what none of them touched is as it was at the start
_AT_ONCE = 64  # changes


class Snapshot:
    """The world as it is some days after its start."""

    def __init__(self, options: Options, plan: Plan, links: Links, attraction: Attraction, days: float):
        if not 0.0 <= days <= 36_500.0:
            raise UsageError(f"a world can be seen 0 to 36500 days after its start, not {days}")
        self.days = days
        self._links, self._attraction, self._first = links, attraction, len(plan)
        self._deaths, self._changes, self._texts, self._relinks = (
            key(options.seed, purpose) for purpose in ("deaths", "changes", "rewritten", "relinked")
        )
        self._parents, born = _births(options.seed, len(plan), days)
        self.plan = _extended(options, plan, self._parents)
        rates = np.array(DEATHS)[self.plan.kind] * np.exp(
            DEATH_SPREAD * normals(key(options.seed, "death rates"), len(self.plan))
        )
        lives = -np.log1p(-uniforms(self._deaths, len(self.plan))) / rates
        lives[len(plan) :] += born
        self.exists: NDArray[np.bool_] = lives > days
        self._by_parent = np.argsort(self._parents, kind="stable")
        sections = self.plan.section_of_page[len(plan) :]
        self._by_section = np.argsort(sections, kind="stable")
        self._sorted_parents, self._sorted_sections = self._parents[self._by_parent], sections[self._by_section]

    def changes(self, page: int) -> NDArray[np.float64]:
        """The days on which a page has changed so far."""
        start = subkey(self._changes, page)
        rate = CHANGES[self.plan.kind[page]] * float(np.exp(CHANGE_SPREAD * normals(subkey(start, 0), 1)[0]))
        rate = min(rate, MOST_CHANGES)
        times = np.empty(0)
        while not len(times) or times[-1] <= self.days:
            waits = -np.log1p(-uniforms_at(start, np.arange(len(times), len(times) + _AT_ONCE))) / rate
            times = np.concatenate((times, (times[-1] if len(times) else 0.0) + np.cumsum(waits)))
        return times[: np.searchsorted(times, self.days, side="right")]

    def editions(self, page: int) -> Ints:
        """For each chunk of a page's text, the number of the change that wrote it; 0 for what it said at the start."""
        chunks = -(-int(self.plan.words[page]) // CHUNK)
        count = len(self.changes(page))
        return _latest(subkey(self._texts, page), count, chunks, REWRITTEN, at_least_one=True)

    def links_of(self, page: int) -> tuple[NDArray[np.int32], int]:
        """Where a page links to, and how many of its links are navigation."""
        if page < self._first:
            targets, navigation = self._links.of(page).copy(), int(self._links.navigation[page])
        else:
            targets, navigation = self._first_links(page)
        slots = len(targets) - navigation
        latest = _latest(subkey(self._relinks, page), len(self.changes(page)), slots, RELINKED)
        moved = np.flatnonzero(latest)
        if len(moved):
            targets[navigation + moved] = self._new_targets(page, latest[moved] * 1024 + moved)
        everything = [*targets.tolist(), *self._children(page)]
        kept = dict.fromkeys(target for target in everything if target != page)
        return np.array(list(kept), dtype=np.int32), navigation

    def _new_targets(self, page: int, counters: Ints) -> Ints:
        """Pages for links that are rewritten: some of the same section, some fit ones on the topic elsewhere."""
        start, section = subkey(self._relinks, ~page), int(self.plan.section_of_page[page])
        u = uniforms_at(start, 2 * counters)
        topics = np.full(len(counters), self.plan.topic[page], dtype=np.int64)
        fit = self._attraction.fit(topics, uniforms_at(start, 2 * counters + 1))
        size = int(self.plan.section_size[section])
        near = self.plan.section_start[section] + (u * 2 * max(size, 1)).astype(np.int64)
        return np.where((u < 0.5) & (size > 0), near, fit)

    def _first_links(self, page: int) -> tuple[NDArray[np.int32], int]:
        """The links that a new page is born with."""
        plan = self.plan
        site, section = int(plan.site_of_page[page]), int(plan.section_of_page[page])
        home, first = int(plan.site_start[site]), int(plan.first_section[site])
        shown = range(min(SECTIONS_SHOWN, int(plan.first_section[site + 1]) - first))
        up = dict.fromkeys((home, home + 1 + section - first, *(home + 1 + number for number in shown)))
        parent = int(self._parents[page - self._first])
        across = self._new_targets(page, -1 - np.arange(2 + int(plan.cross_links[page])))
        in_text = dict.fromkeys(target for target in (parent, *across.tolist()) if target not in up)
        return np.array([*up, *in_text], dtype=np.int32), len(up)

    def _children(self, page: int) -> list[int]:
        """New pages that a page shows: those that grew beside it, and on a section its newest."""
        low, high = np.searchsorted(self._sorted_parents, (page, page + 1))
        children = self._by_parent[low:high]
        if self.plan.kind[page] == Kind.SECTION:
            section = int(self.plan.section_of_page[page])
            low, high = np.searchsorted(self._sorted_sections, (section, section + 1))
            children = np.concatenate((children, self._by_section[max(low, high - NEWEST_LISTED) : high]))
        found: list[int] = (children + self._first).tolist()
        return found


def _births(seed: int, pages: int, days: float) -> tuple[Ints, Floats]:
    """The page beside which each new page grew, and the day on which it was born."""
    count = int(days * BIRTHS * pages) + 1
    born = (np.arange(count) + uniforms(key(seed, "births"), count)) / (BIRTHS * pages)
    born = born[born <= days]
    return (uniforms(key(seed, "parents"), len(born)) * pages).astype(np.int64), born


def _extended(options: Options, plan: Plan, parents: Ints) -> Plan:
    """The plan with the new pages behind the old ones."""
    own = normals(key(options.seed, "born quality"), len(parents))
    alike = 0.5 * options.status_homophily
    latent = alike * plan.latent[parents] + np.sqrt(1.0 - alike**2) * own
    ranks = np.searchsorted(np.sort(plan.latent), latent)
    features = draw_features(options, latent, born=" born")
    columns = {
        "site_of_page": plan.site_of_page[parents],
        "section_of_page": plan.section_of_page[parents],
        "kind": np.full(len(parents), Kind.ARTICLE),
        "topic": plan.topic[parents],
        "latent": latent,
        "in_links": np.sort(plan.in_links)[np.minimum(ranks, len(plan) - 1)],
        **{field.name: getattr(features, field.name) for field in fields(Features)},
    }
    return replace(plan, **{name: _appended(getattr(plan, name), column) for name, column in columns.items()})


def _appended(column: Floats, more: Floats) -> Floats:
    return np.concatenate((column, more.astype(column.dtype)))


def _latest(start: int, changes: int, parts: int, share: float, *, at_least_one: bool = False) -> Ints:
    """For each part of a page the number of the last change that touched it, 0 where none did."""
    numbers = np.arange(max(1, changes - _LATEST + 1), changes + 1)
    if not len(numbers) or not parts:
        return np.zeros(parts, dtype=np.int64)
    u = uniforms_at(start, numbers[:, None] * 1024 + np.arange(parts + 1))
    touched = u[:, :parts] < share
    if at_least_one:
        touched[np.arange(len(numbers)), (u[:, parts] * parts).astype(np.int64)] = True
    latest: Ints = np.where(touched, numbers[:, None], 0).max(axis=0)
    return latest
