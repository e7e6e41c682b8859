"""The settings of a run, by which the next one continues: strategy, options, utility, scope and quotas."""

from collections.abc import Callable, Mapping
from shlex import quote
from typing import Any, Self

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from lycosa.collection.events import RunStart
from lycosa.collection.queries import Queries
from lycosa.frontier.admission import Scope
from lycosa.frontier.quotas import Quotas
from lycosa.recipe import Recipe, UtilityOptions, utility_for
from lycosa.strategies.registry import STRATEGIES, check_options, find_strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import JsonValue
from lycosa.vocabulary.text import counted

from .crawl import NOTHING_LEFT
from .options import flag_of

Notify = Callable[[str], None]


class RunSettings(Struct, frozen=True):
    """The settings of a run, flags included. The settings in a catalog or an archive may be invalid; they are then
    replaced by defaults, so that one bad run cannot make a collection unusable."""

    strategy: str
    options: Mapping[str, JsonValue]  # of the strategy
    utility_options: UtilityOptions  # how relevance is weighed against standing, the importance of a page
    scope: Scope
    quotas: Quotas  # the most pages of a host or a site

    @classmethod
    def of_recipe(cls, recipe: Recipe) -> Self:
        """The settings of a run with this recipe, changed by the options of the run."""
        return cls(
            strategy=recipe.strategy,
            options=recipe.options,
            utility_options=utility_for(recipe.strategy, recipe.utility),
            scope=recipe.scope,
            quotas=recipe.stop.quotas(),
        )

    @classmethod
    def restored(cls, catalog: Queries, recipe: Recipe, *, notify: Notify) -> Self:
        """The settings of the last run; before the first, strategy and utility of the recipe, without options and
        limits."""
        last, options = catalog.get_state("strategy", str), catalog.get_state("options", dict[str, Any])
        strategy, options = _permitted_strategy(last or recipe.strategy, options or {}, recipe, notify)
        utility = catalog.get_state("utility") or msgspec.to_builtins(recipe.utility)
        return cls(
            strategy,
            options,
            utility_for(strategy, _utility_of(utility)),
            catalog.get_state("scope", Scope) or Scope(),
            _quotas_of(catalog.get_state("quotas")),
        )

    @classmethod
    def of_run(cls, run: RunStart, recipe: Recipe, *, notify: Notify) -> Self:
        """The settings that a run records at its start."""
        strategy, options = _permitted_strategy(run.strategy, run.options or {}, recipe, notify)
        utility = utility_for(strategy, _utility_of(run.utility))
        return cls(strategy, options, utility, scope_of(run.scope), _quotas_of(run.quotas or None))

    def run_start(
        self, at: float, *, refresh: JsonValue, map_: JsonValue, access_log: JsonValue, rank_lists_digest: str
    ) -> RunStart:
        """The event that records the start of a run with these settings and without seeds.

        refresh, map_, access_log: what it refreshes, and the map and the log that guide it, as `RunStart` has them.
        rank_lists_digest: hash of the imported lists by which domains are ranked; empty if none was used.
        """
        return RunStart(
            at=at,
            strategy=self.strategy,
            seeds=(),
            scope=msgspec.to_builtins(self.scope),
            utility=msgspec.to_builtins(self.utility_options),
            refresh=refresh,
            map=map_,
            access_log=access_log,
            options=self.options or UNSET,
            quotas=msgspec.to_builtins(self.quotas) or UNSET,
            rank_lists_digest=rank_lists_digest or UNSET,
        )

    def strategy_changes(self, before: Self) -> list[str]:
        """What differs in the strategy and its options, by name."""
        pairs = (
            ("strategy", before.strategy, self.strategy),
            ("options", before.options, self.options),
            ("target", before.utility_options, self.utility_options),
        )
        return [name for name, old, new in pairs if old != new]

    def limit_changes(self, before: Self) -> list[str]:
        """What differs in the limits that decide which URLs may wait, by name."""
        has_other_scope = _url_scope(self.scope) != _url_scope(before.scope)
        return ["scope"] * has_other_scope + ["quotas"] * (self.quotas != before.quotas)

    def limits_dropped(self, scope: Scope) -> list[str]:
        """The limits of this scope that another one lacks, as flags."""
        return limits_as_flags(self.scope, unless_in=scope)

    def empty_frontier_reason(self, skipped: int) -> str:
        """The stop reason when the frontier is empty; `skipped` is the number of links skipped because of a quota."""
        quotas = self.quotas
        if not skipped or quotas == Quotas():
            return NOTHING_LEFT
        bounds = [
            (unit, option, bound)
            for unit, option, bound in (("host", "per_host", quotas.per_host), ("site", "per_site", quotas.per_site))
            if bound
        ]
        limits = ", ".join(f"{bound} a {unit}" for unit, _, bound in bounds)
        flags = " or ".join(flag_of(option) for _, option, _ in bounds)
        return (
            f"nothing is left to fetch within the quotas of pages ({limits}), for which {counted(skipped, 'link')} "
            f"{'was' if skipped == 1 else 'were'} skipped; raise {flags} to fetch more"
        )


def limits_as_flags(scope: Scope, *, unless_in: Scope) -> list[str]:
    """The limits of a scope that another one lacks, as flags."""
    flags, other = list[str](), unless_in
    for option, limits, other_limits in (
        ("hosts", scope.hosts, other.hosts),
        ("exclude_hosts", scope.exclude_hosts, other.exclude_hosts),
        ("urls", scope.urls, other.urls),
        ("exclude_urls", scope.exclude_urls, other.exclude_urls),
        ("languages", scope.languages, other.languages),
    ):
        flags += [f"{flag_of(option)} {quote(limit)}" for limit in limits if limit not in other_limits]
    return flags + [flag_of("stay")] * (scope.stay_on_sites and not other.stay_on_sites)


def _permitted_strategy(
    strategy: str, options: Mapping[str, JsonValue], recipe: Recipe, notify: Notify
) -> tuple[str, Mapping[str, JsonValue]]:
    """The strategy of a run, and its options. A plug-in runs only if the recipe or a flag names it, not because an
    archived run does; otherwise, the recipe's strategy is used. Options that are no longer valid are dropped."""
    if strategy in STRATEGIES or strategy == recipe.strategy:
        try:
            if options:  # a strategy without any is made when it is needed
                find_strategy(strategy)(**check_options(strategy, options))
        except UsageError as error:
            notify(f"continuing without the options of the last run: {error}")
            return strategy, {}
        return strategy, options
    notify(
        f"the last run used the strategy {strategy} of a plug-in, which the recipe does not name: "
        f"{recipe.strategy} is used instead"
    )
    return recipe.strategy, recipe.options


def _url_scope(scope: Scope) -> Scope:
    """The part of the scope that decides which URLs may wait."""
    return replace(scope, keep_noindex=False)


def _utility_of(saved: JsonValue) -> UtilityOptions:
    try:
        return msgspec.convert(saved or {}, UtilityOptions)
    except msgspec.ValidationError:
        return UtilityOptions()


def scope_of(saved: JsonValue) -> Scope:
    """The scope that a run has saved; one without limits if invalid."""
    try:
        return msgspec.convert(saved or {}, Scope)
    except msgspec.ValidationError:
        return Scope()


def _quotas_of(saved: JsonValue) -> Quotas:
    try:
        return msgspec.convert(saved or {}, Quotas)
    except msgspec.ValidationError:
        return Quotas()
