"""Which URLs may stand in a map, whoever made it."""

from lycosa.vocabulary.hosts import is_private
from lycosa.vocabulary.urls import hostname_of, normalise

LONGEST_URL = 2048  # characters


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
    return None if allow_private or not is_private(name) else "a private address"
