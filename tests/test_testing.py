"""The checks that ship for plug-ins: Lycosa's own pieces pass them, and broken ones do not."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import pytest
from msgspec.structs import replace

from lycosa.collection.export import FORMATS
from lycosa.refresh import POLICIES
from lycosa.refresh.history import HistoryTable, Ints
from lycosa.relevance import Cosine
from lycosa.relevance.registry import TRAINERS
from lycosa.strategies import BestFirst, PageRank
from lycosa.strategies.base import BaseStrategy
from lycosa.testing import check_exporter, check_refresh_policy, check_relevance, check_strategy
from lycosa.vocabulary.records import Candidate, JsonValue, Page, Skip, Url, Visit


@pytest.mark.parametrize("name", POLICIES)
def test_refresh_policies_pass(name: str) -> None:
    check_refresh_policy(POLICIES[name])


@pytest.mark.parametrize("name", FORMATS)
def test_exporters_pass(name: str) -> None:
    check_exporter(FORMATS[name])


@pytest.mark.slow
def test_relevance_models_pass() -> None:
    check_relevance(TRAINERS["linear"])
    check_relevance(Cosine("bee, hive and bee"))


def test_a_strategy_with_options_passes() -> None:
    check_strategy(partial(PageRank, every=2, buffer=3), worlds=3)


def test_a_strategy_that_leaves_out_links_passes() -> None:
    check_strategy(TwoLinks, worlds=3)


class Half(BestFirst):
    exhaustive = True

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return list(super().propose(event))[:1]


class OutOfScale(BestFirst):
    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return [Candidate(each.url, 7.0, because={"x": 1}) for each in super().propose(event)]


class Silent(BestFirst):
    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return [Candidate(each.url, 0.5) for each in super().propose(event)]


class Guessing(BestFirst):
    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        guess = Candidate(Url(f"{event.candidate.url}x"), 0.5, because={"guess": True})
        return [guess, *super().propose(event)] if isinstance(event, Visit) and event.page else []


class Trusting(BaseStrategy):
    name = "trusting"

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        if isinstance(event, Visit):
            for link in event.open_links():
                yield Candidate(link.target, event.relevance or 0.0, because={"seen": True})


class Forgetful(BaseStrategy):
    name = "forgetful"
    scale = "order"

    def __init__(self) -> None:
        self.pages = 0

    def learn(self, event: Visit | Skip) -> None:
        self.pages += 1

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        links = event.open_links() if isinstance(event, Visit) else ()
        sign = -1 if self.pages % 2 else 1
        return [Candidate(link.target, float(sign * rank), because={"rank": rank}) for rank, link in enumerate(links)]


class Secretive(Forgetful):
    def state(self) -> JsonValue:
        return {"pages": {self.pages}}


class TwoLinks(BestFirst):
    """The first two links of each page: it leaves out links, and keeps every law."""

    exhaustive = False

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return list(super().propose(event))[:2]


class OneArgument(BestFirst):
    def rejudge(self, relevances: Mapping[str, float]) -> Iterable[Candidate]:
        return ()


class Inventing(BestFirst):
    def rejudge(
        self, relevances: Mapping[str, float], standings: Mapping[str, float] | None = None
    ) -> Iterable[Candidate]:
        return [Candidate(Url("http://nobody.example/"), 0.5, because={"page": 0.5})]


class Exaggerating(BestFirst):
    def __init__(self) -> None:
        super().__init__()
        self.offered: list[Candidate] = []

    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        self.offered = [*super().propose(event)]
        return self.offered

    def rejudge(
        self, relevances: Mapping[str, float], standings: Mapping[str, float] | None = None
    ) -> Iterable[Candidate]:
        return [replace(each, priority=2.0) for each in self.offered]


class Rootless(BestFirst):
    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return [replace(each, found_on=None) for each in super().propose(event)]


class Shallow(BestFirst):
    def propose(self, event: Visit | Skip) -> Iterable[Candidate]:
        return [replace(each, depth=1) for each in super().propose(event)]


class Nameless(BestFirst):
    name = ""


@pytest.mark.parametrize(
    ("strategy", "law"),
    [
        (Nameless, "has a `name`"),
        (Half, "every reachable page|dead, moved or refused"),
        (OutOfScale, "within 0 and 1"),
        (Silent, "says of every candidate why"),
        (Trusting, "for a page of relevance (nan|inf|7.5|-1.0), standing .*; shown by a world of 12 pages, seed"),
        (Guessing, "only seeds and links that it has seen|not to be followed"),
        (Forgetful, "goes on as if it had not been stopped|proposes the same"),
        (Secretive, "its state is plain data"),
        (Rootless, "names a visited page with the link as `found_on`, not no page"),
        (Shallow, "gives this link the depth 2, not 1"),
        (OneArgument, "`rejudge` takes relevances, and standings or None"),
        (Inventing, "rejudges waiting URLs only, not http://nobody.example/"),
        (Exaggerating, "within 0 and 1, as its scale says, not 2.0, when it rejudges|rejudges waiting URLs only"),
    ],
)
def test_a_broken_strategy_is_found_out(strategy: type[BaseStrategy], law: str) -> None:
    with pytest.raises(AssertionError, match=f"broken law: .*({law})"):
        check_strategy(strategy)


class Loud:
    def relevance(self, page: Page) -> float:
        return len(page.text) / 100


class Moody:
    def __init__(self) -> None:
        self.asked = 0

    def relevance(self, page: Page) -> float:
        self.asked += 1
        return 1.0 / self.asked


@pytest.mark.parametrize(("model", "law"), [(Loud(), "within 0 and 1"), (Moody(), "the same relevance")])
def test_a_broken_relevance_is_found_out(model: object, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_relevance(model)


class Greedy:
    name = "greedy"

    def __init__(self, *, seed: int = 0):
        pass

    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        return np.arange(len(pages), dtype=np.int64)


class Counting(Greedy):
    def choose(self, pages: HistoryTable, now: float, budget: int) -> Ints:
        pages.fetches[:] += 1
        return np.arange(min(budget, len(pages)), dtype=np.int64)


@pytest.mark.parametrize(("policy", "law"), [(Greedy, "keeps within the budget"), (Counting, "leaves the table")])
def test_a_broken_refresh_policy_is_found_out(policy: type[Greedy], law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_refresh_policy(policy)


def half(rows: Iterator[dict[str, Any]], out: BinaryIO) -> None:
    for row in rows:
        out.write(row["url"].encode())
        break


def closing(rows: Iterator[dict[str, Any]], out: BinaryIO) -> None:
    list(rows)
    out.close()


@pytest.mark.parametrize(("write", "law"), [(half, "writes every row"), (closing, "leaves the file open")])
def test_a_broken_exporter_is_found_out(write: Any, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        check_exporter(write)
