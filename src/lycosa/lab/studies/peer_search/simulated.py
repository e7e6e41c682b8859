"""Questions asked on the simulated wire."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lycosa.peers.among_friends import OPTIONS
from lycosa.peers.messages import Contact
from lycosa.peers.node import Node
from lycosa.peers.options import ALGORITHMS, NodeOptions
from lycosa.peers.searching import Answer, Stage
from lycosa.peers.simulation import Network
from lycosa.worlds.peer_networks import preferential_attachment

from .ground import Question, Remembering, best_of

LEAST_NEIGHBOURS = 4
LATENCY = (0.02, 0.08)  # seconds that a message takes between two homes
PAUSE = 6.0  # seconds between two questions, whoever asks them
TICK = 0.005  # seconds to which it is known when a search was over


class Told(Struct, frozen=True):
    """What came of a question."""

    urls: tuple[str, ...]  # the best, as the asker ranks them
    recall: float  # of the best that anybody has
    messages: int  # received by anybody
    seconds: float  # until it was over
    stages: dict[str, int]  # how many of `urls` were heard of first at which stage


def options_of(algorithm: str, *, walkers: int = OPTIONS.walkers) -> NodeOptions:
    """What a running peer has, with the switches of an algorithm."""
    switches = ALGORITHMS[algorithm]
    return replace(
        OPTIONS,
        floods=switches.floods,
        keeps_buddies=switches.keeps_buddies,
        adapts=switches.adapts,
        indexes=switches.indexes,
        walkers=walkers,
    )


def overlay_of(peers: int, seed: int) -> list[list[int]]:
    """The neighbours of each peer in a network that grew by preferential attachment."""
    graph = preferential_attachment(
        peers, least=min(LEAST_NEIGHBOURS, peers - 1), chance=np.random.default_rng([seed, 8])
    )
    return [graph.targets[begin:end].tolist() for begin, end in zip(graph.offsets, graph.offsets[1:], strict=False)]


def network_of(
    contents: Sequence[Remembering],
    overlay: Sequence[Sequence[int]],
    options: NodeOptions,
    *,
    contacts: Sequence[Contact] | None = None,
    latency: float | tuple[float, float] = LATENCY,
    seed: int,
) -> Network:
    """Nodes over collections. They share one seed, so that only the ids of queries tell walks apart."""
    who = contacts or [Contact(f"{number:02d}") for number in range(len(contents))]
    nodes = [Node(me, content, options=options, seed=seed) for me, content in zip(who, contents, strict=True)]
    for node, neighbours in zip(nodes, overlay, strict=True):
        for neighbour in neighbours:
            node.neighbours.know(who[neighbour])  # so that where it lives is kept, too
        node.connect(who[neighbour] for neighbour in neighbours)
    return Network(nodes, latency=latency, seed=seed)


def ask_all(network: Network, questions: Iterable[Question], *, limit: int, pause: float = PAUSE) -> list[Told]:
    """Asks one question after the other, as `lycosa peer search --limit` does."""
    names = list(network.nodes)
    told = []
    for question in questions:
        network.run(network.now + pause)
        told.append(_ask(network, names[question.asker], question, limit))
    return told


def _ask(network: Network, name: str, question: Question, limit: int) -> Told:
    node, began = network.nodes[name], network.now
    number = network.begin(name, question.words, most=limit, enough=limit)
    while node.stage(number) is not Stage.DONE:
        network.run(network.now + TICK)
    over = network.now - began
    search = node.answers(number)
    assert search is not None  # it was just asked
    network.settle()
    outcome = network.outcome(number)
    urls = best_of(question.words, search.answers, name)
    return Told(urls, recall(urls, question.best), outcome.messages, round(over, 4), stages_of(urls, search.answers))


def recall(urls: Iterable[str], best: Sequence[str]) -> float:
    return len(set(urls) & set(best)) / len(best)


def stages_of(urls: Sequence[str], answers: Iterable[Answer]) -> dict[str, int]:
    """At which stage of the search each of the URLs was heard of first."""
    first: dict[str, str] = {}
    for answer in answers:
        for hit in answer.hits:
            first.setdefault(str(hit.item), str(answer.stage))
    return dict(Counter(first[url] for url in urls))
