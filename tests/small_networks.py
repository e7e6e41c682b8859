"""Tiny named networks of peers that share files."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from lycosa_peers.content import Items
from lycosa_peers.messages import Contact, Envelope, Message, PeerName
from lycosa_peers.node import Node
from lycosa_peers.options import DEFAULTS, options_for
from lycosa_peers.simulation import SimulatedNetwork

QUICK = {"walkers": 2, "ttl": 16, "checkpoint": 100.0}


def node(
    name: str, items: Iterable[int] = (), *, algorithm: str = "buddynet", seed: int = 1, **options: object
) -> Node:
    return Node(name, Items(items), options=options_for(algorithm, **{**QUICK, **options}), seed=seed)


def network(
    has: Mapping[str, Iterable[int]],
    overlay: Mapping[str, Sequence[str]],
    *,
    algorithm: str = "buddynet",
    seed: int = 1,
    wire: Mapping[str, object] | None = None,
    **options: object,
) -> SimulatedNetwork:
    """Peers of one algorithm; `overlay` names the links of each, both ends of a link do."""
    nodes = [node(name, items, algorithm=algorithm, seed=seed, **options) for name, items in has.items()]
    return SimulatedNetwork(nodes, overlay, seed=seed, **(wire or {}))


def ring(names: Sequence[str], reach: int = 2) -> dict[str, list[str]]:
    """Each linked with those at most `reach` places away."""
    many = len(names)
    steps = [step for step in range(-reach, reach + 1) if step]
    return {
        name: list(dict.fromkeys(names[(at + step) % many] for step in steps if (at + step) % many != at))
        for at, name in enumerate(names)
    }


def carry(
    nodes: Mapping[PeerName, Node], sender: PeerName, outgoing: Iterable[Envelope], now: float = 0.0
) -> list[Message]:
    """Delivers messages, and those they bring about, to nodes that are there; what was said, in order."""
    said: list[Message] = []
    waiting = [(sender, envelope) for envelope in outgoing]
    while waiting:
        sender, envelope = waiting.pop(0)
        said.append(envelope.message)
        if envelope.to in nodes:
            waiting += [(envelope.to, each) for each in nodes[envelope.to].receive(sender, envelope.message, now)]
        else:
            waiting += [(sender, each) for each in nodes[sender].undelivered(envelope.to, envelope.message, now)]
    return said


def friend(name: str, items: Iterable[int] = (), **changes: object) -> Node:
    """A peer as people run it, who lives at an address of its name."""
    options = msgspec.structs.replace(DEFAULTS, **changes)
    return Node(Contact(name, f"{name}:1"), Items(items), options=options, seed=1)
