"""The same questions to nodes on the simulated wire and to processes on loopback, from the same beginning."""

import asyncio
import time
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from lycosa.lab.peers.processes import NoLoopbackError, Processes, free_addresses
from lycosa.peers.identity import Identity
from lycosa.peers.messages import Contact
from lycosa.peers.node import Node
from lycosa.peers.options import DEFAULTS
from lycosa.peers.peer_folder import PeerFolder
from lycosa.peers.saved_state import StateFiles
from lycosa.peers.simulation import Network
from lycosa.vocabulary.records import Plain

from .ground import Ground, Opened, Question, best_of
from .simulated import ask_all, network_of, overlay_of

LOOPBACK = 0.001  # seconds that a message takes in the simulation
AT_REST = 0.2  # seconds after which nothing is under way any more
DEADLINE = 10.0  # seconds: what the machine does besides is not to cut a search short
NOWHERE = "zzyzxqj"  # a word that nobody has


class _Round(Struct, frozen=True):
    """What came of all questions in one world."""

    urls: list[tuple[str, ...]]
    messages: float  # for each question
    seconds: list[float]


def compared(ground: Ground, *, peers: int, queries: int, practice: int, limit: int, seed: int) -> Plain:
    """Two rounds: peers that know their neighbours alone, and peers that learnt whom to ask in a simulation.

    Where the machine has no loopback, the reason.
    """
    places = [ground.place(peer) for peer in range(peers)]
    try:
        addresses = free_addresses(peers)
    except NoLoopbackError as error:
        return {"reason": str(error), "rounds": []}
    names = [Identity.kept(PeerFolder(place)).name for place in places]
    contacts = [Contact(name, address) for name, address in zip(names, addresses, strict=True)]
    overlay = overlay_of(peers, seed)
    with Opened(ground, peers) as opened:

        def network(seed: int, latency: float = LOOPBACK) -> Network:
            return network_of(opened.contents, overlay, DEFAULTS, contacts=contacts, latency=latency, seed=seed)

        learnt = network(seed)
        ask_all(learnt, opened.questions(practice, seed + 1), limit=limit)
        questions = opened.questions(queries, seed)
        rounds: list[Plain] = []
        for name, start in (("from nothing", network(seed)), ("practised", learnt)):
            states = [node.state() for node in start.nodes.values()]
            simulated = [_simulated(network(seed + 2 + number), states, questions, limit) for number in range(2)]
            _keep(start, [PeerFolder(place) for place in places])
            try:
                with Processes(places, addresses) as processes:
                    real = asyncio.run(_asked(processes, questions, names, limit))
            except NoLoopbackError as error:
                return {"reason": str(error), "rounds": rounds}
            rounds.append(_told(name, real, *simulated))
    return {"reason": "", "rounds": rounds}


def _keep(network: Network, kept: Sequence[PeerFolder]) -> None:
    """Writes what each node knows where the process that is to be the same peer looks for it."""
    nodes: Sequence[Node] = list(network.nodes.values())
    for node, place in zip(nodes, kept, strict=True):
        StateFiles(place).save(node)


def _simulated(network: Network, states: Sequence[Plain], questions: Sequence[Question], limit: int) -> _Round:
    for node, state in zip(network.nodes.values(), states, strict=True):
        node.restore(state)
    told = ask_all(network, questions, limit=limit, pause=AT_REST)
    return _Round(
        [each.urls for each in told], float(np.mean([each.messages for each in told])), [each.seconds for each in told]
    )


async def _asked(processes: Processes, questions: Sequence[Question], names: Sequence[str], limit: int) -> _Round:
    for peer in range(len(names)):  # opens connections, and teaches nothing
        await processes.search(peer, NOWHERE, limit=limit, deadline=DEADLINE)
    await asyncio.sleep(AT_REST)
    before, issued = await processes.counts(), 0
    urls, seconds = [], []
    for question in questions:
        began = time.monotonic()
        searched = await processes.search(question.asker, question.words, limit=limit, deadline=DEADLINE)
        seconds.append(time.monotonic() - began)
        issued += searched.answers.issued
        urls.append(best_of(question.words, searched.answers.answers, names[question.asker]))
    await asyncio.sleep(AT_REST)
    after = await processes.counts()
    travelled = sum(after[what] - before[what] for what in ("passed_on", "responses"))
    return _Round(urls, (issued + travelled) / len(questions), seconds)


def _told(name: str, real: _Round, simulated: _Round, again: _Round) -> Plain:
    return {
        "round": name,
        "queries": len(real.urls),
        "overlap": _mean_overlap(real, simulated),
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
    """The share of hits that two answers have in common.

    >>> overlap(["a", "b"], ["b"]), overlap([], [])
    (0.5, 1.0)
    """
    most = max(len(some), len(others))
    return len(set(some) & set(others)) / most if most else 1.0
