"""Encodes records as JSON, whatever text from hostile pages they hold."""

from typing import Any

import msgspec


def to_json(value: Any) -> bytes:
    """Records and built-in types as JSON; numpy numbers are converted, lone surrogates become question marks."""
    try:
        return msgspec.json.encode(value, enc_hook=_from_numpy)
    except UnicodeEncodeError:  # a lone surrogate
        return msgspec.json.encode(_without_surrogates(msgspec.to_builtins(value, enc_hook=_from_numpy)))


def replace_surrogates(text: str) -> str:
    """The text with a question mark for each lone surrogate, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()


def _from_numpy(value: Any) -> Any:
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not plain data")


def _without_surrogates(plain: Any) -> Any:
    if isinstance(plain, str):
        return replace_surrogates(plain)
    if isinstance(plain, dict):
        return {_without_surrogates(key): _without_surrogates(value) for key, value in plain.items()}
    return [_without_surrogates(value) for value in plain] if isinstance(plain, (list, tuple)) else plain
