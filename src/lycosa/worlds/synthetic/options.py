"""What a synthetic world is made from."""

from dataclasses import dataclass

from lycosa.vocabulary.errors import UsageError

SMALLEST_SITE = 4  # pages


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a world is made from; the last four are 1 for the Web as it was measured, 0 for a property turned off."""

    pages: int = 40_000
    sites: int | None = None
    topics: int = 37
    seed: int = 1
    status_homophily: float = 1.0
    topical_homophily: float = 1.0
    feature_noise: float = 1.0
    site_words: float = 1.0

    def __post_init__(self) -> None:
        if self.topics < 2 or self.topics > 2000:
            raise UsageError(f"a synthetic world has 2 to 2000 topics, not {self.topics}")
        if self.pages < 20 * self.topics or self.pages > 20_000_000:
            raise UsageError(f"a synthetic world of {self.topics} topics has {20 * self.topics} to 20000000 pages")
        if not self.topics <= self.site_count <= self.pages // (SMALLEST_SITE + 1):
            most = self.pages // (SMALLEST_SITE + 1)
            raise UsageError(f"a synthetic world of {self.pages} pages has {self.topics} to {most} sites")
        if self.seed < 0:
            raise UsageError(f"the seed of a synthetic world is 0 or more, not {self.seed}")
        for name in ("status_homophily", "topical_homophily", "site_words"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise UsageError(f"{name} lies between 0 (none) and 1 (as measured), not {getattr(self, name)}")
        if not 0.0 <= self.feature_noise <= 1e6:
            raise UsageError(f"feature_noise is 0 or more, not {self.feature_noise}")

    @property
    def site_count(self) -> int:
        return self.sites if self.sites is not None else max(self.topics, self.pages // 40)
