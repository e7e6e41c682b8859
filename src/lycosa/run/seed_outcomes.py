"""What became of the seeds of a collection, for a run that got nothing."""

from collections.abc import Iterable, Iterator

from lycosa.collection import Collection
from lycosa.vocabulary.records import LeftOut, Outcome, Url
from lycosa.vocabulary.text import visible
from lycosa.web.outcomes import outcome_in_words

_MOST_NAMED = 5  # seeds
_MOST_HOPS = 5  # redirects that are followed from one


def explain_no_pages(collection: Collection, seeds: Iterable[Url]) -> str:
    """What became of the first seeds, in one line."""
    named = list(dict.fromkeys(seeds))
    parts = [f"{visible(seed, 200)}: {', '.join(_steps(collection, seed))}" for seed in named[:_MOST_NAMED]]
    if len(named) > _MOST_NAMED:
        parts.append(f"and {len(named) - _MOST_NAMED:,} more seeds")
    return "; ".join(parts)


def _steps(collection: Collection, seed: Url) -> Iterator[str]:
    """How each fetch on the way from a seed ended, redirects followed."""
    catalog, url = collection.catalog, seed
    for _ in range(_MOST_HOPS):
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
