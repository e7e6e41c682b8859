"""Why a URL is worth fetching, in words; strategies and sessions say it in keys and values."""

from collections.abc import Mapping

from lycosa.vocabulary.records import Plain

_WORDS = {
    "seed": "a seed",
    "example": "an example",
    "page": "found on a page of relevance {:.2f}",
    "relevance": "found on a page of relevance {:.2f}",
    "standing": "of standing {:.2f}",
    "alpha": "relevance weighing {:.2f}",
    "topicality_lately": "the pages before being of relevance {:.2f} on average",
    "utility": "so worth {:.2f}",
    "anchor": "by a link that says {:.0%} of the topic's words",
    "share": "of which {:g} counts beside a map",
    "map": "by the map, from {}",
    "map_topic": "by the map, a page on {} having been met",
    "depth": "found at depth {}",
    "chance": "drawn by chance",
    "drawn_at": "drawn by chance among the links seen, at {:.3f} of the strategy's clock",
    "in_links": "linked by more pages seen than the others",
    "redirected": "after a redirect",
    "imported from": "imported from {}",
    "refresh": "to be seen again by {}",
    "days": "after {:.1f} days",
}

_PLACES = {what: place for place, what in enumerate(_WORDS)}


def in_words(because: Mapping[str, Plain]) -> str:
    """The reasons one after the other; one that is not known here as it is."""
    ordered = sorted(because, key=lambda what: _PLACES.get(what, len(_PLACES)))
    return ", ".join(_said(what, because[what]) for what in ordered) or "it was asked for"


def _said(what: str, value: Plain) -> str:
    try:
        return _WORDS[what].format(value)
    except (KeyError, ValueError, TypeError):  # of another version, or of a strategy of the user's
        return what if value is True else f"{what} {value}"
