"""What a user says of one run, beside the recipe: by flags of the command line, or by keywords of `lycosa.crawl`."""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from lycosa.recipe import (
    Logs,
    Map,
    Recipe,
    check_strategy,
    check_takes_log,
    check_takes_map,
    hosts_in,
    languages_in,
)
from lycosa.strategies.registry import STRATEGIES, check_options, find_strategy
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.field_mistakes import mistake_in
from lycosa.vocabulary.records import Plain
from lycosa.web.live import connect_to


class Settings(NamedTuple):
    """How one run differs from what the recipe says of every run."""

    sitemaps: bool = False
    allow_private: bool = False
    resolve: tuple[str, ...] = ()


def settings_of(*, sitemaps: bool = False, allow_private: bool = False, resolve: Iterable[str] = ()) -> Settings:
    """The settings, once they are known to be possible."""
    resolve = tuple(resolve)
    for entry in resolve:
        connect_to(entry)
    return Settings(sitemaps, allow_private, resolve)


def changed_recipe(
    recipe: Recipe,
    *,
    strategy: str | None = None,
    options: Mapping[str, Plain] = {},
    target: float | None = None,
    pages: int | None = None,
    minutes: float | None = None,
    max_bytes: int | None = None,
    dry_after: int | None = None,
    delay: float | None = None,
    concurrency: int | None = None,
    hosts: Sequence[str] = (),
    exclude_hosts: Sequence[str] = (),
    urls: Sequence[str] = (),
    exclude_urls: Sequence[str] = (),
    stay: bool = False,
    languages: Sequence[str] = (),
    atlas: Path | None = None,
    map_topic: str | None = None,
    map_priority: float | None = None,
    taxonomy: Path | None = None,
    logs: Path | None = None,
    log_half_life: float | None = None,
    min_users: int | None = None,
) -> Recipe:
    """The recipe with what was said: numbers replace those of the recipe, hosts and patterns are added to them."""
    scope, strategy = recipe.scope, strategy or recipe.strategy
    check_strategy(strategy)
    entry = find_strategy(strategy)
    if target is not None and not entry.takes("target"):
        having = ", ".join(name for name, each in STRATEGIES.items() if each.takes("target"))
        raise UsageError(f"the strategy {strategy} has no target; those that have one are {having}")
    if strategy == recipe.strategy:  # those of the recipe are for the strategy of the recipe
        options = {**recipe.options, **options}
    entry(**check_options(strategy, options))  # which refuses what is out of bounds
    map_ = _changed(
        recipe.map,
        atlas=None if atlas is None else str(atlas.absolute()),
        topic=map_topic,
        priority=map_priority,
        taxonomy=None if taxonomy is None else str(taxonomy.absolute()),
    )
    if map_.atlas:
        check_takes_map(strategy)
    elif "map" in entry.needs or map_ != Map():
        raise UsageError("there is no map to go by; name the atlas it is in with --map")
    log = _changed(
        recipe.logs,
        file=None if logs is None else str(logs.absolute()),
        half_life=log_half_life,
        min_users=min_users,
    )
    if log.file:
        check_takes_log(strategy)
    elif "log" in entry.needs or log != Logs():
        whose = f"the strategy {strategy} goes by what people read: " if "log" in entry.needs else ""
        raise UsageError(f"{whose}there is no access log; name one, as lycosa logs import makes it, with --logs")
    return replace(
        recipe,
        strategy=strategy,
        options=options,
        utility=_changed(recipe.utility, target=target),
        map=map_,
        logs=log,
        scope=replace(
            scope,
            hosts=(*scope.hosts, *hosts_in(hosts, "hosts")),
            exclude_hosts=(*scope.exclude_hosts, *hosts_in(exclude_hosts, "exclude_hosts")),
            urls=(*scope.urls, *urls),
            exclude_urls=(*scope.exclude_urls, *exclude_urls),
            stay_on_sites=scope.stay_on_sites or stay,
            languages=(*scope.languages, *languages_in(languages, "languages")),
        ),
        requests=_changed(recipe.requests, delay=delay, concurrency=concurrency),
        stop=_changed(recipe.stop, pages=pages, minutes=minutes, bytes=max_bytes, dry_after=dry_after),
    )


S = TypeVar("S", bound=Struct)


def _changed(settings: S, **said: object) -> S:
    given = {key: value for key, value in said.items() if value is not None}
    for key, value in given.items():
        if isinstance(value, float) and not isfinite(value):
            raise UsageError(f"{key} is to be a number, not {value}")
    changed = replace(settings, **given)
    try:
        msgspec.convert(msgspec.to_builtins(changed), type(settings))
    except msgspec.ValidationError as error:
        raise UsageError(mistake_in(error, type(settings))) from None
    return changed
