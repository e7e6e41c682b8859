"""What the words of a query are, the same for everybody who answers it."""

from functools import lru_cache

from lycosa.reading.stop_words import STOP_WORDS
from lycosa.reading.words import tokens_of

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
