"""What is known of a URL: whether it is stored, waits or was left out, and the path of links to it."""

from collections.abc import Iterable, Iterator

from lycosa.collection import Collection
from lycosa.collection.queries import Queries
from lycosa.collection.rows import FetchRow, PageRow
from lycosa.frontier.durable import waiting_candidate
from lycosa.standing.authority_table import AuthorityTable
from lycosa.user_config import authority_file
from lycosa.vocabulary.records import Fetch, JsonValue, LeftOut, Outcome, Url, skip_in_words
from lycosa.vocabulary.text import counted, printable
from lycosa.vocabulary.urls import site_of
from lycosa.web.outcomes import outcome_in_words, was_requested

from .forgotten import is_forgotten, read_forgotten
from .reasons import was_redirected

_MAX_PATH_LENGTH = 50  # pages
_MAX_SEEDS = 5  # seeds whose outcomes are named
_MAX_HOPS = 5  # redirects followed
_MAX_PARENTS = 10  # pages that link to a URL


def facts_about(collection: Collection, url: Url) -> JsonValue:
    """State, page, requests, checks, skip, path and links of a URL; scans the fetches, the links and the frontier."""
    catalog = collection.catalog
    parents = catalog.parents(url, _MAX_PARENTS + 1)
    page, skip, fetches = catalog.page(url), catalog.skip(url), catalog.fetches(url)
    with catalog.reporting_errors():
        waiting = waiting_candidate(catalog.connection, url)
    if page is not None:
        state = "stored" if page.vanished_at is None else "vanished"
    elif waiting is not None:
        state = "waiting"
    elif is_forgotten(url, read_forgotten(collection.folder)):
        state = "forgotten"
    elif fetches:
        state = "fetched, not stored" if any(map(fetch_was_made, fetches)) else "not fetched"
    else:
        state = "skipped" if skip is not None else "unknown"
    return {
        "url": url,
        "state": state,
        "page": page,
        "waiting": waiting,
        "passed_over": catalog.passed_over().get(site_of(url), 0) if waiting is not None else 0,
        "skip": skip if state in ("skipped", "fetched, not stored", "not fetched") else None,
        "looks": catalog.looks(page.number) if page else [],
        "fetches": fetches,
        "way": [each if isinstance(each, str) else each.url for each in link_path_to(catalog, page)] if page else [],
        "parents": parents[:_MAX_PARENTS],
        "has_more_parents": len(parents) > _MAX_PARENTS,
        "original": catalog.originals(page).get(url) if page else None,
        "ranks": authority.ranks(url) if (authority := AuthorityTable.load(authority_file())) else [],
    }


def fetch_was_made(fetch: FetchRow) -> bool:
    return was_requested(Fetch(fetch.url, fetch.outcome, fetch.at, fetch.status))


def link_path_to(catalog: Queries, page: PageRow) -> list[PageRow | Url]:
    """The path from a seed to this page, seed first; pages that are no longer stored as URLs."""
    path: list[PageRow | Url] = []
    seen = {page.url}
    found_on = page.found_on
    while found_on is not None and found_on not in seen and len(path) < _MAX_PATH_LENGTH:
        seen.add(found_on)
        parent = catalog.page(found_on)
        path.append(parent or found_on)
        if parent is None and was_redirected(page.because):
            parent = _page_with_the_link(catalog, found_on, page.depth - 1)
            if parent is not None and parent.url not in seen:
                seen.add(parent.url)
                path.append(parent)
        if parent is None:
            break
        page, found_on = parent, parent.found_on
    return path[::-1]


def _page_with_the_link(catalog: Queries, url: Url, depth: int) -> PageRow | None:
    """The first page at a depth that links to a URL which redirected, so that it is not stored itself."""
    if depth < 0:  # a seed
        return None
    linking = (catalog.page(parent.url) for parent in catalog.parents(url, _MAX_PARENTS))
    return next((page for page in linking if page is not None and page.depth == depth), None)


def explain_no_pages(collection: Collection, seeds: Iterable[Url]) -> str:
    """The outcomes of the first seeds, in one line."""
    named = list(dict.fromkeys(seeds))
    explanations = [f"{printable(seed, 200)}: {', '.join(_outcomes(collection, seed))}" for seed in named[:_MAX_SEEDS]]
    if len(named) > _MAX_SEEDS:
        explanations.append(f"and {counted(len(named) - _MAX_SEEDS, 'more seed')}")
    return "; ".join(explanations)


def _outcomes(collection: Collection, seed: Url) -> Iterator[str]:
    """The outcome of each fetch from a seed on, following redirects."""
    catalog, url, seen = collection.catalog, seed, set[Url]()
    for _ in range(_MAX_HOPS):
        if url in seen:
            yield "and so on, in a loop"
            return
        seen.add(url)
        fetches = catalog.fetches(url)
        if not fetches:
            skip = catalog.skip(url)
            yield f"not fetched ({skip_in_words(skip.reason)})" if skip else "not fetched yet"
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
