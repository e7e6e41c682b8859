"""Front matter: YAML at the top of a Markdown file, escaped, since values are untrusted.

>>> print(front_matter({"title": 'a "b"\\n---', "relevance": 0.5, "label": None}))
---
title: "a \\"b\\"\\n---"
relevance: 0.5
---
"""

import re
from collections.abc import Mapping, Sequence
from math import isfinite

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+\+00:00")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def front_matter(facts: Mapping[str, object]) -> str:
    """The facts that are not None, between two lines of dashes."""
    return "\n".join(["---", *_lines(facts), "---"])


def _lines(facts: Mapping[str, object]) -> Sequence[str]:
    return [f"{name}: {scalar}" for name, value in facts.items() if (scalar := yaml_scalar(value)) is not None]


def yaml_scalar(value: object) -> str | None:
    """A text, a number or a time in UTC as one line of YAML; None for None and for numbers that are not finite."""
    if isinstance(value, (int, float)):
        return repr(value) if isfinite(value) else None
    if not isinstance(value, str):
        return None
    return value if _TIME.fullmatch(value) else yaml_text(value)


def yaml_text(text: str) -> str:
    """A text in double quotes, with all special characters escaped."""
    return f'"{"".join(map(_escaped, text.encode("utf-8", "replace").decode()))}"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
