"""What is left of a visit when a crawl is judged."""

from msgspec import Struct

from lycosa.vocabulary.records import Url


class Step(Struct, frozen=True, gc=False):
    """One page of a crawl in the lab."""

    url: Url
    relevance: float  # as the crawler itself judged
    seconds: float  # processor time that strategy and queue took for it, fetching and reading not counted
