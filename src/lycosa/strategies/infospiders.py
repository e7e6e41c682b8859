"""InfoSpiders: a population of agents that follow links, learn, reproduce and die."""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import hypot, log, tanh
from random import Random
from typing import NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.records import Candidate, JsonValue, Link, Outcome, Page, Skip, Url, Visit
from lycosa.vocabulary.text import codes_of, tokens_of

from .base import BaseStrategy, checked_number, checked_share, random_state, restore_random
from .url_sets import SettledUrls

Vector = NDArray[np.float64]
_REVISITS_BEFORE_CHECK = 100  # in a row, after which it is checked whether the agent can reach any new page
MAX_REMEMBERED_LINKS = 10_000  # of a page; one that has new links at every refresh would take ever more memory
_MAX_WINDOW = 1_000  # words to each side of a link; memory grows with it times the keywords in a page
_MAX_OWN_KEYWORDS = 20  # taken from an agent's first page if the topic is not given in words


def keywords_near(page: Page, links: Sequence[Link], keywords: Collection[str], *, window: int) -> dict[str, Vector]:
    """For each keyword near some link, a vector over the links: Σ 1 / distance over its occurrences.

    The distance is counted in words from the first word of the link, which itself is at distance 1; words more than
    `window` words away do not count. A word counts as a keyword if it, or else its term in this page, is one.
    """
    words, link_positions = _words_and_link_positions(page.text, links)
    keyword_of = _keyword_of_words(list(set(words)), page, keywords)
    positions_of: dict[str, list[int]] = {}
    for position, word in enumerate(words):
        if word in keyword_of:
            positions_of.setdefault(keyword_of[word], []).append(position)
    offsets = np.arange(-window, window + 1)
    weights = 1.0 / (np.abs(offsets) + 1)
    found: dict[str, Vector] = {}
    for keyword, positions in positions_of.items():
        near_positions = (np.array(positions)[:, None] + (offsets + window)).ravel()
        word_sums = np.bincount(near_positions, np.tile(weights, len(positions)), len(words) + 2 * window + 1)
        link_sums = np.asarray(word_sums[link_positions + window], dtype=np.float64)
        if link_sums.any():
            found[keyword] = link_sums
    return found


def _words_and_link_positions(text: str, links: Sequence[Link]) -> tuple[list[str], NDArray[np.intp]]:
    """All words of a text, and the index of the word at which each link begins."""
    words: list[str] = []
    before: dict[int, int] = {}  # words before a position in the text
    start = 0
    for position in sorted({link.position for link in links}):
        words += tokens_of(text[start:position])
        before[position] = len(words)
        start = position
    words += tokens_of(text[start:])
    return words, np.array([before[link.position] for link in links], dtype=np.intp)


def _keyword_of_words(words: Sequence[str], page: Page, keywords: Collection[str]) -> dict[str, str]:
    """The keyword for each word that is a keyword, or whose term in this page is one.

    The term of a word is the word as the reader of the page stems it; codes are 64-bit hashes of words.
    """
    keyword_of_code = dict(zip(codes_of(keywords).tolist(), keywords, strict=True))
    found = {}
    for word, term_codes in zip(words, page.words.codes_of(words), strict=True):
        codes = term_codes.tolist()  # at most one, since these are the codes of a single word
        if word in keywords:
            found[word] = word
        elif codes and codes[0] in keyword_of_code:
            found[word] = keyword_of_code[codes[0]]
    return found


class RememberedPage:
    """What is remembered of a page: the targets of its links, and the keywords near them."""

    def __init__(self, targets: Sequence[Url], depth: int, inputs_by_keyword: Mapping[str, Vector]):
        self.targets = targets
        self.depth = depth
        self.keywords = list(inputs_by_keyword)
        rows = list(inputs_by_keyword.values())
        self.inputs = np.array(rows).reshape(len(rows), len(targets))  # keyword by link

    def inputs_of(self, link: int) -> dict[str, float]:
        """The keywords near the link of this number, with their inputs."""
        return {key: value for key, value in zip(self.keywords, self.inputs[:, link].tolist(), strict=True) if value}

    def with_links(self, targets: Sequence[Url], inputs_by_keyword: Mapping[str, Vector]) -> "RememberedPage":
        """The page with further links, after those it has: these keep their numbers."""
        earlier = dict(zip(self.keywords, self.inputs, strict=True))
        no_input, no_new_input = np.zeros(len(self.targets)), np.zeros(len(targets))
        inputs = {
            keyword: np.concatenate((earlier.get(keyword, no_input), inputs_by_keyword.get(keyword, no_new_input)))
            for keyword in dict.fromkeys((*earlier, *inputs_by_keyword))
        }
        return RememberedPage([*self.targets, *targets], self.depth, inputs)

    def state(self) -> JsonValue:
        """Inputs as (number of keyword, number of link, value), without zeros."""
        rows, columns = self.inputs.nonzero()
        values = self.inputs[rows, columns]
        return [list(self.targets), self.depth, self.keywords, rows.tolist(), columns.tolist(), values.tolist()]

    @classmethod
    def from_state(cls, state: JsonValue) -> Self:
        targets, depth, keywords, rows, columns, values = state
        page = cls(targets, depth, dict.fromkeys(keywords, np.zeros(len(targets))))
        page.inputs[rows, columns] = values
        return page


class _Options(NamedTuple):
    """The links of a page that may be chosen, by their numbers."""

    links: list[int]
    cumulative: list[float]  # probabilities
    is_new: list[bool]  # whether they lead to pages not visited yet


class PageMemory:
    """The remembered pages, a least-recently-used cache.

    limit: number of pages; pages on which an agent stands are kept even beyond it.
    """

    def __init__(self, limit: int):
        self._limit = limit
        self._pages: OrderedDict[Url, RememberedPage] = OrderedDict()

    def __contains__(self, url: Url) -> bool:
        return url in self._pages

    def get(self, url: Url) -> RememberedPage:
        """The page, which is then the last used."""
        self._pages.move_to_end(url)
        return self._pages[url]

    def keep(self, url: Url, page: RememberedPage, *, occupied: Container[Url]) -> None:
        self._pages[url] = page
        self._pages.move_to_end(url)  # it may have been there, as an older page
        excess = len(self._pages) - self._limit
        if excess > 0:
            for old in self._unused(occupied)[:excess]:
                del self._pages[old]

    def _unused(self, occupied: Container[Url]) -> list[Url]:
        newest = next(reversed(self._pages))
        return [url for url in self._pages if url not in occupied and url != newest]

    def state(self) -> JsonValue:
        return [[url, page.state()] for url, page in self._pages.items()]

    def restore(self, state: Iterable[JsonValue]) -> None:
        self._pages = OrderedDict((url, RememberedPage.from_state(page)) for url, page in state)


@dataclass
class Agent:
    """A keyword vector and a perceptron over it.

    The agent is on a page and waits for the target of one of its links.
    """

    number: int
    energy: float
    frequencies: dict[str, float]  # of the keywords, as in a text
    weights: dict[str, float]  # of the perceptron, one for each keyword
    page: Url | None = None  # where it is; None before it has read its first
    link: int = -1  # number of the link of this page that it waits for
    target: Url | None = None  # where that leads: a redirect may have changed it
    next_move_at: float = 0.0

    def adopt_keywords(self, frequencies: Mapping[str, float]) -> None:
        """Adopts terms as keywords; the initial weights are the normalised vector of their frequencies."""
        norm = hypot(*frequencies.values())
        self.frequencies = dict(frequencies)
        self.weights = {keyword: frequency / norm for keyword, frequency in frequencies.items()}

    def estimates(self, page: RememberedPage) -> Vector:
        """The expected similarity of each linked page with its keywords: tanh(weights · inputs)."""
        weights = np.array([self.weights.get(keyword, 0.0) for keyword in page.keywords])
        estimates: Vector = np.tanh(weights @ page.inputs)
        return estimates

    def learn(
        self, inputs: Mapping[str, float], similarity: float, *, epochs: int, rate: float, momentum: float
    ) -> None:
        """Trains the perceptron on one link by gradient descent with momentum: its inputs, and the true similarity."""
        weights = self.weights
        known = {keyword: value for keyword, value in inputs.items() if keyword in weights}
        last_change = dict.fromkeys(known, 0.0)
        for _ in range(epochs):
            output = tanh(sum(weights[keyword] * value for keyword, value in known.items()))
            slope = rate * (similarity - output) * (1 - output * output)
            for keyword, value in known.items():
                last_change[keyword] = slope * value + momentum * last_change[keyword]
                weights[keyword] += last_change[keyword]

    def similarity(self, terms: Mapping[str, int], norm: float) -> float:
        """Cosine between its keywords and a page of these terms."""
        return cosine(self.frequencies, terms, norm)

    def offspring(self, number: int, terms: Mapping[str, int], random: Random) -> "Agent":
        """Halves its energy and returns a copy with the other half, in which one keyword is replaced: the least
        frequent on the page (at random among equals) by the page's most frequent term that is not a keyword yet, which
        inherits its frequency and weight."""
        self.energy /= 2
        child = replace(self, number=number, frequencies=dict(self.frequencies), weights=dict(self.weights))
        fresh = [(-count, term) for term, count in terms.items() if term not in self.weights]
        if fresh and self.weights:
            least = min(terms.get(keyword, 0) for keyword in self.weights)
            dropped = random.choice([keyword for keyword in self.weights if terms.get(keyword, 0) == least])
            adopted = min(fresh)[1]
            child.frequencies[adopted] = child.frequencies.pop(dropped)
            child.weights[adopted] = child.weights.pop(dropped)
        return child

    def state(self) -> JsonValue:
        state = asdict(self)
        state["turn"] = state.pop("next_move_at")
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, JsonValue]) -> Self:
        fields = dict(state)
        return cls(next_move_at=fields.pop("turn"), **fields)


def cosine(topic: Mapping[str, float], terms: Mapping[str, int], norm: float) -> float:
    """Cosine similarity of a topic and a page whose terms have this norm, by raw frequencies."""
    product = sum(frequency * terms.get(term, 0) for term, frequency in topic.items())
    return product / (norm * hypot(*topic.values())) if product else 0.0


def norm_of(terms: Mapping[str, int]) -> float:
    counts = np.fromiter(terms.values(), np.float64, len(terms))
    return float(np.sqrt(counts @ counts))


def boltzmann(estimates: Vector, temperature: float) -> Vector:
    """The probability that each link is chosen, proportional to exp(estimate / temperature)."""
    odds: Vector = np.exp((estimates - estimates.max()) / temperature)
    probabilities: Vector = odds / odds.sum()
    return probabilities


class InfoSpiders(BaseStrategy):
    """A population of agents, one for each seed, that live on relevant pages; the crawl ends when the last one dies.

    An agent estimates the links of its page from the words around them and chooses one at random:
    P(link) ∝ exp(estimate / temperature). Only this link waits. priority = -(time of the agent's next move), where the
    moves of an agent are Exp(1) apart, so that each agent is equally likely to move next.

    Energy: a fetched page gives its relevance and costs seeds · theta / (2 · pages). An agent reproduces at `theta`
    (`Agent.offspring`) and dies at 0. It learns from every fetched page (`Agent.learn`).

    A visited page is not fetched again: the agent moves on from the remembered page without energy or learning, at a
    part of the cost. If a link is dead or rejected, the agent chooses another at the same time; if a page has no links,
    the agent stays on the previous page; if it has nowhere to go, it dies. A seed that failed and is fetched again in a
    later run has a new agent.

    topic_words: words of the topic and their frequencies; without them, an agent takes the 20 most frequent terms of
    the first page it reads, which is its seed.
    theta: energy at which an agent reproduces; it starts with half.
    pages: fetches for which the energy of the first agents suffices if nothing is relevant.
    buffer: largest number of agents, and of remembered pages. Of a page, only keywords that some agent had at its visit
    are remembered.
    temperature: of the Boltzmann choice; higher is more random.
    epochs, rate, momentum: epochs, learning rate and momentum of the training after each page.
    revisit_cost: cost of a revisit, as a share of that of a fetch.
    near: words to each side of a link that count.
    seed: of the random numbers; not a URL.

    Menczer, Pant, Ruiz, Srinivasan: Evaluating topic-driven web crawlers (SIGIR 2001).
    """

    name = "infospiders"
    scale = "order"  # only the order of its priorities is meaningful
    exhaustive = False  # it does not propose every link

    def __init__(
        self,
        *,
        topic_words: Mapping[str, int] | None = None,
        seed: int = 0,
        theta: float = 2.0,
        pages: int = 1_000,
        buffer: int = 200,
        temperature: float = 0.125,
        epochs: int = 5,
        rate: float = 0.5,
        momentum: float = 0.9,
        revisit_cost: float = 0.1,
        near: int = 20,
    ):
        self._topic_words = {word: float(count) for word, count in (topic_words or {}).items()}
        self._theta = checked_number("theta", theta, 0.0)
        self._budget = checked_number("pages", pages, 1)  # fetches, see above
        self._buffer = checked_number("buffer", buffer, 1, 1e6)
        self._temperature = checked_number("temperature", temperature, 1e-6)
        self._epochs = checked_number("epochs", epochs, 0, 1e4)
        self._rate = checked_number("rate", rate, 0.0)
        self._momentum = checked_share("momentum", momentum)
        self._revisit_cost = checked_number("revisit_cost", revisit_cost, 0.0)
        self._window = checked_number("near", near, 0, _MAX_WINDOW)
        self._random = Random(seed)
        self._clock = 0.0  # simulated time, which advances to the move of the agent whose page was fetched
        self._seed_count = 0
        self._last_agent_number = 0
        self._agents: dict[int, Agent] = {}
        self._memory = PageMemory(buffer)
        self._settled = SettledUrls()  # visited or rejected
        self._chosen: list[Candidate] = []  # chosen by agents, not yet proposed
        self._failed_seeds: set[Url] = set()  # whose agents died; a later run may fetch them again

    @property
    def cost(self) -> float:
        """Energy that a fetch costs."""
        return self._seed_count * self._theta / (2 * self._budget)

    @property
    def agents(self) -> Sequence[Agent]:
        """The agents that are alive."""
        return list(self._agents.values())

    def start(self, seeds: Sequence[Url]) -> Iterable[Candidate]:
        self._seed_count += len(seeds)
        candidates = []
        for seed in seeds:
            if seed not in self._settled:
                agent = self._agent_for_seed(seed, next_move_at=self._clock + self._random.expovariate(1.0))
                candidates.append(Candidate(seed, -agent.next_move_at, because={"seed": True, "agent": agent.number}))
        return candidates

    def _agent_for_seed(self, seed: Url, *, next_move_at: float) -> Agent:
        agent = Agent(self._next_number(), self._theta / 2, {}, {}, target=seed, next_move_at=next_move_at)
        if self._topic_words:
            agent.adopt_keywords(self._topic_words)
        self._agents[agent.number] = agent
        return agent

    def _next_number(self) -> int:
        self._last_agent_number += 1
        return self._last_agent_number

    # ------------------------------------------------------------ events

    def learn(self, event: Visit | Skip) -> None:
        url = event.candidate.url
        agents = sorted((a for a in self._agents.values() if a.target == url), key=lambda agent: agent.next_move_at)
        if not agents and url in self._failed_seeds and isinstance(event, Visit):
            self._failed_seeds.remove(url)
            agents = [self._agent_for_seed(url, next_move_at=self._clock)]
        if agents:
            self._clock = max(self._clock, agents[0].next_move_at)
        for agent in agents:
            # Moves missed while waiting for a slow host are lost.
            agent.next_move_at = max(self._clock, agent.next_move_at)
        if isinstance(event, Visit):
            self._settled.visit(url)
            if event.page is not None:
                self._read(event, event.page, agents)
                return
            if event.fetch.outcome is Outcome.MOVED and event.fetch.location is not None:
                self._redirect(agents, event.fetch.location)
                return
        elif agents:
            self._settled.reject(url)
        if any(agent.page is None for agent in agents):
            self._failed_seeds.add(url)
        for agent in agents:
            self._choose(agent, at_once=True)

    def _redirect(self, agents: Iterable[Agent], target: Url) -> None:
        """Agents that waited for a URL wait for its redirect target; where the target was visited, they revisit it if
        it is remembered, and otherwise choose again."""
        for agent in agents:
            if target in self._memory:
                self._revisit(agent, target)
            elif target in self._settled:
                self._choose(agent, at_once=True)
            else:
                agent.target = target

    def _read(self, visit: Visit, page: Page, agents: Sequence[Agent]) -> None:
        """The first agent that waited for a page reads it; for the others this is a revisit."""
        url = visit.candidate.url
        moving = list(agents[:1])
        if agents:
            first = agents[0]
            self._feed(first, visit, page)
            if first.energy >= self._theta and len(self._agents) < self._buffer:
                child = first.offspring(self._next_number(), page.terms, self._random)
                self._agents[child.number] = child
                moving.append(child)
        self._remember(visit, page)
        for agent in moving:
            if agent.energy <= 0:
                self._die(agent)
            else:
                self._move_unless_dead_end(agent, url)
                self._choose(agent)
        for agent in agents[1:]:
            self._revisit(agent, url)

    def _feed(self, agent: Agent, visit: Visit, page: Page) -> None:
        """Adds the energy of a page to an agent, and trains it."""
        terms, norm = page.terms, norm_of(page.terms)
        if not agent.weights and terms:
            by_frequency = sorted(terms.items(), key=lambda item: (-item[1], item[0]))
            agent.adopt_keywords({term: float(count) for term, count in by_frequency[:_MAX_OWN_KEYWORDS]})
        similarity = agent.similarity(terms, norm)
        gain = visit.relevance
        if gain is None:
            gain = cosine(self._topic_words, terms, norm) if self._topic_words else similarity
        agent.energy += gain - self.cost
        if agent.page is not None:
            inputs = self._memory.get(agent.page).inputs_of(agent.link)
            agent.learn(inputs, similarity, epochs=self._epochs, rate=self._rate, momentum=self._momentum)

    def _remember(self, visit: Visit, page: Page) -> None:
        url = visit.candidate.url
        earlier = self._memory.get(url) if url in self._memory else RememberedPage([], visit.candidate.depth, {})
        # Of a page fetched again, the visit has only the new links. Agents on it wait for one of the earlier links.
        known = frozenset(earlier.targets)
        links = [link for link in visit.open_links() if link.target not in known]
        del links[max(0, MAX_REMEMBERED_LINKS - len(earlier.targets)) :]
        keywords = frozenset().union(*(agent.weights for agent in self._agents.values()))
        inputs_by_keyword = keywords_near(page, links, keywords, window=self._window) if links else {}
        remembered = earlier.with_links([link.target for link in links], inputs_by_keyword)
        occupied = {agent.page for agent in self._agents.values() if agent.page is not None}
        self._memory.keep(url, remembered, occupied=occupied)

    def _revisit(self, agent: Agent, url: Url) -> None:
        agent.energy -= self._revisit_cost * self.cost
        if agent.energy <= 0:
            self._die(agent)
        else:
            self._move_unless_dead_end(agent, url)
            self._choose(agent)

    def _move_unless_dead_end(self, agent: Agent, url: Url) -> None:
        if any(map(self._can_be_chosen, self._memory.get(url).targets)):
            agent.page = url

    def _die(self, agent: Agent) -> None:
        del self._agents[agent.number]

    # ------------------------------------------------------------ choice

    def _choose(self, agent: Agent, *, at_once: bool = False) -> None:
        """An agent chooses links until one leads to a page not visited yet, for which it then waits.

        at_once: whether the first choice takes no time, since the link it waited for was dead.
        """
        options_of: dict[Url, _Options] = {}
        revisit_cost = self._revisit_cost * self.cost
        revisits, random, remembered = 0, self._random.random, self._memory.get
        while agent.page is not None:
            if agent.page not in options_of:
                options_of[agent.page] = self._options(agent, agent.page)
            options = options_of[agent.page]
            if not options.links:
                break
            if not at_once:
                # As `expovariate` draws it, without a call for each of many moves.
                agent.next_move_at -= log(1.0 - random())
            at_once = False
            drawn = bisect_right(options.cumulative, random(), hi=len(options.cumulative) - 1)
            agent.link = options.links[drawn]
            target = remembered(agent.page).targets[agent.link]
            if options.is_new[drawn]:
                agent.target = target
                self._chosen.append(self._candidate(agent, agent.page, target))
                return
            agent.energy -= revisit_cost
            if agent.energy <= 0:
                break
            if target not in options_of:
                options_of[target] = self._options(agent, target)
            if options_of[target].links:
                agent.page = target
            revisits += 1
            if revisits % _REVISITS_BEFORE_CHECK == 0 and not self._can_reach_new_page(agent.page):
                break  # it could only spend its energy without reaching a new page
        self._die(agent)

    def _can_reach_new_page(self, page: Url) -> bool:
        """Whether a page not visited yet is reachable over remembered pages."""
        seen, reached = {page}, [page]
        while reached:
            for target in self._memory.get(reached.pop()).targets:
                if target not in self._settled:
                    return True
                if target in self._memory and target not in seen:
                    seen.add(target)
                    reached.append(target)
        return False

    def _options(self, agent: Agent, url: Url) -> _Options:
        """The links of a remembered page that an agent may choose, and their cumulative probabilities."""
        page = self._memory.get(url)
        is_new = [target not in self._settled for target in page.targets]
        links = [n for n, target in enumerate(page.targets) if is_new[n] or target in self._memory]
        if not links:
            return _Options([], [], [])
        cumulative = np.cumsum(boltzmann(agent.estimates(page)[links], self._temperature)).tolist()
        return _Options(links, cumulative, [is_new[n] for n in links])

    def _can_be_chosen(self, target: Url) -> bool:
        return target in self._memory or target not in self._settled

    def _candidate(self, agent: Agent, page: Url, target: Url) -> Candidate:
        remembered = self._memory.get(page)
        estimate = float(agent.estimates(remembered)[agent.link])
        because = {"agent": agent.number, "estimate": round(estimate, 4), "energy": round(agent.energy, 4)}
        return Candidate(target, -agent.next_move_at, page, because=because, depth=remembered.depth + 1)

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        chosen, self._chosen = self._chosen, []
        return chosen

    def state(self) -> JsonValue:
        return {
            "chance": random_state(self._random),
            "clock": self._clock,
            "seeds": self._seed_count,
            "born": self._last_agent_number,
            "agents": [agent.state() for agent in self._agents.values()],
            "memory": self._memory.state(),
            "settled": self._settled.state(),
            "chosen": [msgspec.structs.asdict(candidate) for candidate in self._chosen],
            "failed_seeds": sorted(self._failed_seeds),
        }

    def restore(self, state: JsonValue) -> None:
        restore_random(self._random, state["chance"])
        self._clock, self._seed_count, self._last_agent_number = state["clock"], state["seeds"], state["born"]
        self._agents = {fields["number"]: Agent.from_state(fields) for fields in state["agents"]}
        self._memory.restore(state["memory"])
        self._settled = SettledUrls(state["settled"])
        self._chosen = [Candidate(**fields) for fields in state.get("chosen", ())]  # missing in older states
        self._failed_seeds = set(state.get("failed_seeds", ()))  # missing in older states

    def restore_visited(self, urls: Iterable[Url]) -> None:
        self._settled.restore_visited(urls)
