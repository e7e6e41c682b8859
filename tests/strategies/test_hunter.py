from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lycosa.reading import page_of_html
from lycosa.relevance.embedding import builtin_embedding
from lycosa.strategies.hunter import (
    _CONTEXT_CHARACTERS,
    _MAX_ANCHOR_WORDS,
    _MAX_CONTEXT_WORDS,
    FEATURES,
    MAX_LINKS_PER_PAGE,
    MAX_ROWS,
    Hunter,
    WordEvidence,
    _packed_words,
    _unpacked_words,
    _url_hashes,
    _word_codes,
    _word_id_count,
    _word_ids,
    _WordIdCache,
)
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Candidate, Fetch, Link, Outcome, Page, Skip, SkipReason, Url, Visit
from lycosa.vocabulary.text import codes_of


class Words:
    """A model of the topic's words."""

    def __init__(self, **weights: float):
        self._weights = weights

    def weights_by_code(self) -> tuple[np.ndarray, np.ndarray]:
        return codes_of(self._weights), np.array(list(self._weights.values()))

    def word_vector_scores(self) -> None:
        return None


class Meanings(Words):
    """A model that knows no words, but what they mean: as much as this one."""

    def __init__(self, word: str):
        super().__init__()
        self._word = word

    def word_vector_scores(self) -> tuple[np.ndarray, np.ndarray]:
        table = builtin_embedding()
        nearness = table.dot(table.embed_terms({self._word: 1})) / np.maximum(table.lengths, 1e-9)
        return (nearness - nearness.mean()) / nearness.std(), table.lengths


FAR_APART = f"<p>{'and so on ' * 8}<p>"  # between links that are not in the context of each other


def visit(path: str, links: Sequence[str | tuple[str, str]], *, relevance: float = 0.5, between: str = "<p>") -> Visit:
    """A page at http://a.example/PATH with links: paths, or anchors and paths."""
    pairs = [link if isinstance(link, tuple) else ("more", link) for link in links]
    html = between.join(f'<a href="/{target}">{anchor}</a>' for anchor, target in pairs)
    url = url_of(path)
    return Visit(Candidate(url, 0.5), Fetch(url, Outcome.OK, 0.0), page_of_html(url, html), relevance)


def url_of(path: str) -> Url:
    return Url(f"http://a.example/{path}")


def proposed(strategy: Hunter, *visits: Visit) -> dict[str, float]:
    """Priorities by path after some visits: those proposed last."""
    found = {}
    for each in visits:
        strategy.learn(each)
        found |= {
            candidate.url.removeprefix("http://a.example/"): candidate.priority for candidate in strategy.propose(each)
        }
    return found


def hunter(**options: object) -> Hunter:
    return Hunter(**{"sample": 0, **options})


def test_links_that_say_the_topic_come_first() -> None:
    strategy = hunter(judge=lambda: Words(lava=1.0, flow=0.5, cake=-1.0))
    found = proposed(strategy, visit("", [("hot lava", "a"), ("flow of cake", "b"), ("other", "c")]))
    assert found["a"] > found["b"] > found["c"]


def test_links_that_mean_the_topic_in_other_words_come_first() -> None:
    strategy = hunter(judge=lambda: Meanings("volcano"))
    found = proposed(strategy, visit("", [("hot lava", "a"), ("piano music", "b")], between=FAR_APART))
    assert found["a"] > found["b"]


def test_words_without_a_vector_are_told_apart_by_what_they_led_to() -> None:
    led = [visit("p", [("qzxv", "a")]), visit("q", [("wvqk", "b")])]
    led += [visit("a", [], relevance=0.95), visit("b", [], relevance=0.05)]
    found = proposed(hunter(), *led, visit("r", [("qzxv", "c")]), visit("s", [("wvqk", "d")]))
    assert found["c"] > found["d"]


def test_links_of_relevant_pages_come_first() -> None:
    found = proposed(hunter(), visit("x", ["a"], relevance=0.95), visit("y", ["b"], relevance=0.05))
    assert found["a"] > found["b"]


def test_links_of_examples_count_as_links_of_relevant_pages() -> None:
    found = proposed(
        hunter(example_urls=[url_of("x")]), visit("x", ["a"], relevance=0.1), visit("y", ["b"], relevance=0.1)
    )
    assert found["a"] > found["b"]


def test_links_between_others_that_led_to_relevant_pages_rise_and_fall_with_them() -> None:
    before = visit("", [f"{number}" for number in range(20)])
    outcomes = {"3": 0.99, "13": 0.01, "4": 0.99, "14": 0.01, "6": 0.99, "16": 0.01}
    found = proposed(hunter(), before, *(visit(path, [], relevance=value) for path, value in outcomes.items()))
    assert found["5"] > found["10"] > found["15"]


def test_links_with_words_that_led_to_relevant_pages_rise() -> None:
    links = [("red apple", "1"), ("plum", "2"), ("plum", "3"), ("plum", "4"), ("plum", "5"), ("red pear", "6")]
    found = proposed(hunter(), visit("", links, between=FAR_APART), visit("1", [], relevance=0.99))
    assert found["6"] > found["5"]


def test_pages_judged_anew_rank_what_waits_anew() -> None:
    strategy = hunter()
    found = proposed(strategy, visit("x", ["a"], relevance=0.9), visit("y", ["b"], relevance=0.1))
    again = {each.url: each.priority for each in strategy.rejudge({url_of("x"): 0.1, url_of("y"): 0.9})}
    assert again[url_of("b")] == pytest.approx(found["a"], abs=0.02)
    assert again[url_of("a")] == pytest.approx(found["b"], abs=0.02)


def test_a_new_model_of_the_words_counts_from_the_next_page_on() -> None:
    models = [Words(lava=2.0)]
    strategy = hunter(judge=lambda: models[-1])
    first = proposed(strategy, visit("", [("lava", "a"), ("cake", "b")]))
    models.append(Words(cake=2.0))
    again = proposed(strategy, visit("x", []))
    assert first["a"] > first["b"] and again["b"] > again["a"]


def test_some_links_of_the_seeds_are_followed_first() -> None:
    strategy = Hunter(sample=5)
    seeds = [url_of("x"), url_of("y")]
    assert [candidate.url for candidate in strategy.start(seeds)] == seeds
    drawn = []
    for path in ("x", "y", "z"):
        page = visit(path, [f"{path}{number}" for number in range(50)])
        strategy.learn(page)
        drawn.append(sum(candidate.priority == 1.0 for candidate in strategy.propose(page)))
    assert drawn == [3, 2, 0]


def test_the_examples_are_seeds_too() -> None:
    strategy = Hunter(example_urls=[url_of("example")])
    assert [candidate.url for candidate in strategy.start([url_of("seed")])] == [url_of("example"), url_of("seed")]


def test_examples_and_seeds_keep_their_first_place_when_pages_link_to_them() -> None:
    strategy = hunter()
    assert strategy.merge(url_of("seed"), 1.0, 0.2) == 1.0
    assert strategy.merge(url_of("other"), 0.9, 0.2) == 0.2


def test_pages_visited_before_they_were_linked_to_count_as_outcomes_and_are_not_offered() -> None:
    page = visit("", [str(number) for number in range(12)])
    later = proposed(hunter(), *(visit(str(number), [], relevance=0.99) for number in (2, 4)), page)
    assert {"2", "4"}.isdisjoint(later)
    assert later["3"] > later["9"]


def test_a_state_of_another_version_is_told() -> None:
    strategy = hunter()
    proposed(strategy, visit("x", ["a"]))
    state = strategy.state()
    state["table"]["arrays"]["_words"] = state["table"].pop("row_words")  # its name before
    with pytest.raises(KeyError):
        hunter().restore(state)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 16), st.integers(1, 100)), max_size=20),
)
def test_words_of_rows_are_restored_as_they_were(rows: list[tuple[int, int, int]]) -> None:
    words = np.zeros((len(rows), 22), np.uint32)
    for row, (in_anchor, around, step) in zip(words, rows, strict=True):
        row[:in_anchor] = 1 + step * np.arange(in_anchor)
        row[6 : 6 + around] = _word_id_count() - 1 - step * np.arange(around)
    if rows:
        assert np.array_equal(_unpacked_words(_packed_words(words.T)), words.T)


def codes_of_words(page: Page, links: Sequence[Link]) -> list[list[int]]:
    """The codes of the words of anchor and context of each link, padded with 0."""
    return _word_codes(page, links).reshape(len(links), -1).tolist() if links else []


def words_of_links(html: str) -> list[list[int]]:
    """The codes of the words of each link of a page."""
    page = page_of_html(url_of("x"), html)
    return [[word for word in row if word] for row in codes_of_words(page, page.links)]


def test_a_link_has_the_words_of_its_anchor_and_the_whole_words_around_it() -> None:
    far = "far " * 30
    html = f'<title>title</title>{far}volcano near <a href="/a">hot lava</a> flows down <p>{far}'
    (words,) = words_of_links(html)
    near = [word for word in words if word != codes_of(["far"])[0]]
    assert near == codes_of(["hot", "lava", "volcano", "near", "flows"]).tolist()


def test_an_image_has_the_words_that_stand_for_it() -> None:
    html = 'before <a href="/a"><img alt="red lava"></a> after <a href="/b">blue  <b>ocean</b></a>'
    image, link = words_of_links(html)
    assert image[:2] == codes_of(["red", "lava"]).tolist()
    assert link[:2] == codes_of(["blue", "ocean"]).tolist()


PAGE_TEXTS = st.lists(
    st.text(alphabet="ab é漢字,.\n", max_size=30)
    | st.sampled_from(['<a href="/a">hot lava</a>', '<a href="/b">漢字 é</a>', '<a href="/c"><img alt="x y"></a>']),
    max_size=8,
).map("".join)


@pytest.mark.slow
@given(PAGE_TEXTS)
def test_a_link_of_many_has_the_words_that_it_has_alone(html: str) -> None:
    page = page_of_html(url_of("x"), html)
    assume(page.links)
    assert codes_of_words(page, page.links) == [row for link in page.links for row in codes_of_words(page, [link])]


@pytest.mark.slow
@given(PAGE_TEXTS)
def test_the_words_around_a_link_are_those_that_begin_near_it(html: str) -> None:
    page = page_of_html(url_of("x"), html)
    codes, offsets = (each.tolist() for each in page.words.term_positions)
    text_at = len(page.title) + 1
    for link in page.links:
        start, end = text_at + link.position, text_at + link.position + len(link.anchor)
        near = [
            code
            for code, offset in zip(codes, offsets, strict=True)
            if max(start - _CONTEXT_CHARACTERS, text_at) <= offset < start or end <= offset < end + _CONTEXT_CHARACTERS
        ]
        (row,) = codes_of_words(page, [link])
        assert row[_MAX_ANCHOR_WORDS:] == (near + [0] * _MAX_CONTEXT_WORDS)[:_MAX_CONTEXT_WORDS]


def test_what_is_skipped_is_forgotten_until_it_is_offered_again() -> None:
    strategy = hunter()
    proposed(strategy, visit("x", ["a", "b"]))
    strategy.learn(Skip(Candidate(url_of("a"), 0.5), SkipReason.EVICTED))
    assert "a" not in proposed(strategy, visit("b", [], relevance=0.99))
    assert "a" in proposed(strategy, visit("y", ["a"]))


def test_a_page_of_very_many_links_proposes_them_all() -> None:
    found = proposed(hunter(), visit("", [str(number) for number in range(2 * MAX_LINKS_PER_PAGE)]))
    assert len(found) == 2 * MAX_LINKS_PER_PAGE


@pytest.mark.slow
def test_the_table_is_bounded_and_goes_on_where_it_was_left() -> None:
    first, second = hunter(judge=lambda: Words(more=1.0)), hunter(judge=lambda: Words(more=1.0))
    last = MAX_ROWS // MAX_LINKS_PER_PAGE + 10
    for number in range(last + 1):
        page = visit(str(number), [f"{number}-{link}" for link in range(MAX_LINKS_PER_PAGE)], relevance=number % 7 / 7)
        assert len(proposed(first, page)) >= MAX_LINKS_PER_PAGE
    assert len(first._table) <= MAX_ROWS
    second.restore(first.state())
    page = visit(f"{last}-3", [f"{last - 1}-7", "z"], relevance=0.9)
    assert proposed(second, page) == proposed(first, page)


def test_a_link_takes_little_memory_in_the_table() -> None:
    table = hunter()._table
    arrays = [getattr(table, name) for name in table._ROW_ARRAYS]
    assert sum(array.nbytes / array.shape[-1] for array in arrays) <= 110


@pytest.mark.slow
def test_a_link_seen_again_after_a_thousand_pages_is_known() -> None:
    strategy = hunter()
    proposed(strategy, visit("first", ["a"]))
    for number in range(1_000):
        proposed(strategy, visit(str(number), [f"{number}-{link}" for link in range(30)]))
    assert strategy._table.knows(url_of("a"))


def test_every_part_of_a_priority_is_explained() -> None:
    strategy = hunter(judge=lambda: Words(lava=1.0))
    page = visit("", [("lava", "lava.html")], relevance=0.9)
    strategy.learn(page)
    (candidate,) = strategy.propose(page)
    parts = candidate.because["parts"]
    assert set(parts) <= set(FEATURES)
    assert parts["page"] > 0 and parts["anchor"] > 0


def test_a_share_beyond_1_is_refused() -> None:
    with pytest.raises(UsageError, match="explore must lie between 0 and 1"):
        Hunter(explore=2.0)


def dead(path: str, outcome: Outcome = Outcome.GONE) -> Visit:
    return Visit(Candidate(url_of(path), 0.5), Fetch(url_of(path), outcome, 0.0))


@pytest.mark.parametrize("outcome", [Outcome.GONE, Outcome.UNWANTED, Outcome.FORBIDDEN])
def test_urls_of_a_pattern_that_leads_to_no_page_come_last(outcome: Outcome) -> None:
    links = [*(f"img/{number}.jpg.htm" for number in range(9)), *(f"text/{number}.htm" for number in range(9))]
    failures = [dead(f"img/{number}.jpg.htm", outcome) for number in range(3)]
    found = proposed(hunter(), visit("", links), *failures, visit("text/0.htm", []))
    assert found["img/5.jpg.htm"] < found["text/5.htm"] / 2
    other = proposed(hunter(), visit("", links), visit("text/0.htm", []))
    assert found["text/5.htm"] == pytest.approx(other["text/5.htm"], rel=0.2)


def test_other_types_of_file_in_a_folder_of_dead_links_are_doubted_less() -> None:
    links = ["img/1.jpg.htm", "img/2.png.htm", "text/3.htm", *(f"img/{number}.jpg.htm" for number in range(10, 15))]
    failures = [dead(f"img/{number}.jpg.htm") for number in range(10, 15)]
    found = proposed(hunter(), visit("", links), *failures, visit("text/0.htm", []))
    assert found["img/1.jpg.htm"] < found["img/2.png.htm"] < found["text/3.htm"]


def test_a_host_that_fails_says_nothing_of_its_urls() -> None:
    links = [f"img/{number}.jpg.htm" for number in range(9)]
    failures = [dead(f"img/{number}.jpg.htm", Outcome.FAILED) for number in range(3)]
    found = proposed(hunter(), visit("", links), *failures, visit("x", ["y"]))
    before = proposed(hunter(), visit("", links))
    assert found["img/5.jpg.htm"] == pytest.approx(before["img/5.jpg.htm"])


@pytest.mark.parametrize("target", [1.0, 0.5])
def test_what_waits_in_the_folder_of_a_dead_link_falls_at_once(target: float) -> None:
    strategy = hunter(target=target)
    links = [*(f"img/{number}.jpg.htm" for number in range(9)), *(f"text/{number}.htm" for number in range(9))]
    before = proposed(strategy, visit("", links))
    after = proposed(strategy, dead("img/0.jpg.htm"))
    assert set(after) == {f"img/{number}.jpg.htm" for number in range(1, 9)}
    assert all(after[path] < before[path] for path in after)
    for number in range(1, 20):
        again = proposed(strategy, dead(f"img/{number}.jpg.htm"))
    assert not again  # by then it is known, and costs nothing any more


def test_no_words_outweigh_that_there_is_hardly_a_page() -> None:
    """P(relevant) = P(there is a page) · P(relevant if there is one), so that the first bounds it."""
    strategy = hunter(judge=lambda: Words(lava=60.0))
    links = [("hot lava", f"img/{number}.jpg.htm") for number in range(9)]
    proposed(strategy, visit("", links), *(visit(f"x{number}", []) for number in range(4)))
    found = proposed(strategy, *(dead(f"img/{number}.jpg.htm") for number in range(5)))
    assert proposed(hunter(judge=lambda: Words(lava=60.0)), visit("", links))["img/7.jpg.htm"] > 0.9
    assert found["img/7.jpg.htm"] < 0.2
    page = visit("y", [("hot lava", "img/20.jpg.htm")])
    strategy.learn(page)
    parts = next(each for each in strategy.propose(page) if each.url == url_of("img/20.jpg.htm")).because["parts"]
    assert parts["alive"] < -3.0


@pytest.mark.slow
@given(st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2, 1 << 48, (1 << 48) + 1]), max_size=30))
def test_numbers_of_words_are_the_same_from_the_cache(codes: list[int]) -> None:
    array, cache = np.array(codes, np.uint64), _WordIdCache()
    for _ in range(2):
        assert cache.word_ids(array).tolist() == (_word_ids(array) * (array != 0)).tolist()


def test_urls_are_told_apart_by_host_folder_type_and_query() -> None:
    def same(one: str, other: str) -> tuple[bool, ...]:
        hashes = [_url_hashes(Url(f"http://{each}"), seed=0) for each in (one, other)]
        pairs = zip(*hashes, strict=True)
        return tuple(first == second for first, second in pairs)

    assert same("a.example/i/2/3.JPG.htm", "a.example/i/4.jpg.htm") == (True, True, True)
    assert same("a.example/i/3.jpg.htm", "a.example/i/3.htm") == (True, True, False)
    assert same("a.example/i/3?x=/y.png", "a.example/i/4") == (True, True, False)
    assert same("a.example/i/3?x=/y.png", "a.example/i/4?z") == (True, True, True)
    assert same("a.example/i/3", "a.example/j/3") == (True, False, False)
    assert same("a.example/i", "a.example/j") == (True, True, True)
    assert same("a.example/", "b.example/") == (False, False, False)


WORDS_OF_LINKS = st.lists(st.sampled_from(["lava", "flow", "cake", "oven", "piano"]), min_size=1, max_size=3)
PAGES = st.lists(st.tuples(WORDS_OF_LINKS, st.floats(0.05, 0.95)), min_size=1, max_size=6)


def site(name: str, pages: list[tuple[list[str], float]]) -> list[Visit]:
    """A page with a link to each page, and then the visits of these."""
    links = [(" ".join(words), f"{name}{number}") for number, (words, _) in enumerate(pages)]
    return [visit(name, links, between=FAR_APART)] + [
        visit(f"{name}{number}", [], relevance=relevance) for number, (_, relevance) in enumerate(pages)
    ]


def taught(strategy: Hunter, visits: Sequence[Visit]) -> Hunter:
    proposed(strategy, *visits)
    return strategy


def word_ratios(strategy: Hunter) -> np.ndarray:
    strategy._table.update_ratios()
    return strategy._table._word_ratios


@given(PAGES, PAGES, PAGES)
def test_strategies_that_share_know_the_words_of_all_pages(before, of_one, of_other) -> None:
    one, other = (taught(hunter(), site("x", before)) for _ in range(2))
    one.begin_sharing()
    other.begin_sharing()
    taught(one, site("y", of_one))
    taught(other, site("z", of_other))
    other.add_evidence(one.new_evidence())
    one.add_evidence(other.new_evidence())
    whole = word_ratios(taught(hunter(), [*site("x", before), *site("y", of_one), *site("z", of_other)]))
    np.testing.assert_allclose(word_ratios(one), whole, atol=0.02)
    np.testing.assert_allclose(word_ratios(other), whole, atol=0.02)


@given(PAGES, PAGES)
def test_what_came_from_others_is_never_given_back(before, visited) -> None:
    one, other = taught(hunter(), site("x", before)), taught(hunter(), site("x", before))
    one.begin_sharing()
    other.begin_sharing()
    taught(one, site("y", visited))
    other.add_evidence(one.new_evidence())
    one_gives, other_gives = (msgspec.msgpack.decode(each.new_evidence(), type=WordEvidence) for each in (one, other))
    assert other_gives == WordEvidence(b"", b"", b"", 0.0, 0.0)
    assert (one_gives.pages, one_gives.relevance) == (0.0, 0.0)
    rest = np.frombuffer(one_gives.word_pages, "<f2")
    assert (np.abs(rest) < 0.02).all(), "only what was rounded away is left"


def test_more_evidence_than_its_format_holds_comes_in_parts() -> None:
    strategy = taught(hunter(), site("x", [(["lava"], 0.9)]))
    strategy._table._dropped_word_pages[:2] = 100_000.0
    given_pages = np.zeros(2)
    for _ in range(3):
        evidence = msgspec.msgpack.decode(strategy.new_evidence(), type=WordEvidence)
        ids = np.frombuffer(evidence.word_ids, "<u4")
        pages = np.frombuffer(evidence.word_pages, "<f2")
        given_pages += [pages[ids == word].astype(float).sum() for word in (0, 1)]
    np.testing.assert_allclose(given_pages, 100_000.0)


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"\xc1",
        msgspec.msgpack.encode(["a list"]),
        msgspec.msgpack.encode(WordEvidence(b"\0\0\0\0", b"", b"", 1.0, 0.5)),
        msgspec.msgpack.encode(WordEvidence(b"\0\0\0", b"\0\0", b"\0\0", 1.0, 0.5)),
        msgspec.msgpack.encode(WordEvidence(b"\xff\xff\xff\xff", b"\0\0", b"\0\0", 1.0, 0.5)),
        msgspec.msgpack.encode(WordEvidence(b"\0\0\0\0" * 2, b"\0\0" * 2, b"\0\0" * 2, 1.0, 0.5)),
        msgspec.msgpack.encode(WordEvidence(b"", b"", b"", float("nan"), 0.5)),
        msgspec.msgpack.encode(WordEvidence(b"\0\0\0\0", b"\0\x7e", b"\0\0", 1.0, 0.5)),  # 16 bits of NaN
    ],
)
def test_damaged_evidence_is_refused_and_changes_nothing(damaged) -> None:
    strategy = taught(hunter(), site("x", [(["lava"], 0.9)]))
    before = strategy.state()
    with pytest.raises(ValueError):
        strategy.add_evidence(damaged)
    assert strategy.state() == before
