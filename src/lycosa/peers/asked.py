"""What the words of a query are, the same for everybody who answers it, and who is said to have them."""

from collections.abc import Sequence
from functools import lru_cache

from lycosa.reading.stop_words import STOP_WORDS
from lycosa.vocabulary.tokens import tokens_of

from .messages import Hit, Statistics

MOST_WORDS = 16  # of a query that count
LONGEST_WORD = 40  # characters; what is longer is cut, and found nowhere, as no index holds it


@lru_cache(maxsize=256)
def words_of(query: str) -> tuple[str, ...]:
    """The distinct words of a query in their order, less stop words unless it has no others.

    >>> words_of("The bees and the honey")
    ('bees', 'honey')
    >>> words_of("the who")
    ('the', 'who')
    """
    words = tuple(dict.fromkeys(word[:LONGEST_WORD] for word in tokens_of(query)))
    return (tuple(word for word in words if word not in STOP_WORDS) or words)[:MOST_WORDS]


def has_all(words: Sequence[str], statistics: Statistics | None, hit: Hit) -> bool:
    """Whether a page is said to have every word of a query, by the counts that came with it; nothing answers a query
    without words."""
    times = dict(zip(statistics.terms, hit.frequencies, strict=False)) if statistics else {}
    return bool(words) and all(times.get(word, 0) for word in words)
