"""A long text cut into passages of about as many words, for embeddings and the like."""

import re

from lycosa.vocabulary.text import UNSPACED

_WORD = re.compile(f"[{UNSPACED}]{{1,2}}[^\\w\\s]*|[^\\s{UNSPACED}]+")
_ENDS_SENTENCE = re.compile("[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)\\]]*$")
_WITHIN, _SENTENCE, _PARAGRAPH, _SECTION = range(4)  # how good a place to cut is


def passages(text: str, words: int) -> list[str]:
    """The text in passages of at most `words` words and, but for the last, no fewer than half of them.

    A passage ends before a heading where it can, else at the end of a paragraph, else of a sentence. A word is what
    stands between blanks; where a script has none between words, two characters count as one.

    >>> passages("One two three. Four five. Six.", 4)
    ['One two three.', 'Four five. Six.']
    """
    spans = [found.span() for found in _WORD.finditer(text)]
    found: list[str] = []
    first = 0
    while len(spans) - first > words:
        least = first + max(1, words // 2)
        # The best place, and of equally good ones the last, so that passages are long.
        last = max(range(least, first + words + 1), key=lambda count: (_quality(text, spans, count), count))
        found.append(text[spans[first][0] : spans[last - 1][1]])
        first = last
    if first < len(spans):
        found.append(text[spans[first][0] : spans[-1][1]])
    return found


def _quality(text: str, spans: list[tuple[int, int]], count: int) -> int:
    """How good it is to cut behind the first `count` words."""
    start, end = spans[count - 1]
    following = spans[count][0]
    if "\n" in text[end:following]:
        return _SECTION if text[following] == "#" else _PARAGRAPH
    return _SENTENCE if _ENDS_SENTENCE.search(text[start:end]) else _WITHIN
