"""Text from strangers, made safe to show.

>>> visible("Bees\\x1b[31m\\n and \\u202ehoney")
'Bees[31m and honey'
"""

import unicodedata

_HARMLESS_FORMAT = frozenset("\u200c\u200d")  # joiners: Persian, Indic scripts and emoji are misspelt without them
_SPACES = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029")


def visible(text: str, limit: int = 200) -> str:
    """One line of at most `limit` characters with nothing in it that could steer a terminal, a page or reading order.

    Control, format (bidirectional overrides among them), surrogate and private-use characters go, all white space
    becomes single blanks, and text that had to be cut ends in an ellipsis.
    """
    if text.isascii() and text.isprintable():
        line = " ".join(text[: 8 * limit].split())
    else:
        line = " ".join("".join(map(_inert, text[: 8 * limit])).split())
    if len(line) > limit or len(text) > 8 * limit:
        return line[: max(0, limit - 1)].rstrip() + "…"
    return line


def _inert(character: str) -> str:
    if character in _SPACES:
        return " "
    if unicodedata.category(character)[0] == "C" and character not in _HARMLESS_FORMAT:  # Cc, Cf, Cs, Co, Cn
        return ""
    return character
