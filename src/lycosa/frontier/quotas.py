"""How many pages of one host, or of one registered domain, a collection may have."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from lycosa.vocabulary.records import Host
from lycosa.vocabulary.text import counted
from lycosa.vocabulary.urls import site_of

AtLeastOne = Annotated[int, Meta(ge=1)]


class Quotas(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Limits of pages of one host, and of one registered domain with its subdomains; None for no limit."""

    per_host: AtLeastOne | None = None
    per_site: AtLeastOne | None = None


class QuotaUsage:
    """The pages that a collection has of each host and of each registered domain, against its quotas.

    >>> counts = QuotaUsage(Quotas(per_host=2, per_site=3))
    >>> for host in ("a.example.org", "a.example.org", "b.example.org"):
    ...     counts.add(host)
    >>> counts.is_host_full("a.example.org"), counts.is_host_full("b.example.org")
    (True, False)
    >>> counts.exceeded_quota_text("b.example.org")
    'its site has 3 pages'
    """

    def __init__(self, quotas: Quotas | None = None):
        self.quotas = quotas or Quotas()
        self._pages_of_host: Counter[str] = Counter()
        self._pages_of_site: Counter[str] | None = None  # computed on first use

    def restore(self, pages_of_hosts: Mapping[str, int]) -> None:
        """Replaces the counts by those of the collection."""
        self._pages_of_host = Counter(pages_of_hosts)
        self._pages_of_site = None

    def add(self, host: Host) -> None:
        """Counts a page."""
        self._pages_of_host[host] += 1
        if self._pages_of_site is not None:
            self._pages_of_site[site_of(host)] += 1

    def is_host_full(self, host: Host) -> bool:
        quota = self.quotas.per_host
        return quota is not None and self._pages_of_host[host] >= quota

    def is_site_full(self, host: Host, *, in_flight: int = 0) -> bool:
        """Whether the quota of a host's registered domain is used up, assuming that fetches in flight become pages."""
        quota = self.quotas.per_site
        return quota is not None and self.pages_of_site(host) + in_flight >= quota

    def pages_of_site(self, host: Host) -> int:
        """The number of pages of the registered domain of a host."""
        if self._pages_of_site is None:
            self._pages_of_site = Counter()
            for each_host, pages in self._pages_of_host.items():
                self._pages_of_site[site_of(each_host)] += pages
        return self._pages_of_site[site_of(host)]

    def exceeded_quota_text(self, host: Host) -> str:
        """The quota that one more page of a host would exceed, as a text for the user; empty if none."""
        if self.is_host_full(host):
            return f"its host has {counted(self._pages_of_host[host], 'page')}"
        if self.is_site_full(host):
            return f"its site has {counted(self.pages_of_site(host), 'page')}"
        return ""
