"""A page of the collection that had changed: every strategy takes its new links as those of any page."""

import pytest
from msgspec.structs import replace

from lycosa.loop import with_new_links_only
from lycosa.strategies import STRATEGIES
from lycosa.vocabulary.records import REFRESH, Change, Link, Url, Visit
from simulation import crawl_of, visits_of
from worlds import TOPICAL

NEW = Url("http://new.example/")


def seen_again(visit: Visit, *targets: Url) -> Visit:
    links = (*visit.page.links, *(Link(target, "new") for target in targets))
    candidate = replace(visit.candidate, lane=REFRESH)
    changed = replace(visit, candidate=candidate, page=replace(visit.page, links=links))
    return with_new_links_only(replace(changed, change=Change.CHANGED, new_links=targets))


@pytest.mark.parametrize("name", STRATEGIES)
def test_new_links_are_wanted_and_old_ones_are_not_offered_again(name):
    strategy = STRATEGIES[name]()
    crawl = crawl_of(TOPICAL, strategy)
    visits = [visit for visit in visits_of(crawl, [next(iter(TOPICAL))]) if visit.page]
    again = seen_again(replace(visits[0], standing=0.5), NEW)
    assert [link.target for link in again.page.links] == [NEW]
    strategy.learn(again)
    wanted = [candidate.url for candidate in strategy.propose(again)]
    assert set(wanted) <= {NEW}
    if strategy.exhaustive:
        assert wanted == [NEW]


@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_many_pages_may_be_seen_again_and_again(name):
    strategy = STRATEGIES[name]()
    visits = [visit for visit in visits_of(crawl_of(TOPICAL, strategy), [next(iter(TOPICAL))]) if visit.page]
    for number in range(10 * len(visits)):
        again = seen_again(replace(visits[number % len(visits)], standing=0.5), Url(f"http://new.example/{number}"))
        strategy.learn(again)
        list(strategy.propose(again))
    restored = STRATEGIES[name]()
    restored.restore(strategy.state())
