import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.standing import InLinkIndex, count_in_links
from lycosa.vocabulary.records import Url

A, B, C = (Url(f"http://{name}.example/") for name in "abc")


def test_each_page_counts_once_for_what_it_links_to():
    index = InLinkIndex()
    index.add(A, [B, B, C])
    index.add(C, [B])
    assert (index.count(A), index.count(B), index.count(C)) == (0, 2, 1)


def test_links_to_itself_do_not_count():
    index = InLinkIndex()
    index.add(A, [A, B])
    assert index.count(A) == 0


def test_a_page_seen_again_tells_nothing_new():
    index = InLinkIndex()
    index.add(A, [B])
    index.add(A, [B, C])
    assert (index.count(B), index.count(C), len(index)) == (1, 0, 1)


def test_nodes_of_a_graph_are_counted_by_their_numbers():
    index = InLinkIndex()
    index.add(0, [0, 1, 2])  # type: ignore[list-item, arg-type]
    index.add(2, [1])  # type: ignore[list-item, arg-type]
    assert index.count(1) == 2  # type: ignore[arg-type]


LINKS = st.lists(st.tuples(st.sampled_from([A, B, C]), st.lists(st.sampled_from([A, B, C]))), unique_by=lambda p: p[0])


@pytest.mark.slow
@given(LINKS, st.integers(0, 3))
def test_an_index_goes_on_where_its_state_was_taken(pages, stop):
    whole, first, rest = InLinkIndex(), InLinkIndex(), InLinkIndex()
    for page, targets in pages:
        whole.add(page, targets)
    for page, targets in pages[:stop]:
        first.add(page, targets)
    rest.restore(json.loads(json.dumps(first.state())))
    for page, targets in pages:
        rest.add(page, targets)
    assert [rest.count(url) for url in (A, B, C)] == [whole.count(url) for url in (A, B, C)]


@pytest.mark.slow
@given(LINKS)
def test_an_index_counts_what_counting_links_does(pages):
    index = InLinkIndex()
    for page, targets in pages:
        index.add(page, targets)
    counted = count_in_links((page, target) for page, targets in pages for target in targets)
    assert all(index.count(url) == count for url, count in counted.items())
