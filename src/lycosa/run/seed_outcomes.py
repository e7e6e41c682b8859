"""The outcomes of the seeds, to explain a run without pages."""

from collections.abc import Iterable, Iterator

from lycosa.collection import Collection
from lycosa.vocabulary.records import LeftOut, Outcome, Url
from lycosa.vocabulary.text import visible
from lycosa.web.outcomes import outcome_in_words

_MAX_NAMED = 5  # seeds
_MAX_HOPS = 5  # redirects followed


def explain_no_pages(collection: Collection, seeds: Iterable[Url]) -> str:
    """The outcomes of the first seeds, in one line."""
    named = list(dict.fromkeys(seeds))
    parts = [f"{visible(seed, 200)}: {', '.join(_steps(collection, seed))}" for seed in named[:_MAX_NAMED]]
    if len(named) > _MAX_NAMED:
        parts.append(f"and {len(named) - _MAX_NAMED:,} more seeds")
    return "; ".join(parts)


def _steps(collection: Collection, seed: Url) -> Iterator[str]:
    """The outcome of each fetch from a seed on, following redirects."""
    catalog, url = collection.catalog, seed
    for _ in range(_MAX_HOPS):
        fetches = catalog.fetches(url)
        if not fetches:
            skip = catalog.skip(url)
            yield f"not fetched ({skip.reason})" if skip else "not fetched yet"
            return
        last = fetches[-1]
        left_out = LeftOut.parse(last.left_out)
        yield f"left out ({left_out})" if left_out else outcome_in_words(last.outcome, last.status, last.detail)
        if last.outcome is not Outcome.MOVED or last.place is None:
            return
        location = collection.archive.fetch_at(last.place).location
        if location is None:
            return
        url = location
