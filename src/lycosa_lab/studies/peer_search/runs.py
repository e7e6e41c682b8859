"""Runs the queries with every algorithm on the simulated network, and with processes on loopback for comparison."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lycosa.vocabulary.records import JsonValue
from lycosa_lab.peers.processes import LoopbackUnavailableError, PeerProcesses, free_addresses
from lycosa_lab.worlds.peer_networks import preferential_attachment
from lycosa_peers.identity import Identity
from lycosa_peers.messages import Contact
from lycosa_peers.node import Node
from lycosa_peers.options import ALGORITHMS, DEFAULTS, NodeOptions
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.search import Answer, Stage
from lycosa_peers.simulation import SimulatedNetwork
from lycosa_peers.state_files import StateFiles

from .shared import CachedContent, OpenCollections, PeerSearchInputs, Question, top_urls
from .tables import BUDDYNET, EVERYBODY, FLOOD, STAGES, WALK, WALK_WITH_BUDDY_LIST, WINDOWS

MIN_NEIGHBOURS = 4
WALKERS = (2, 4, 8, 16, 32)
DEFAULT_LIMIT = 10  # hits at which a search ends unless the user gives another limit
LATENCY = (0.02, 0.08)  # seconds that a message takes between two homes
PAUSE = 6.0  # seconds between two queries
TICK = 0.005  # seconds: resolution of the duration of a search

LOOPBACK_LATENCY = 0.001  # seconds that a message takes in the simulation of processes on loopback
QUIET_SECONDS = 0.2  # after which no message is in flight any more
TIMEOUT = 10.0  # seconds; long enough for a busy machine
UNKNOWN_WORD = "zzyzxqj"  # that no page has


class SearchOutcome(Struct, frozen=True):
    """The result of one query."""

    urls: tuple[str, ...]  # the best hits, by the asker's ranking
    recall: float  # of the best pages of the central index
    messages: int  # received by all peers together
    seconds: float  # until the search ended
    stages: dict[str, int]  # number of `urls` first found at each stage


def options_of(algorithm: str, *, walkers: int = DEFAULTS.walkers) -> NodeOptions:
    """The options of a running peer, with the switches of an algorithm."""
    switches = ALGORITHMS[algorithm]
    return replace(
        DEFAULTS,
        floods=switches.floods,
        keeps_buddies=switches.keeps_buddies,
        adapts=switches.adapts,
        indexes=switches.indexes,
        walkers=walkers,
        max_probes=0,  # all are honest here
    )


def overlay_of(peer_count: int, seed: int) -> list[list[int]]:
    """The neighbours of each peer in a network that grew by preferential attachment."""
    graph = preferential_attachment(
        peer_count, min_degree=min(MIN_NEIGHBOURS, peer_count - 1), rng=np.random.default_rng([seed, 8])
    )
    return [graph.targets[begin:end].tolist() for begin, end in zip(graph.offsets, graph.offsets[1:], strict=False)]


def network_of(
    contents: Sequence[CachedContent],
    overlay: Sequence[Sequence[int]],
    options: NodeOptions,
    *,
    contacts: Sequence[Contact] | None = None,
    latency: float | tuple[float, float] = LATENCY,
    seed: int,
) -> SimulatedNetwork:
    """A simulated network of nodes over collections; nodes share one seed, so that walks differ by query ids alone."""
    node_contacts = contacts or [Contact(f"{number:02d}") for number in range(len(contents))]
    nodes = [
        Node(contact, content, options=options, seed=seed)
        for contact, content in zip(node_contacts, contents, strict=True)
    ]
    for node, neighbours in zip(nodes, overlay, strict=True):
        for neighbour in neighbours:
            node.neighbours.remember(node_contacts[neighbour])  # with its address
        node.connect(node_contacts[neighbour] for neighbour in neighbours)
    return SimulatedNetwork(nodes, latency=latency, seed=seed)


def ask_all(
    network: SimulatedNetwork, questions: Iterable[Question], *, limit: int, pause: float = PAUSE
) -> list[SearchOutcome]:
    """Runs one query after the other, as `lycosa peer search --limit` does."""
    names = list(network.nodes)
    outcomes = []
    for question in questions:
        network.run(network.now + pause)
        outcomes.append(_ask(network, names[question.asker], question, limit))
    return outcomes


def _ask(network: SimulatedNetwork, name: str, question: Question, limit: int) -> SearchOutcome:
    node, began = network.nodes[name], network.now
    number = network.begin(name, question.query, max_hits=limit, sufficient_hits=limit)
    while node.stage(number) is not Stage.DONE:
        network.run(network.now + TICK)
    seconds = network.now - began
    search = node.answers(number)
    assert search is not None  # it was just asked
    network.deliver_all()
    outcome = network.outcome(number)
    urls = top_urls(question.query, search.answers, name)
    return SearchOutcome(
        urls,
        recall(urls, question.relevant),
        outcome.messages_received,
        round(seconds, 4),
        stages_of(urls, search.answers),
    )


def recall(urls: Iterable[str], relevant: Sequence[str]) -> float:
    """The share of the relevant pages that were found."""
    return len(set(urls) & set(relevant)) / len(relevant)


def stages_of(urls: Sequence[str], answers: Iterable[Answer]) -> dict[str, int]:
    """The number of URLs first found at each stage of the search."""
    first: dict[str, str] = {}
    for answer in answers:
        for hit in answer.hits:
            first.setdefault(str(hit.item), str(answer.stage))
    return dict(Counter(first[url] for url in urls))


def run_searches(inputs: PeerSearchInputs, seed: int) -> JsonValue:
    """Every algorithm on the same collections, overlay and queries; measured over the second half of these."""
    size = inputs.size
    with OpenCollections(inputs, size["peers"]) as opened:
        questions = opened.questions(size["queries"], seed)
        overlay = overlay_of(size["peers"], seed)
        # The algorithm, the number of walkers, and the number of hits at which a search ends.
        settings = [(BUDDYNET, 8, limit) for limit in (size["limit"], DEFAULT_LIMIT)]
        settings += [(WALK, walkers, size["limit"]) for walkers in WALKERS]
        settings += [(WALK_WITH_BUDDY_LIST, 8, size["limit"]), (FLOOD, 1, size["limit"])]
        peer_rows, window_rows = [], []
        for algorithm, walkers, limit in settings:
            network = network_of(opened.contents, overlay, options_of(algorithm, walkers=walkers), seed=seed)
            outcomes = ask_all(network, questions, limit=limit)
            setting = {"algorithm": algorithm, "walkers": walkers, "limit": limit}
            peer_rows += list(_by_peer(setting, questions, outcomes))
            window_rows += _in_windows(setting, outcomes)
        everybody = [_ask_everybody(opened.contents, question, size["limit"]) for question in questions]
        setting = {"algorithm": EVERYBODY, "walkers": 0, "limit": size["limit"]}
        peer_rows += list(_by_peer(setting, questions, everybody))
    return {"peers": peer_rows, "windows": window_rows, "collections": _collection_rows(inputs)}


def _by_peer(
    setting: JsonValue, questions: Sequence[Question], outcomes: Sequence[SearchOutcome]
) -> Iterator[JsonValue]:
    """Means over the queries of each peer in the second half."""
    half = len(outcomes) // 2
    for peer in sorted({question.asker for question in questions[half:]}):
        own = [outcomes[index] for index in range(half, len(outcomes)) if questions[index].asker == peer]
        yield {**setting, "peer": peer, **_measured(own)}


def _in_windows(setting: JsonValue, outcomes: Sequence[SearchOutcome]) -> list[JsonValue]:
    """Means over consecutive windows of queries."""
    return [
        {**setting, "until": int(indices[-1]) + 1, **_measured([outcomes[index] for index in indices])}
        for indices in np.array_split(np.arange(len(outcomes)), min(WINDOWS, len(outcomes)))
    ]


def _measured(outcomes: Sequence[SearchOutcome]) -> dict[str, JsonValue]:
    by_stage = {stage: sum(each.stages.get(stage, 0) for each in outcomes) for stage in STAGES}
    hits = sum(by_stage.values())
    return {
        "queries": len(outcomes),
        "recall": _mean([each.recall for each in outcomes]),
        "messages": _mean([each.messages for each in outcomes]),
        "seconds": _mean([each.seconds for each in outcomes]),
        **{stage: round(count / hits, 5) if hits else None for stage, count in by_stage.items()},
    }


def _ask_everybody(contents: Sequence[CachedContent], question: Question, limit: int) -> SearchOutcome:
    """The result of asking every peer directly: an upper bound, which shows the loss by merging."""
    answers = []
    for peer, content in enumerate(contents):
        found = content.find(question.query, limit)
        if found.hits:
            stage = Stage.OWN_CONTENT if peer == question.asker else Stage.BUDDIES
            answers.append(Answer(Contact(f"{peer:02d}"), f"{peer:02d}", stage, found.hits, found.statistics))
    urls = top_urls(question.query, answers, f"{question.asker:02d}")
    return SearchOutcome(urls, recall(urls, question.relevant), 2 * (len(contents) - 1), 0.0, {})


def _collection_rows(inputs: PeerSearchInputs) -> list[JsonValue]:
    """The topics and pages of each collection, and the share of its pages that others have, too."""
    rows: list[JsonValue] = []
    for number, collector in enumerate(inputs.collectors):
        others = {url for peer, other in enumerate(inputs.collectors) if peer != number for url in other.relevances}
        rows.append(
            {
                "peer": number,
                "topics": ", ".join(map(str, collector.topics)),
                "pages": len(collector.relevances),
                "elsewhere_too": round(
                    len(others & collector.relevances.keys()) / max(1, len(collector.relevances)), 4
                ),
            }
        )
    return rows


def _mean(values: Sequence[float]) -> float:
    return round(float(np.mean(values)), 5)


class _Round(Struct, frozen=True):
    """The results of all queries in one setting."""

    urls: list[tuple[str, ...]]
    messages: float  # per query
    seconds: list[float]


def compare_with_processes(
    inputs: PeerSearchInputs, *, peers: int, queries: int, practice: int, limit: int, seed: int
) -> JsonValue:
    """The same queries to simulated nodes and to processes on loopback, in two rounds: with peers that know only their
    neighbours, and with peers that have learnt from queries in a simulation.

    `reason` says why there is no comparison, if peers cannot be run on this machine. A peer that fails raises
    PeerProcessError.

    peers, queries, practice: how many peers, queries to each kind, and queries from which peers have learnt.
    limit: hits at which a search ends.
    """
    folders = [inputs.collection_folder(peer) for peer in range(peers)]
    try:
        addresses = free_addresses(peers)
    except LoopbackUnavailableError as error:
        return {"reason": str(error), "rounds": []}
    names = [Identity.load(PeerFolder(folder)).name for folder in folders]
    contacts = [Contact(name, address) for name, address in zip(names, addresses, strict=True)]
    overlay = overlay_of(peers, seed)
    with OpenCollections(inputs, peers) as opened:

        def network(seed: int, latency: float = LOOPBACK_LATENCY) -> SimulatedNetwork:
            return network_of(opened.contents, overlay, DEFAULTS, contacts=contacts, latency=latency, seed=seed)

        learnt = network(seed)
        ask_all(learnt, opened.questions(practice, seed + 1), limit=limit)
        questions = opened.questions(queries, seed)
        rounds: list[JsonValue] = []
        for name, start in (("from nothing", network(seed)), ("practised", learnt)):
            states = [node.state() for node in start.nodes.values()]
            simulated = [_ask_simulated(network(seed + 2 + number), states, questions, limit) for number in range(2)]
            _save_states(start, [PeerFolder(folder) for folder in folders])
            try:
                with PeerProcesses(folders, addresses) as processes:
                    real = asyncio.run(_ask_processes(processes, questions, names, limit))
            except LoopbackUnavailableError as error:
                return {"reason": str(error), "rounds": rounds}
            rounds.append(_round_row(name, real, *simulated))
    return {"reason": "", "rounds": rounds}


def _save_states(network: SimulatedNetwork, folders: Sequence[PeerFolder]) -> None:
    """Saves the state of each node in the folder of the peer's process."""
    nodes: Sequence[Node] = list(network.nodes.values())
    for node, folder in zip(nodes, folders, strict=True):
        StateFiles(folder).save(node)


def _ask_simulated(
    network: SimulatedNetwork, states: Sequence[JsonValue], questions: Sequence[Question], limit: int
) -> _Round:
    for node, state in zip(network.nodes.values(), states, strict=True):
        node.restore(state)
    outcomes = ask_all(network, questions, limit=limit, pause=QUIET_SECONDS)
    return _Round(
        [each.urls for each in outcomes],
        float(np.mean([each.messages for each in outcomes])),
        [each.seconds for each in outcomes],
    )


async def _ask_processes(
    processes: PeerProcesses, questions: Sequence[Question], names: Sequence[str], limit: int
) -> _Round:
    for peer in range(len(names)):  # opens connections; without answers, nothing is learnt
        await processes.search(peer, UNKNOWN_WORD, limit=limit, timeout=TIMEOUT)
    await asyncio.sleep(QUIET_SECONDS)
    before, issued = await processes.counts(), 0
    urls, seconds = [], []
    for question in questions:
        began = time.monotonic()
        searched = await processes.search(question.asker, question.query, limit=limit, timeout=TIMEOUT)
        seconds.append(time.monotonic() - began)
        issued += searched.answers.issued
        urls.append(top_urls(question.query, searched.answers.answers, names[question.asker]))
    await asyncio.sleep(QUIET_SECONDS)
    after = await processes.counts()
    travelled = sum(after[what] - before[what] for what in ("passed_on", "responses"))
    return _Round(urls, (issued + travelled) / len(questions), seconds)


def _round_row(name: str, real: _Round, simulated: _Round, again: _Round) -> JsonValue:
    return {
        "round": name,
        "queries": len(real.urls),
        "overlap": _mean_overlap(real, simulated),
        # Of two simulations with different random walks:
        "overlap_by_chance": _mean_overlap(again, simulated),
        "messages_real": round(real.messages, 2),
        "messages_simulated": round(simulated.messages, 2),
        "messages_simulated_again": round(again.messages, 2),
        "median_ms_real": round(1_000 * float(np.median(real.seconds)), 1),
        "slowest_ms_real": round(1_000 * max(real.seconds), 1),
    }


def _mean_overlap(some: _Round, others: _Round) -> float:
    shares = [overlap(one, other) for one, other in zip(some.urls, others.urls, strict=True)]
    return round(float(np.mean(shares)), 4)


def overlap(some: Sequence[str], others: Sequence[str]) -> float:
    """The share of hits that two results have in common.

    >>> overlap(["a", "b"], ["b"]), overlap([], [])
    (0.5, 1.0)
    """
    longest = max(len(some), len(others))
    return len(set(some) & set(others)) / longest if longest else 1.0
