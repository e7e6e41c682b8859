"""What robots are told by `X-Robots-Tag` headers and robots metas: one way to read both, which obeys when in doubt."""

import re
from collections.abc import Iterator

_WORD = re.compile(r"([a-z0-9_*/.+-]++)\s*+([:=]?)")
_PRODUCT = re.compile(r"(\*|[a-z_-]+)(?:/[a-z0-9.+-]*)?").fullmatch
_OUR_NAMES = frozenset(("*", "lycosa", "robots", "x-robots-tag"))
# Those that name nobody, though a colon may follow them.
_DIRECTIVES = re.compile(
    "all|none|(no)?(index|follow|archive|cache|snippet|preview|translate|imageindex|imageclick|ai|imageai)|no(odp|ydir|yaca)"
    "|nositelinkssearchbox|indexifembedded|unavailable_after|max-(snippet|image-preview|video-preview)|rating"
).fullmatch
_FORBIDDING = frozenset(("noindex", "nofollow"))


def directives_in(text: str, *, names_agents: bool = False) -> Iterator[str]:
    """The directives that are for all robots or for Lycosa, in lower case, among other words such as parts of dates.

    names_agents: whether a name before a colon may be that of the robot for which the following directives are.

    >>> sorted(directives_in("googlebot: noindex, lycosa/1.0: NOFOLLOW noarchive", names_agents=True))
    ['noarchive', 'nofollow']
    """
    is_ours, is_value = True, False
    for match in _WORD.finditer(text.lower()):
        word, mark = match[1].strip("/."), match[2]
        if names_agents and mark == ":" and not _DIRECTIVES(word) and (product := _PRODUCT(word)):
            is_ours, is_value = product[1] in _OUR_NAMES, False
        else:
            if is_ours and (not is_value or word in _FORBIDDING):
                yield word
            is_value = mark != "" and word.startswith("max-")  # max-image-preview:none does not mean none
