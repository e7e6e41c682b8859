"""What a crawl left out of the collection, in words: what, how much, and which option changes it."""

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct

from lycosa.collection.rows import Omissions
from lycosa.recipe import FILE_NAME, Recipe
from lycosa.vocabulary.records import LeftOut, LeftOutReason, SkipReason
from lycosa.vocabulary.text import counted, printable
from lycosa.web.outcomes import media_type_in

_MAX_NAMED = 4  # languages, media types or domains named in one message; the others are added up


class Omission(Struct, frozen=True):
    """One kind of omission.

    >>> str(Omission("noindex", 2, "2 pages ask not to be kept", "--keep-noindex keeps them"))
    '2 pages ask not to be kept; --keep-noindex keeps them'
    """

    kind: str  # a key for programs, which stays as it is: `per-host bound` also counts bounds per site
    count: int
    what: str  # in words
    remedy: str  # how to change it, or that nothing can

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}"


def omissions_in_words(omissions: Omissions, recipe: Recipe) -> list[Omission]:
    """All kinds of omissions that occurred, lost pages first."""
    return [
        omission
        for omission in (
            *_pages(omissions),
            *_incomplete(omissions, recipe),
            *_links(omissions, recipe),
            *_requests(omissions, recipe),
        )
        if omission.count
    ]


def _pages(omissions: Omissions) -> Iterator[Omission]:
    """Pages that were requested but are not in the collection."""
    noindex, languages, others = 0, Counter[str](), 0
    for saved, count in omissions.left_out.items():
        left_out = LeftOut.parse(saved)
        if left_out is not None and left_out.reason is LeftOutReason.NOINDEX:
            noindex += count
        elif left_out is not None and left_out.reason is LeftOutReason.LANGUAGE:
            languages[left_out.detail or "unknown"] += count
        else:
            others += count
    yield Omission(
        "noindex",
        noindex,
        f"{counted(noindex, 'page')} not kept, as {'it asks' if noindex == 1 else 'they ask'} not to be (noindex)",
        "--keep-noindex keeps such pages, for your own sites and for legal deposit",
    )
    yield Omission(
        "language",
        languages.total(),
        f"{counted(languages.total(), 'page')} not kept: in another language ({_most_frequent(languages)})",
        f"--language CODE, once for each, or languages in [scope] of {FILE_NAME}, keeps them",
    )
    yield Omission("other reasons", others, f"{counted(others, 'page')} not kept", "lycosa explain NAME URL says why")
    yield Omission(
        "reason unknown",
        omissions.unexplained,
        f"{counted(omissions.unexplained, 'page')} not kept by an older version, which did not note why",
        "lycosa rebuild NAME finds the reasons",
    )
    types = Counter[str]()
    for detail, count in omissions.other_types.items():
        types[_type_of(detail)] += count
    yield Omission(
        "other types",
        types.total(),
        f"{counted(types.total(), 'file')} not kept, as not HTML ({_most_frequent(types)})",
        "Lycosa keeps HTML pages only",
    )
    yield Omission(
        "robots.txt",
        omissions.forbidden,
        f"{counted(omissions.forbidden, 'URL')} not fetched, as robots.txt forbids it",
        "only those who run the site can change it",
    )


def _incomplete(omissions: Omissions, recipe: Recipe) -> Iterator[Omission]:
    """Stored pages that are incomplete, or (nearly) the same as others."""
    for limit_kind, count in omissions.truncated.items():
        is_by_length = limit_kind == "length"
        limit = f"at {recipe.requests.max_body:,} bytes" if is_by_length else f"after {recipe.requests.timeout:g} s"
        yield Omission(
            "truncated" if is_by_length else "truncated by time",
            count,
            f"{counted(count, 'page')} truncated {limit}, with any links after that",
            f"{'max_body' if is_by_length else 'timeout'} in [requests] of {FILE_NAME} sets the limit",
        )
    yield Omission(
        "links beyond the cap",
        omissions.links_beyond,
        f"{counted(omissions.links_beyond, 'link')} of {counted(omissions.pages_of_many_links, 'page')} not read",
        f"max_links in [requests] of {FILE_NAME} sets the limit, {recipe.requests.max_links:,} a page",
    )
    yield Omission(
        "needs JavaScript",
        omissions.needs_script,
        f"{counted(omissions.needs_script, 'page')} with scripts and hardly any text; a browser may show more",
        "Lycosa runs no JavaScript",
    )
    similar_to, possessive = ("another", "its") if omissions.near_duplicates == 1 else ("others", "their")
    yield Omission(
        "near-duplicates",
        omissions.near_duplicates,
        f"{counted(omissions.near_duplicates, 'page')} nearly the same as {similar_to}, kept",
        f"{possessive} new links are followed",
    )
    yield Omission(
        "copies",
        omissions.copies,
        f"{counted(omissions.copies, 'page')} with the text of another, kept, but "
        f"{'its' if omissions.copies == 1 else 'their'} links not followed",
        f"follow_copies = true in [traps] of {FILE_NAME} follows them",
    )


def _links(omissions: Omissions, recipe: Recipe) -> Iterator[Omission]:
    """URLs in scope that were found but not fetched."""
    quota, trap, crowded, evicted = (
        omissions.skipped.get(reason, 0)
        for reason in (SkipReason.QUOTA, SkipReason.TRAP, SkipReason.SITE, SkipReason.EVICTED)
    )
    yield Omission(
        "per-host bound",
        quota,
        f"{counted(quota, 'link')} skipped, as {'its host or site has' if quota == 1 else 'their hosts or sites have'}"
        " as many pages as they may",
        "raise --per-host or --per-site to fetch more",
    )
    yield Omission(
        "traps",
        trap,
        f"{counted(trap, 'link')} skipped, as {'it looks like a trap' if trap == 1 else 'they look like traps'}"
        " for crawlers",
        f"[traps] in {FILE_NAME} sets the limits",
    )
    yield Omission(
        "crowded sites",
        crowded,
        f"{counted(crowded, 'link')} set aside: {'its site has' if crowded == 1 else 'their sites have'} too many hosts"
        " or URLs for the number of pages kept",
        f"site_hosts and site_urls in [traps] of {FILE_NAME} set the limits",
    )
    yield Omission(
        "evicted",
        evicted,
        f"{counted(evicted, 'link')} dropped, as more than {recipe.waiting.limit:,} URLs waited",
        f"limit in [waiting] of {FILE_NAME} is that number",
    )


def _requests(omissions: Omissions, recipe: Recipe) -> Iterator[Omission]:
    """Requests that wait longer, because their domain was passed over."""
    share, passed_over = recipe.requests.site_share, sum(omissions.passed_over.values())  # domains, for each request
    yield Omission(
        "over their share",
        passed_over,
        f"domains of several hosts passed over {counted(passed_over, 'time')} for requests elsewhere, as they had"
        f" {share:.0%} of the last ones ({_most_frequent(omissions.passed_over)})",
        f"site_share in [requests] of {FILE_NAME} is that share; the domains of seeds and examples have no such limit",
    )


def _type_of(detail: str) -> str:
    """The media type in the detail of a fetch that is not HTML; "PDF" for the most frequent one."""
    media_type = media_type_in(detail) or "unknown"
    return {"application/pdf": "PDF"}.get(media_type, printable(media_type, 60))


def _most_frequent(counts: Mapping[str, int]) -> str:
    largest = sorted(counts.items(), key=lambda pair: -pair[1])
    named = [f"{printable(name, 60)} {count:,}" for name, count in largest[:_MAX_NAMED]]
    if len(largest) > _MAX_NAMED:
        named.append(f"others {sum(count for _, count in largest[_MAX_NAMED:]):,}")
    return ", ".join(named)
