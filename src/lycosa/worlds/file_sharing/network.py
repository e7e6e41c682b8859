"""Peers on an overlay, with what they have and ask for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

import numpy as np

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Plain
from lycosa.worlds.edge_lists import Graph
from lycosa.worlds.graphs import LinkGraph

from .sharing import Rows, Sharing, Trace

_SHARING = "sharing.npz"


class PeerNetwork(LinkGraph):
    """A graph whose nodes are peers and whose links, known at both ends, are the overlay."""

    knows_providers = True  # who gave what; else these were drawn

    def __init__(self, graph: Graph, sharing: Sharing, *, options: Mapping[str, Plain] | None = None):
        super().__init__(graph, options=options)
        self.sharing = sharing

    @property
    def facts(self) -> Mapping[str, Plain]:
        """What the graph tells, and how many have something, ask for something, and how often."""
        sharing = self.sharing
        told = {
            "with_files": int((sharing.libraries.lengths() > 0).sum()),
            "with_queries": len(np.unique(sharing.trace.consumers)),
            "downloads": len(sharing.trace),
            "items": sharing.items,
            "copies": len(sharing.libraries.values),
        }
        return {**super().facts, **told}

    def save(self, folder: Path) -> None:
        super().save(folder)
        sharing, trace = self.sharing, self.sharing.trace
        np.savez(
            folder / _SHARING,
            library_offsets=sharing.libraries.offsets,
            library_values=sharing.libraries.values,
            interest_offsets=sharing.interests.offsets,
            interest_values=sharing.interests.values,
            sizes=np.array([sharing.categories, sharing.items]),
            consumers=trace.consumers,
            items=trace.items,
            providers=trace.providers,
            times=trace.times,
            firsts=np.zeros(0, np.int64) if sharing.firsts is None else sharing.firsts,
        )

    @classmethod
    def load(cls, folder: Path) -> Self:
        still = LinkGraph.load(folder)
        try:
            with np.load(folder / _SHARING) as told:
                libraries, interests = (
                    Rows(told[f"{what}_offsets"], told[f"{what}_values"]) for what in ("library", "interest")
                )
                categories, items = told["sizes"].tolist()
                trace = Trace(*(told[column] for column in ("consumers", "items", "providers", "times")))
                firsts = told["firsts"] if len(told["firsts"]) else None
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(f"{folder} holds no peers that can be read ({error}); make them again") from None
        world = cls.__new__(cls)
        sharing = Sharing(libraries, interests, categories, items, trace, firsts)
        PeerNetwork.__init__(world, still.graph, sharing, options=still.options)
        return world
