"""Warnings about the examples of a topic, before a crawl starts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from lycosa.vocabulary.records import Page
from lycosa.vocabulary.text import visible
from lycosa.vocabulary.urls import host_of

MIN_EXAMPLES = 5
_SAME_TEMPLATE = 0.6  # mean share of common words of two examples, from which there is a warning
_MAX_COMPARED = 20  # examples


def example_warnings(good: Sequence[Page], bad: Sequence[Page], *, topic: str) -> Iterator[str]:
    """Warnings about what makes it hard to learn the topic from these pages.

    topic: the topic in words, if given.
    """
    if 0 < len(good) < MIN_EXAMPLES and not topic:
        count = "one example" if len(good) == 1 else f"{len(good)} examples"
        yield f"only {count}: scores are rough; give {MIN_EXAMPLES} or more, or add the topic in words (--topic)"
    yield from _contradictions(good, bad)
    yield from _languages(good)
    yield from _template(good)


def _contradictions(good: Sequence[Page], bad: Sequence[Page]) -> Iterator[str]:
    texts = {page.text: page for page in good}
    for page in bad:
        if (other := texts.get(page.text)) is not None:
            yield (
                f"{visible(other.url, 200)} is a good example, and {visible(page.url, 200)}, with the same text, a bad "
                "one: remove one of them"
            )


def _languages(good: Sequence[Page]) -> Iterator[str]:
    languages = Counter(page.language for page in good if page.language)
    if len(languages) > 1:
        counts = ", ".join(f"{count} in {language}" for language, count in languages.most_common())
        yield f"the examples are in several languages ({counts}): pages in each are found by the examples in it"


def _template(good: Sequence[Page]) -> Iterator[str]:
    words = [set(page.terms) for page in good[:_MAX_COMPARED] if page.terms]
    sites = {host_of(page.url) for page in good if page.url.startswith("http")}
    if len(words) < 3 or len(sites) > 1:
        return
    shares = [len(a & b) / len(a | b) for a, b in combinations(words, 2)]
    if (share := sum(shares) / len(shares)) >= _SAME_TEMPLATE:
        yield (
            f"the examples have {share:.0%} of their words in common, as pages of one template do: pages of that site "
            "that are off the topic (--negatives) tell the topic from the template"
        )
