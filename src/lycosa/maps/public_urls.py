"""Which URLs may stand in a map, whoever made it."""

from ipaddress import ip_address

from lycosa.vocabulary.addresses import why_refused
from lycosa.vocabulary.urls import hostname_of, normalise

LONGEST_URL = 2048  # characters
_AT_HOME = (".localhost", ".local", ".internal", ".home.arpa", ".lan")


def why_left_out(url: object, *, allow_private: bool = False) -> str | None:
    """What is wrong with a URL; None where it may be crawled, as far as its spelling tells."""
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return "not http or https"
    if len(url) > LONGEST_URL:
        return f"longer than {LONGEST_URL} characters"
    try:
        if normalise(url) != url:
            return "not spelt as a URL"
    except UnicodeEncodeError:
        return "not spelt as a URL"
    name = hostname_of(url).removesuffix(".")
    if "" in name.split("."):
        return "not spelt as a URL"
    return None if allow_private or not _is_private(name) else "a private address"


def _is_private(name: str) -> bool:
    if ":" in name or name[-1].isdigit():
        return why_refused(name) is not None or not ip_address(name).is_global
    return "." not in name or name.endswith(_AT_HOME)
