"""The evolution of a synthetic world: pages appear, vanish and change, each at its own rate, computed for any time.

Changes of a page are a Poisson process (Cho and Garcia-Molina, The evolution of the Web, 2000). New pages are articles.
Each has a parent among the pages that the world began with, which links to it; a section links to its newest articles.
"""

from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError

from .counter_rng import Floats, Ints, normals, stream_key, subkey, uniforms, uniforms_at
from .links import SECTIONS_SHOWN, Links, PageLinks, TargetSampler
from .plan import Options, PageFeatures, PageKind, WorldPlan, draw_features
from .text import CHUNK

BIRTHS = 0.002  # new pages a day, per page of the world at its start
DEATHS = (0.00003, 0.00015, 0.0015)  # median rates a day of home pages, sections and articles
CHANGES = (0.1, 0.06, 0.02)  # median rates a day of home pages, sections and articles
DEATH_SPREAD, CHANGE_SPREAD = 0.8, 1.5  # standard deviations of the logarithms of these rates
MAX_CHANGES = 4.0  # the highest rate a day of any page
REWRITTEN, RELINKED = 0.25, 0.15  # shares of the text (by CHUNK words) and of its links that a change replaces
NEWEST_LISTED = 10  # new articles that a section links to
_HISTORY = 64  # latest changes considered; what none of them replaced counts as never replaced
_BATCH = 64  # changes drawn at once


def change_rate(rng_key: int, page: int, kind: int) -> float:
    """The expected changes per day of a page; `rng_key` is the key of the changes of its world."""
    rate = CHANGES[kind] * float(np.exp(CHANGE_SPREAD * normals(subkey(subkey(rng_key, page), 0), 1)[0]))
    return min(rate, MAX_CHANGES)


class Snapshot:
    """The state of a world some days after its start."""

    def __init__(self, options: Options, plan: WorldPlan, links: Links, target_sampler: TargetSampler, days: float):
        if not 0.0 <= days <= 36_500.0:
            raise UsageError(f"a world can be seen 0 to 36500 days after its start, not {days}")
        self.days = days
        self._links, self._target_sampler, self._first_new_page = links, target_sampler, len(plan)
        self._death_key, self._change_key, self._text_key, self._relink_key = (
            stream_key(options.seed, purpose) for purpose in ("deaths", "changes", "rewritten", "relinked")
        )
        self._parents, birth_days = _births(options.seed, len(plan), days)
        self.plan = _extended(options, plan, self._parents)
        rates = np.array(DEATHS)[self.plan.kind] * np.exp(
            DEATH_SPREAD * normals(stream_key(options.seed, "death rates"), len(self.plan))
        )
        death_days = -np.log1p(-uniforms(self._death_key, len(self.plan))) / rates
        death_days[len(plan) :] += birth_days
        self.exists: NDArray[np.bool_] = death_days > days
        self._by_parent = np.argsort(self._parents, kind="stable")
        sections = self.plan.section_of_page[len(plan) :]
        self._by_section = np.argsort(sections, kind="stable")
        self._sorted_parents, self._sorted_sections = self._parents[self._by_parent], sections[self._by_section]

    def changes(self, page: int) -> NDArray[np.float64]:
        """The times of the changes of a page so far, in days; of a new page, some are before it appeared."""
        rng_key, rate = subkey(self._change_key, page), change_rate(self._change_key, page, self.plan.kind[page])
        times = np.empty(0)
        while not len(times) or times[-1] <= self.days:
            waits = -np.log1p(-uniforms_at(rng_key, np.arange(len(times), len(times) + _BATCH))) / rate
            times = np.concatenate((times, (times[-1] if len(times) else 0.0) + np.cumsum(waits)))
        return times[: np.searchsorted(times, self.days, side="right")]

    def editions(self, page: int) -> Ints:
        """For each chunk of the text of a page, the number of the change that wrote it; 0 for its first text."""
        chunks = -(-int(self.plan.words[page]) // CHUNK)
        count = len(self.changes(page))
        return _latest(subkey(self._text_key, page), count, chunks, REWRITTEN, at_least_one=True)

    def links_of(self, page: int) -> PageLinks:
        if page < self._first_new_page:
            targets, navigation_count = self._links.of(page).copy(), int(self._links.navigation[page])
        else:
            targets, navigation_count = self._first_links(page)
        in_text_count = len(targets) - navigation_count
        latest = _latest(subkey(self._relink_key, page), len(self.changes(page)), in_text_count, RELINKED)
        moved = np.flatnonzero(latest)
        if len(moved):
            targets[navigation_count + moved] = self._new_targets(page, latest[moved] * 1024 + moved)
        links = [*targets.tolist(), *self._children(page)]
        kept = dict.fromkeys(target for target in links if target != page)
        return PageLinks(np.array(list(kept), dtype=np.int32), navigation_count)

    def _new_targets(self, page: int, counters: Ints) -> Ints:
        """Targets for replaced links: half of the time any article of its section, else of its topic, by fitness (see
        `TargetSampler`)."""
        rng_key, section = subkey(self._relink_key, ~page), int(self.plan.section_of_page[page])
        u = uniforms_at(rng_key, 2 * counters)
        topics = np.full(len(counters), self.plan.topic[page], dtype=np.int64)
        by_fitness = self._target_sampler.sample_by_fitness(topics, uniforms_at(rng_key, 2 * counters + 1))
        size = int(self.plan.section_size[section])
        in_section = self.plan.section_start[section] + (u * 2 * max(size, 1)).astype(np.int64)
        return np.where((u < 0.5) & (size > 0), in_section, by_fitness)

    def _first_links(self, page: int) -> PageLinks:
        """The links that a new page has at first."""
        plan = self.plan
        site, section = int(plan.site_of_page[page]), int(plan.section_of_page[page])
        home, first = int(plan.site_start[site]), int(plan.first_section[site])
        shown = range(min(SECTIONS_SHOWN, int(plan.first_section[site + 1]) - first))
        navigation = dict.fromkeys((home, home + 1 + section - first, *(home + 1 + number for number in shown)))
        parent = int(self._parents[page - self._first_new_page])
        # As many as a page at the beginning has across sites, and two more, since some are within its own section.
        in_text_targets = self._new_targets(page, -1 - np.arange(2 + int(plan.cross_links[page])))
        in_text = dict.fromkeys(target for target in (parent, *in_text_targets.tolist()) if target not in navigation)
        return PageLinks(np.array([*navigation, *in_text], dtype=np.int32), len(navigation))

    def _children(self, page: int) -> list[int]:
        """New pages that a page links to: its children, and on a section its newest articles."""
        low, high = np.searchsorted(self._sorted_parents, (page, page + 1))
        children = self._by_parent[low:high]
        if self.plan.kind[page] == PageKind.SECTION:
            section = int(self.plan.section_of_page[page])
            low, high = np.searchsorted(self._sorted_sections, (section, section + 1))
            children = np.concatenate((children, self._by_section[max(low, high - NEWEST_LISTED) : high]))
        found: list[int] = (children + self._first_new_page).tolist()
        return found


def _births(seed: int, page_count: int, days: float) -> tuple[Ints, Floats]:
    """The parent of each new page, and the day on which it appeared."""
    count = int(days * BIRTHS * page_count) + 1
    birth_days = (np.arange(count) + uniforms(stream_key(seed, "births"), count)) / (BIRTHS * page_count)
    birth_days = birth_days[birth_days <= days]
    return (uniforms(stream_key(seed, "parents"), len(birth_days)) * page_count).astype(np.int64), birth_days


def _extended(options: Options, plan: WorldPlan, parents: Ints) -> WorldPlan:
    """The plan with the new pages appended."""
    # The latent standing of a new page is correlated with that of its parent.
    own = normals(stream_key(options.seed, "born quality"), len(parents))
    correlation = 0.5 * options.status_homophily
    latent = correlation * plan.latent[parents] + np.sqrt(1.0 - correlation**2) * own
    ranks = np.searchsorted(np.sort(plan.latent), latent)
    features = draw_features(options, latent, purpose_suffix=" born")
    columns = {
        "site_of_page": plan.site_of_page[parents],
        "section_of_page": plan.section_of_page[parents],
        "kind": np.full(len(parents), PageKind.ARTICLE),
        "topic": plan.topic[parents],
        "latent": latent,
        "in_links": np.sort(plan.in_links)[np.minimum(ranks, len(plan) - 1)],
        **{field.name: getattr(features, field.name) for field in fields(PageFeatures)},
    }
    return replace(plan, **{name: _concatenate(getattr(plan, name), column) for name, column in columns.items()})


def _concatenate(column: Floats, more: Floats) -> Floats:
    return np.concatenate((column, more.astype(column.dtype)))


def _latest(rng_key: int, change_count: int, part_count: int, share: float, *, at_least_one: bool = False) -> Ints:
    """For each part of a page the number of the last change that replaced it, 0 if none did. Changes count from 1.

    share: the probability that a change replaces a part; at_least_one: each change replaces one part or more.
    """
    numbers = np.arange(max(1, change_count - _HISTORY + 1), change_count + 1)
    if not len(numbers) or not part_count:
        return np.zeros(part_count, dtype=np.int64)
    u = uniforms_at(rng_key, numbers[:, None] * 1024 + np.arange(part_count + 1))
    touched = u[:, :part_count] < share
    if at_least_one:
        touched[np.arange(len(numbers)), (u[:, part_count] * part_count).astype(np.int64)] = True
    latest: Ints = np.where(touched, numbers[:, None], 0).max(axis=0)
    return latest
