"""Which URLs may enter the frontier: those within scope and quotas that do not look like a crawler trap."""

import re
from collections import Counter
from collections.abc import Iterable
from fnmatch import translate
from typing import Annotated, Literal

from msgspec import Meta, Struct

from lycosa.vocabulary.key_table import KeyTable
from lycosa.vocabulary.records import Candidate, Host, Skip, SkipReason, Url
from lycosa.vocabulary.urls import (
    host_of,
    hostname_of,
    key_of,
    path_of,
    secure_key_of,
    site_of,
    url_and_host_spellings,
)

from .quotas import Quotas, QuotaUsage

_URLS_PER_PAGE = 100  # further URLs of a registered domain for each page kept of it
_PAGES_PER_HOST = 4  # pages kept of a registered domain for each further host of it
_MAX_PENDING = 10_000  # hosts whose registered domain has not been looked up

AtLeastOne = Annotated[int, Meta(ge=1)]
Refusal = tuple[SkipReason, str]  # the reason, and the rule in words


class Scope(Struct, frozen=True, forbid_unknown_fields=True):
    """The scope of a crawl. Hosts include their subdomains; patterns are shell-style (`*`, `?`)
    and match whole URLs. An empty field does not limit."""

    hosts: tuple[str, ...] = ()
    exclude_hosts: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    exclude_urls: tuple[str, ...] = ()
    stay_on_sites: bool = False  # only the registered domains of the seeds
    languages: tuple[str, ...] = ()  # ISO 639-1; a page in another language is not kept, and followed if it is a seed
    keep_noindex: bool = False  # keep pages that ask not to be kept: for one's own sites, and legal deposit


class Traps(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits by which crawler traps are recognised: ordinary sites rarely exceed them."""

    per_host: AtLeastOne = 20_000  # URLs of one host, waiting or settled
    per_site: AtLeastOne = 100_000  # URLs of one registered domain, waiting or settled
    site_urls: AtLeastOne = 10_000  # URLs of one registered domain, and a hundred more for each page kept of it
    site_hosts: AtLeastOne = 50  # hosts of one registered domain, and one more for every four pages kept of it
    depth: AtLeastOne = 100  # links from a seed
    url_length: AtLeastOne = 2_000
    path_segments: AtLeastOne = 20
    repeats: AtLeastOne = 3  # times one segment may occur in a path
    queries: AtLeastOne = 200  # distinct query strings on one path
    follow_copies: bool = False  # also follow the links of pages that have the text of another word for word


class Admission:
    """Decides which URLs may wait, and counts them by host and by path with a query."""

    def __init__(
        self,
        scope: Scope | None = None,
        traps: Traps | None = None,
        *,
        sites: frozenset[str] = frozenset(),  # of the seeds
        forgotten: frozenset[int] = frozenset(),  # keys of URLs and hosts that the user had removed
        quotas: Quotas | None = None,
        blocked: tuple[str, ...] = (),  # hosts, URLs and patterns blocked by the user
        dropped: frozenset[int] = frozenset(),  # keys (`secure_key_of`) of the URLs that the user dropped
    ):
        self.quota_usage = QuotaUsage(quotas)
        self.set_scope(scope or Scope(), sites=sites)
        self._traps = traps or Traps()
        # A path of n segments, each with its slash, follows two slashes; it exceeds no limit that is n or more.
        self._slashes_within_limits = 2 + min(self._traps.path_segments, self._traps.repeats)
        self._forgotten = forgotten
        self.block(NamedUrls(blocked), dropped)
        # By the hash of the host or path, as there may be millions.
        self._urls_of_host = KeyTable()  # number of URLs
        self._queries_of_path = KeyTable()  # number of query strings
        self._site_counts = _SiteCounts(self._urls_of_host)

    def set_scope(self, scope: Scope, *, sites: frozenset[str]) -> None:
        """Replaces the scope; `sites` are those of the seeds."""
        self._scope = scope
        self.sites = sites
        self._url_pattern = _any_pattern(scope.urls)
        self._excluded_url_pattern = _any_pattern(scope.exclude_urls)

    def block(self, blocked: "NamedUrls", dropped: frozenset[int]) -> None:
        """Replaces the blocked hosts, URLs and patterns, and the keys of the dropped URLs."""
        self._blocked = blocked
        self._dropped = dropped

    def refuse_or_count(self, candidate: Candidate) -> Skip | None:
        """The skip of a URL that may not wait; None for one that may, which is counted from now on."""
        host = host_of(candidate.url)
        site = site_of(host)
        host_urls = self._urls_of_host[hash(host)]
        site_urls = self._site_counts.urls_of(site, host_urls if host == site else None)
        refused = (
            self.out_of_scope(candidate.url)
            or self.over_quota(candidate.url)
            or self._trap(candidate, host_urls, site_urls)
            or self._over_site_limit(candidate, host, site, host_urls, site_urls)
        )
        if refused is not None:
            return Skip(candidate, *refused)
        self._count(candidate.url, host)
        return None

    def count(self, url: Url) -> None:
        self._count(url, host_of(url))

    def _count(self, url: Url, host: Host) -> None:
        is_new_host = self._urls_of_host.increment(hash(host)) == 1
        self._site_counts.add(host, is_new_host=is_new_host)
        path, has_query, _ = url.partition("?")
        if has_query:
            self._queries_of_path.increment(hash(path))

    def discount(self, url: Url) -> None:
        """Reverts a `count`."""
        host = host_of(url)
        _decrement(self._urls_of_host, host)
        self._site_counts.remove(host, is_last_of_host=not self._urls_of_host[hash(host)])
        path, has_query, _ = url.partition("?")
        if has_query:
            _decrement(self._queries_of_path, path)

    def out_of_scope(self, url: Url) -> Refusal | None:
        """Why a URL is out of scope, or None."""
        scope = self._scope
        if scope.hosts and not is_on_hosts(url, scope.hosts):
            return SkipReason.SCOPE, "host not included"
        if scope.exclude_hosts and is_on_hosts(url, scope.exclude_hosts):
            return SkipReason.SCOPE, "host excluded"
        if (self._blocked or self._dropped) and (blocked := self.blocked_by(url)):
            return blocked
        if self._url_pattern and not self._url_pattern.match(url):
            return SkipReason.SCOPE, "URL not included"
        if self._excluded_url_pattern and self._excluded_url_pattern.match(url):
            return SkipReason.SCOPE, "URL excluded"
        if self._forgotten and not self._forgotten.isdisjoint(map(key_of, url_and_host_spellings(url))):
            return SkipReason.FORGOTTEN, ""
        if scope.stay_on_sites and site_of(url) not in self.sites:
            return SkipReason.SCOPE, "not on the sites of the seeds"
        return None

    def blocked_by(self, url: Url) -> Refusal | None:
        """Why a URL may not wait that the user has blocked or dropped, or None."""
        if self._blocked.has_host_of(url):
            return SkipReason.SCOPE, "host blocked"
        if url in self._blocked:
            return SkipReason.SCOPE, "URL blocked"
        return (SkipReason.SCOPE, "URL dropped") if self._dropped and secure_key_of(url) in self._dropped else None

    def over_quota(self, url: Url) -> Refusal | None:
        """The quota that the page at a URL would exceed, or None."""
        text = self.quota_usage.exceeded_quota_text(host_of(url))
        return (SkipReason.QUOTA, text) if text else None

    def _trap(self, candidate: Candidate, host_urls: int, site_urls: int) -> Refusal | None:
        """The trap limit that a URL would exceed, given the number of URLs of its host and of its site, or None."""
        url, traps = candidate.url, self._traps
        if len(url) > traps.url_length:
            return SkipReason.TRAP, "URL too long"
        if candidate.depth > traps.depth:
            return SkipReason.TRAP, "too many links from a seed"
        if host_urls >= traps.per_host:
            return SkipReason.TRAP, "host is full"
        if site_urls >= traps.per_site:
            return SkipReason.TRAP, "site is full"
        path, has_query, _ = url.partition("?")
        if has_query and self._queries_of_path[hash(path)] >= traps.queries:
            return SkipReason.TRAP, "too many queries on one path"
        if url.count("/") > self._slashes_within_limits:  # a cheap check first
            segments = path_of(path).split("/")[1:]
            if len(segments) > traps.path_segments:
                return SkipReason.TRAP, "path too deep"
            if max(Counter(filter(None, segments)).values(), default=0) > traps.repeats:
                return SkipReason.TRAP, "path repeats itself"
        return None

    def _over_site_limit(
        self, candidate: Candidate, host: Host, site: str, host_urls: int, site_urls: int
    ) -> Refusal | None:
        """Why a URL is refused until more pages of its registered domain are stored, or None; seeds are never refused.

        Subdomains and links cost nothing: a single site can make millions of both.
        """
        if not candidate.depth:
            return None
        traps = self._traps
        if site_urls < traps.site_hosts:  # and so it has fewer hosts
            return None
        pages = self.quota_usage.pages_of_site(host)
        if site_urls >= traps.site_urls + _URLS_PER_PAGE * pages:
            return SkipReason.SITE, "its site has many URLs for its pages"
        max_hosts = traps.site_hosts + pages // _PAGES_PER_HOST
        if not host_urls and self._site_counts.hosts_of(site) >= max_hosts:
            return SkipReason.SITE, "its site has many hosts for its pages"
        return None


class _SiteCounts:
    """The number of URLs and hosts of each registered domain.

    Most hosts are alone on their domain, and many have its name: what follows from the counts of hosts is not stored.
    The first look-up of a registered domain takes 0.1 s: until a count is needed, or there are many, hosts are only
    collected.

    urls_of_host: the number of URLs by the hash of the host.
    """

    def __init__(self, urls_of_host: KeyTable) -> None:
        self._urls_of_host = urls_of_host
        # By the hash of the registered domain, of its hosts with other names than its own.
        self._urls = KeyTable()
        self._further_hosts = KeyTable()  # after the first
        self._pending: Counter[Host] | None = Counter()  # number of URLs of each host; None once sites are counted

    def urls_of(self, site: str, own_urls: int | None = None) -> int:
        """The number of URLs of a registered domain; `own_urls`: of the host with its name, if that is known."""
        if self._pending is not None:
            self._count_pending()
        key = hash(site)
        return (self._urls_of_host[key] if own_urls is None else own_urls) + self._urls[key]

    def hosts_of(self, site: str) -> int:
        self._count_pending()
        key = hash(site)
        return (self._urls_of_host[key] > 0) + (self._urls[key] > 0) + self._further_hosts[key]

    def add(self, host: Host, *, is_new_host: bool) -> None:
        """Counts a URL; `is_new_host`: whether it is the first of its host."""
        if self._pending is not None:
            self._pending[host] += 1
            if len(self._pending) >= _MAX_PENDING:
                self._count_pending()
            return
        if (site := site_of(host)) == host:
            return
        key = hash(site)
        if self._urls.increment(key) > 1 and is_new_host:
            self._further_hosts.increment(key)

    def remove(self, host: Host, *, is_last_of_host: bool) -> None:
        """Reverts `add`; `is_last_of_host`: whether no other URL of the host is counted."""
        self._count_pending()
        if (site := site_of(host)) == host:
            return
        _decrement(self._urls, site)
        if is_last_of_host:
            _decrement(self._further_hosts, site)

    def _count_pending(self) -> None:
        pending, self._pending = self._pending, None
        for host, urls in (pending or {}).items():
            if (site := site_of(host)) == host:
                continue
            key = hash(site)
            self._further_hosts[key] += self._urls[key] > 0
            self._urls[key] += urls


def _decrement(counts: KeyTable, name: str) -> None:
    if count := counts[hash(name)]:  # missing names have 0
        counts[hash(name)] = count - 1


def is_on_hosts(url: Url, hosts: tuple[str, ...]) -> bool:
    """Whether a URL is of one of these hosts, or of a subdomain of one."""
    name, host = hostname_of(url), host_of(url)
    return any(name == each or host == each or name.endswith("." + each) for each in hosts)


def host_url_or_pattern(name: str) -> Literal["host", "URL", "pattern"]:
    """Which of them a user names URLs by: a host, with its subdomains, one URL, or a pattern with `*`.

    >>> [host_url_or_pattern(name) for name in ("a.example", "http://a.example/", "*://a.example/ads/*")]
    ['host', 'URL', 'pattern']
    """
    if "*" in name:
        return "pattern"
    return "URL" if "://" in name else "host"


class NamedUrls:
    """The URLs that a user has named: by a host, with its subdomains, by a pattern with `*`, or one by one."""

    def __init__(self, names: Iterable[str] = ()):
        self.names = tuple(names)
        self._hosts = self._of_kind("host")
        # A bracket is one of an IPv6 address or a query: there are no classes of characters.
        self._pattern = _any_pattern(tuple(name.replace("[", "[[]") for name in self._of_kind("pattern")))
        self._urls = frozenset(map(Url, self._of_kind("URL")))

    def _of_kind(self, kind: Literal["host", "URL", "pattern"]) -> tuple[str, ...]:
        return tuple(name for name in self.names if host_url_or_pattern(name) == kind)

    def __bool__(self) -> bool:
        return bool(self.names)

    def __contains__(self, url: Url) -> bool:
        return (
            url in self._urls
            or self.has_host_of(url)
            or (self._pattern is not None and self._pattern.match(url) is not None)
        )

    def has_host_of(self, url: Url) -> bool:
        """Whether the host of a URL was named."""
        return bool(self._hosts) and is_on_hosts(url, self._hosts)


def _any_pattern(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(translate, patterns))) if patterns else None
