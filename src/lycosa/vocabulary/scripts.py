"""Scripts that put no blanks between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer.

>>> unspaced_runs("honey 蜂蜜, or はちみつ")
['蜂蜜', 'はちみつ']
"""

import re

UNSPACED = (  # as a character class of a regular expression
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
has_unspaced = re.compile(f"[{UNSPACED}]").search
_runs = re.compile(f"[{UNSPACED}]+").findall


def unspaced_runs(text: str) -> list[str]:
    """All that is written in such a script, piece by piece."""
    return [] if text.isascii() else _runs(text)
