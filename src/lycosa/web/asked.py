from lycosa.vocabulary.records import Fetch, Outcome

_IN_VAIN = (Outcome.BUSY, Outcome.FAILED, Outcome.REFUSED)


class Asked:
    """Counts what the fetches of a run came to."""

    def __init__(self) -> None:
        self.requests = 0  # that were answered or failed; those for robots.txt aside
        self.barred = 0  # fetches for which nobody was asked: robots.txt, or the address, was in the way
        self.answers = 0  # to be told by robots.txt not to ask is one
        self.latest_trouble = ""  # why the latest fetch without an answer had none

    @property
    def fetches(self) -> int:
        return self.requests + self.barred

    def told(self) -> str:
        """Why a run ends that was to make so many fetches."""
        barred = f"; {self.barred} more were not, as robots.txt or the address was in the way" if self.barred else ""
        return f"{self.requests} requests were made, as asked{barred}"

    def count(self, fetch: Fetch) -> None:
        if was_asked(fetch):
            self.requests += 1
        else:
            self.barred += 1
        if fetch.status is None and fetch.outcome in _IN_VAIN:
            self.latest_trouble = fetch.detail
        else:
            self.answers += 1


def was_asked(fetch: Fetch) -> bool:
    """Whether anybody was asked for the page: not where robots.txt forbids it or is out of reach, or the address is
    not one to connect to."""
    is_out_of_reach = fetch.outcome is Outcome.BUSY and fetch.status is None
    return not is_out_of_reach and fetch.outcome not in (Outcome.FORBIDDEN, Outcome.REFUSED)
