"""Makes the strategy of a run from recipe, topic and guides, and restores its saved state.

Guides are what earlier use teaches: a topical map, and an access log. Each wraps the strategy and adjusts its
priorities. Standing is the importance of a page whatever the topic; the popularity of its domain is a part of it.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from lycosa.collection.queries import Queries
from lycosa.recipe import Recipe, make_strategy, uses_standing
from lycosa.standing import Traffic, read_traffic
from lycosa.standing.authority_table import AuthorityTable
from lycosa.strategies.base import BaseStrategy
from lycosa.strategies.registry import find_strategy
from lycosa.user_config import authority_file
from lycosa.vocabulary.contracts import Strategy
from lycosa.vocabulary.records import JsonValue, Url

from .access_log import OpenAccessLog
from .guides import Guide, nested_strategies
from .run_settings import RunSettings
from .topic import TopicJudge
from .topical_map import OpenMap
from .trust import regular_file_or_folder

STRATEGY_STATE = "strategy_state"  # key of the state in the catalog
STATE_TOO_LARGE = "too large"  # its value if what the strategy remembers is more than a catalog can have


class StrategyFactory:
    """Makes strategies for the runs of one collection.

    map, log: the guides of the current run.
    """

    def __init__(
        self,
        folder: Path,
        recipe: Recipe,
        *,
        topic: TopicJudge,
        map: Guide[OpenMap],
        log: Guide[OpenAccessLog],
        notify: Callable[[str], None],
    ):
        self._folder = folder
        self._recipe = recipe
        self._topic = topic
        self._map = map
        self._log = log
        self._notify = notify

    def make(self, settings: RunSettings) -> Strategy:
        """A new strategy, wrapped in the active guides."""
        strategy = make_strategy(
            settings.strategy,
            topic_words=self._topic.words,
            stem=self._recipe.topic.stem,
            language=self._topic.language,
            utility_options=settings.utility_options,
            judge=self._topic.linear_model,
            options=settings.options,
            example_urls=[url for url, is_good in self._topic.examples.urls.items() if is_good],
            domain_reach=self._ln_relative_reach,
            access_log=self._log.active.access_log if self._log.active else None,
            hash_seed=self._topic.hash_seed,
        )
        return self._log.wrap(self._map.wrap(strategy))

    def restored(self, settings: RunSettings, catalog: Queries) -> Strategy | None:
        """The strategy as it was at the last checkpoint, or a new one if no state of it was saved, or none that can be
        used without the log that is missing now. None if it cannot be restored: another strategy was saved, its state
        was too large to be saved, or an older version saved less."""
        if catalog.get_state("strategy") not in (None, settings.strategy):
            return None
        saved = catalog.get_state(STRATEGY_STATE)
        if saved == STATE_TOO_LARGE:
            self._notify("the strategy had too much in memory to save it: ranking the waiting links again")
            return None
        strategy, state = self.make(settings), self._usable_state(saved, settings, catalog)
        if state is None:
            return strategy
        try:
            strategy.restore(state)
            _restore_visited(strategy, catalog)
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError):
            self._notify("an older version has crawled here: ranking the waiting links again")
            return None
        return strategy

    def _usable_state(self, state: JsonValue, settings: RunSettings, catalog: Queries) -> JsonValue:
        """A saved state without that of a map or log that is missing now."""
        had_log, had_map = bool(catalog.get_state("logs")), bool(catalog.get_state("map"))
        access_log_is_lost, map_is_lost = had_log and not self._log.reference, had_map and not self._map.reference
        uses_log_itself = "log" in find_strategy(settings.strategy).needs
        if state is None or (access_log_is_lost and uses_log_itself):
            return None
        if access_log_is_lost:
            state = _wrapped_state(state)
        if not map_is_lost:
            return state
        is_map_inside_log = had_log and not access_log_is_lost and not uses_log_itself
        if not is_map_inside_log:
            return _wrapped_state(state)
        return {**state, "inner": _wrapped_state(_wrapped_state(state))} if isinstance(state, dict) else None

    def _ln_relative_reach(self, url: Url) -> float:
        """ln(reach of a URL's domain / median reach), by the table of the recipe, else by the imported rank lists."""
        if self._recipe.standing.traffic or self.authority is None:
            return self._traffic.of(url) - self._traffic.unlisted_value  # an unlisted domain counts as the median
        return self.authority.value(url)

    @cached_property
    def authority(self) -> AuthorityTable | None:
        """The imported rank lists; None if there are none or the recipe does not use them."""
        return AuthorityTable.load(authority_file()) if self._recipe.standing.authority else None

    @property
    def rank_lists_digest(self) -> str:
        """The digest of the imported rank lists if the strategy uses standing, else empty."""
        return self.authority.digest if uses_standing(self._recipe) and self.authority is not None else ""

    @cached_property
    def _traffic(self) -> Traffic:
        """The recipe's table of domains, read on first use."""
        file = self._recipe.standing.traffic
        return Traffic(read_traffic(regular_file_or_folder(self._folder / file)) if file else None)


def _restore_visited(strategy: Strategy, catalog: Queries) -> None:
    """Passes the visited URLs, which may be millions, to strategies that need them."""
    for nested in nested_strategies(strategy):
        if isinstance(nested, BaseStrategy) and type(nested).restore_visited is not BaseStrategy.restore_visited:
            nested.restore_visited(catalog.visited())


def _wrapped_state(state: JsonValue) -> JsonValue:
    """The state of the wrapped strategy in that of its wrapper."""
    return state.get("inner") if isinstance(state, dict) else None
