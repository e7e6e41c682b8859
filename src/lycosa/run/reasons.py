"""The reasons for fetching a URL (`Candidate.because`) in words."""

from collections.abc import Mapping
from math import exp

from msgspec import Struct

from lycosa.vocabulary.explanations import CLOCK_START
from lycosa.vocabulary.records import JsonValue

_PHRASES = {  # by key of `Candidate.because`, in the order of the sentence
    "seed": "a seed",
    "sitemap": "listed in a sitemap",
    "example": "an example",
    "boosted": "moved to the front by you",
    "sample": "drawn at random to explore",
    "weighed": "{}",
    "standing_parts": "{}",
    "parts": "{}",
    "page": "found on a page of relevance {:.2f}",
    "relevance": "found on a page of relevance {:.2f}",
    "standing": "importance {:.2f}",
    "anchor": "by a link whose text has {:.0%} of the topic's words",
    "words": "{} × as likely because of the words of the pages that link to it",
    "tokens": "{} × as likely because of the words in its URL",
    "links": "{} × as likely because of the pages that link to it",
    "siblings": "{} × as likely because of what else these pages link to",
    "share": "multiplied by {:g} because of the map",
    "map": "from the map, through {}",
    "map_topic": "from the map, after a page on {}",
    "readers": "{}",
    "depth": "found at depth {}",
    "chance": "drawn at random",
    "drawn": "drawn at random among the links seen",
    "in_links": "linked from more pages than the others",
    "redirected": "after a redirect",
    "imported from": "imported from {}",
    "refresh": "revisited by the policy {}",
    "days": "after {:.1f} days",
}

_RATIOS = frozenset(("words", "tokens", "links", "siblings"))
_JSON_ONLY = frozenset(("alpha", "topicality_lately", "utility", "worth"))  # intermediate results; shown by --json only
_POSITION = {key: position for position, key in enumerate(_PHRASES)}


def _ratio(ratio: float, digits: int) -> str:
    """A ratio of odds for people: without an exponent, and with one digit where it is tiny.

    >>> _ratio(183.2, 2), _ratio(1.284, 2), _ratio(0.00067, 2), _ratio(3e-9, 2)
    ('180', '1.3', '0.0007', 'less than 0.0001')
    """
    if 0.0 <= ratio < 1e-4:
        return "less than 0.0001"
    rounded = float(f"{ratio:.{1 if ratio < 1e-3 else digits}g}")
    return f"{rounded:,.0f}" if rounded >= 10.0**digits else f"{rounded:g}"


def reasons_in_words(because: Mapping[str, JsonValue], *, max_factors: int | None = None) -> str:
    """The reasons in words, without factors of 1; a reason without a phrase is printed as it is.

    max_factors: limit of factors of a link, the strongest first.
    """
    keys = (key for key in because if key not in _JSON_ONLY)
    ordered = sorted(keys, key=lambda key: _POSITION.get(key, len(_POSITION)))
    phrases = [_phrase(key, because[key], max_factors) for key in ordered]
    shown = [phrase for phrase in phrases if not phrase.startswith("1 × ")]
    return ", ".join(shown) or (_NOTHING_KNOWN if because else "requested by the user")


def link_in_words(found_on: str | None, anchor: str, because: Mapping[str, JsonValue]) -> str:
    """The link by which a URL was found, to stand before its reasons; empty for a seed.

    >>> link_in_words("http://a.example/", "Bees", {})
    'linked as “Bees” from http://a.example/; '
    >>> link_in_words("http://a.example/old", "Bees", {"redirected": True})
    'redirected from http://a.example/old, linked as “Bees”; '
    """
    if not found_on:
        return ""
    as_what = f" as “{anchor}”" if anchor else ""
    if was_redirected(because):
        return f"redirected from {found_on}{f', linked{as_what}' if as_what else ''}; "
    return f"linked{as_what} from {found_on}; "


def was_redirected(because: Mapping[str, JsonValue]) -> bool:
    """Whether a URL was found as the target of a redirect."""
    return bool(because.get("redirected"))


def shown_priority(priority: float, because: Mapping[str, JsonValue]) -> float:
    """The priority for people: of `crawl-ai`, minus the time on its clock since the start of the crawl.

    >>> round(shown_priority(-1_000_002.5, {"drawn": True}), 3), shown_priority(0.7, {"page": 0.7})
    (-2.5, 0.7)
    """
    return priority + CLOCK_START if "drawn" in because else priority


_MAX_FACTORS = 20  # of a link; a forged record may have more
_NOTHING_KNOWN = "a link about which nothing is known"
_READER_EVIDENCE = {
    "frequency": "how many of their pages are on the topic",
    "signature": "the words of their pages on the topic",
    "temporal": "what they read shortly before or after",
}


def _reader_evidence(evidence: Mapping[str, JsonValue]) -> str:
    """The evidence of the access log for a page; of its readers, only the number is shown."""
    people = evidence.get("people")
    by_people = "" if people is None else " by one person" if people == 1 else f" by {people} people"
    ratios = [(_ratio(evidence[name], 3), words) for name, words in _READER_EVIDENCE.items() if name in evidence]
    reasons = [f"{ratio} × as likely because of {words}" for ratio, words in ratios if ratio != "1"]
    return ", ".join([f"read{by_people}", *reasons])


_LINK_EVIDENCE = {
    "page": "the relevance of the pages that link to it",
    "anchor": "the most typical word of its link text",
    "neighbours": "what the links next to it led to",
    "host": "what was found on its host",
    "anchor led": "what links with similar text led to",
    "around led": "what links in similar surroundings led to",
    "links": "how many pages link to it",  # only in older collections: it is no longer a feature
    "anchor meaning": "the meaning of its link text",
    "around meaning": "the meaning of the words around it",
    "alive": "how many URLs of its pattern led to a page",
}


def _link_evidence(parts: Mapping[str, JsonValue], max_factors: int | None) -> str:
    """The factors of a link, in words."""
    factors = _factors(parts, _LINK_EVIDENCE)[:max_factors]
    return ", ".join(f"{factor} × as likely because of {evidence}" for factor, evidence in factors) or _NOTHING_KNOWN


def _factors(parts: Mapping[str, JsonValue], evidence: Mapping[str, str]) -> list[tuple[str, str]]:
    """The factors of the odds, given as logarithms, with their sources in words; strongest first, without ones."""
    ranked = sorted(parts, key=lambda name: -abs(parts[name]))
    factors = [(_ratio(exp(parts[name]), 2), evidence.get(name, name)) for name in ranked]
    return [(factor, source) for factor, source in factors if factor != "1"]


class Factor(Struct, frozen=True):
    """One factor of the odds of a link, and its source in words."""

    name: str
    log_odds: float
    words: str


def factors_of(because: Mapping[str, JsonValue]) -> list[Factor]:
    """The factors of a link as numbers, strongest first; empty if its strategy gave none."""
    parts = because.get("parts")
    if not isinstance(parts, Mapping):
        return []
    # Neither NaN nor infinite, nor an integer too large for a float.
    numbers = {
        str(name): value for name, value in parts.items() if isinstance(value, int | float) and abs(value) < 1e300
    }
    ranked = sorted(numbers, key=lambda name: -abs(numbers[name]))[:_MAX_FACTORS]
    return [Factor(name, float(numbers[name]), _LINK_EVIDENCE.get(name, name)) for name in ranked]


_STANDING_EVIDENCE = {
    "parents": "the importance of the pages that link to it",
    "sites": "how many other sites link to it",
    "domain": "the rank or visitors of its site",
}


def _standing_evidence(parts: Mapping[str, JsonValue]) -> str:
    """The factors of the expected standing of a link, in words."""
    factors = _factors(parts, _STANDING_EVIDENCE)
    reasons = (f"{factor} × the odds of high importance because of {evidence}" for factor, evidence in factors)
    return ", ".join(reasons) or "the usual odds of high importance"


def _weighed(weighed: Mapping[str, JsonValue]) -> str:
    """The estimated relevance and standing of a link, with their weights."""
    alpha = weighed["alpha"]
    known = f"relevant with probability {weighed['relevance']:.2f} and importance {weighed['standing']:.2f}"
    return f"{known}, weighing {alpha:.2f} and {1 - alpha:.2f}"


def _phrase(key: str, value: JsonValue, max_factors: int | None) -> str:
    try:
        if key == "readers":
            return _reader_evidence(value)
        if key == "parts":
            return _link_evidence(value, max_factors)
        if key == "standing_parts":
            return _standing_evidence(value)
        if key == "weighed":
            return _weighed(value)
        return _PHRASES[key].format(_ratio(value, 3) if key in _RATIOS else value)
    except (LookupError, ArithmeticError, ValueError, TypeError, AttributeError):  # of another version or a plug-in
        return key if value is True else f"{key} {format(value, '.4g') if isinstance(value, float) else value}"
