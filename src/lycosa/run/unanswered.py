"""URLs that got no answer in earlier runs, such as for want of a network: each run tries them once more."""

from collections.abc import Callable

from msgspec.structs import replace

from lycosa.collection.collection import Collection
from lycosa.collection.events import RecordLocation
from lycosa.frontier.admission import Admission
from lycosa.frontier.durable import DurableFrontier
from lycosa.vocabulary.errors import CollectionError
from lycosa.vocabulary.records import Candidate, Host, Url, Visit
from lycosa.vocabulary.urls import host_of
from lycosa.web.outcomes import was_answered

_MAX_VISITS = 5  # without an answer, each in another run, after which a URL is given up


class UnansweredUrls:
    """Queues the URLs that got no answer in earlier runs once more, one at a time for each host.

    The first of each host, the one that failed the longest ago, is queued when a run begins; then every answer of the
    host queues the next one. So all URLs of a host that is back are fetched, and a host that is dead for good costs one
    fetch per run, and not in all runs. In a session that resumes a run, these are the URLs that failed before the run
    began and were not visited since, so that it continues as if it had not been stopped.

    frontier: the waiting URLs; restored on first use.
    retries: of failed fetches. A URL that is queued here has used them up, so that it is fetched once.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        admission: Admission,
        frontier: Callable[[], DurableFrontier],
        retries: int,
    ):
        self._collection = collection
        self._admission = admission
        self._frontier = frontier
        self._retries = retries
        self._urls: dict[Host, dict[Url, RecordLocation]] | None = None

    def begin_run(self) -> None:
        """Queues one URL of each host that did not answer in earlier runs."""
        self._urls = self._read(before_last_run=False)
        self.queue_one_per_host()

    def queue_one_per_host(self) -> None:
        """Queues one URL of each host, unless one of it waits already."""
        frontier = self._frontier()
        for urls in self._urls_by_host().values():
            if not any(map(frontier.is_waiting, urls)):
                self._queue_next(urls)

    def observe(self, visit: Visit) -> None:
        """Queues the next URL of a host that has answered."""
        urls = self._urls_by_host().get(host_of(visit.candidate.url))
        if urls:
            urls.pop(visit.candidate.url, None)
            if was_answered(visit.fetch):
                self._queue_next(urls)

    def _urls_by_host(self) -> dict[Host, dict[Url, RecordLocation]]:
        if self._urls is None:
            self._urls = self._read(before_last_run=True)
        return self._urls

    def _read(self, *, before_last_run: bool) -> dict[Host, dict[Url, RecordLocation]]:
        urls: dict[Host, dict[Url, RecordLocation]] = {}
        unanswered = self._collection.catalog.unanswered(max_visits=_MAX_VISITS - 1, before_last_run=before_last_run)
        for url, place in unanswered:
            urls.setdefault(host_of(url), {})[url] = place
        return urls

    def _queue_next(self, urls: dict[Url, RecordLocation]) -> None:
        """Queues the first of these URLs that does not wait yet and may wait; removes those that may not."""
        frontier, refused = self._frontier(), list[Url]()
        for url, place in urls.items():
            if frontier.is_waiting(url):
                continue
            candidate = self._candidate_at(place) if self._may_wait(url) else None
            if candidate is not None:
                frontier.requeue(replace(candidate, url=url, attempts=self._retries))
                break
            refused.append(url)
        for url in refused:
            del urls[url]

    def _may_wait(self, url: Url) -> bool:
        return self._admission.out_of_scope(url) is None and self._admission.over_quota(url) is None

    def _candidate_at(self, place: RecordLocation) -> Candidate | None:
        """The candidate of an archived visit; None if the archive is damaged there, which needs no crawl to fail."""
        try:
            event = self._collection.archive.event_at(place)
        except CollectionError:
            return None
        return event.candidate if isinstance(event, Visit) else None
