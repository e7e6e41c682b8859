"""Splits a long text into passages of similar length, for embeddings and the like."""

import re

from lycosa.vocabulary.text import UNSPACED

_WORD = re.compile(f"[{UNSPACED}]{{1,2}}[^\\w\\s]*|[^\\s{UNSPACED}]+")
_ENDS_SENTENCE = re.compile("[.!?\u2026\u3002\uff01\uff1f][\"'\u201d\u2019)\\]]*$")
_MID_SENTENCE, _SENTENCE, _PARAGRAPH, _SECTION = range(4)  # what ends where a text is split, from worst to best


def passages(text: str, words: int) -> list[str]:
    """The text in passages of at most `words` words and, except for the last, at least half as many.

    A passage ends before a heading if possible, else at the end of a paragraph, else of a sentence. Words are separated
    by blanks; in scripts without spaces, two characters count as a word.

    >>> passages("One two three. Four five. Six.", 4)
    ['One two three.', 'Four five. Six.']
    """
    spans = [match.span() for match in _WORD.finditer(text)]
    parts: list[str] = []
    first = 0
    while len(spans) - first > words:
        shortest = first + max(1, words // 2)
        # The best split, and the last among equals, so that passages are long.
        end = max(range(shortest, first + words + 1), key=lambda count: (_quality(text, spans, count), count))
        parts.append(text[spans[first][0] : spans[end - 1][1]])
        first = end
    if first < len(spans):
        parts.append(text[spans[first][0] : spans[-1][1]])
    return parts


def _quality(text: str, spans: list[tuple[int, int]], count: int) -> int:
    """The quality of a split after the first `count` words."""
    start, end = spans[count - 1]
    following = spans[count][0]
    if "\n" in text[end:following]:
        return _SECTION if text[following] == "#" else _PARAGRAPH
    return _SENTENCE if _ENDS_SENTENCE.search(text[start:end]) else _MID_SENTENCE
