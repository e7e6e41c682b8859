"""In-links as somebody counted them: the true standing by which studies learn and judge."""

from collections.abc import Callable
from math import expm1, log1p

import numpy as np

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.urls import key_of
from lycosa.worlds import StudyWorld

Status = Callable[[Url], float | None]  # ln(1 + in-links), None where nobody knows


class InLinks:
    """A source of status: ln(1 + in-links), as one counter of links has them.

    says: where the counts come from.
    """

    def __init__(self, status: Status, says: str):
        self.status = status
        self.says = says

    def sampled(self, *, share: float = 0.5, seed: int) -> "InLinks":
        """What another counter has, who came by each of the links with this chance; the same for the same seed."""

        def status(url: Url) -> float | None:
            known = self.status(url)
            if known is None:
                return None
            chance = np.random.default_rng([key_of(str(url)) & 0xFFFFFFFFFFFFFFFF, seed])
            return log1p(int(chance.binomial(round(expm1(known)), share)))

        return InLinks(status, f"a sample, each link with chance {share:g}, of {self.says}")


def in_links_of(world: StudyWorld) -> InLinks:
    """What the world itself knows; where it does not know of links from outside, those within it are counted."""
    first = next(iter(world.urls()), None)
    if first is None:
        raise UsageError(f"the world {world.name} has no pages")
    if world.standing(first) is not None:
        return InLinks(world.standing, "in-links as the world tells them")
    counts = dict(zip(world.urls(), world.in_degrees().tolist(), strict=True))
    return InLinks(lambda url: log1p(counts[url]) if url in counts else None, "in-links from within the world alone")
