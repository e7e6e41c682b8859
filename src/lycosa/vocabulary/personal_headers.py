"""Request headers by which a server may know who asks, so that the response may not be meant for others.

Every header counts that is not known to be harmless, whatever it is called: keys of an API have many names.
"""

from collections.abc import Iterable

LEFT_OUT = "(left out)"  # the value of such a header in the archive
OTHERS_LEFT_OUT = ("X-Other-Headers", LEFT_OUT)  # for those of a request of which only this is known

_HARMLESS = frozenset(
    (
        "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection", "dnt", "from",
        "host", "if-modified-since", "if-none-match", "keep-alive", "pragma", "priority", "range", "referer",
        "save-data", "sec-gpc", "te", "upgrade-insecure-requests", "user-agent",
    )
)  # fmt: skip
_HARMLESS_PREFIXES = ("sec-fetch-", "sec-ch-")  # of browsers


def is_personal_header(name: str) -> bool:
    """Whether a header of a request may say who asks.

    >>> is_personal_header("Cookie"), is_personal_header("X-Api-Key"), is_personal_header("Accept-Language")
    (True, True, False)
    """
    name = name.strip().lower()
    return name not in _HARMLESS and not name.startswith(_HARMLESS_PREFIXES)


def without_secrets(headers: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The headers of a request for the archive: what may be secret is left out, and that it was sent remains.

    >>> without_secrets([("Cookie", "session=1"), ("Accept", "*/*")])
    (('Cookie', '(left out)'), ('Accept', '*/*'))
    """
    return tuple((name, LEFT_OUT if is_personal_header(name) else value) for name, value in headers)
