"""Plain data as JSON, whatever a hostile page put into it."""

from typing import Any

import msgspec


def as_json(plain: Any) -> bytes:
    """Records and plain data as JSON; numbers of numpy become plain, and what UTF-8 cannot spell a question mark."""
    try:
        return msgspec.json.encode(plain, enc_hook=_number)
    except UnicodeEncodeError:  # half of a surrogate pair
        return msgspec.json.encode(_spellable(msgspec.to_builtins(plain, enc_hook=_number)))


def spellable(text: str) -> str:
    """The text without the halves of surrogate pairs, which UTF-8 cannot spell."""
    return text.encode("utf-8", "replace").decode()


def _number(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not plain data")


def _spellable(plain: Any) -> Any:
    if isinstance(plain, str):
        return spellable(plain)
    if isinstance(plain, dict):
        return {_spellable(key): _spellable(value) for key, value in plain.items()}
    return [_spellable(value) for value in plain] if isinstance(plain, (list, tuple)) else plain
