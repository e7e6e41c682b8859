from pathlib import Path
from typing import Annotated

import typer

from lycosa.recipe import hosts_in, languages_in, load_recipe
from lycosa.run.options import changed_recipe, settings_of
from lycosa.strategies.registry import STRATEGIES, parse_options

from .options import AllowPrivate, Concurrency, Delay, Minutes, Name, PageLog, Quiet, Resolve, Verbose
from .progress import Form, Progress
from .watching import log_pages, run


def crawl(
    name: Name,
    pages: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Size the collection shall reach, over all runs.")
    ] = None,
    minutes: Minutes = None,
    max_bytes: Annotated[
        int | None,
        typer.Option("--bytes", metavar="N", min=1, help="Stop when the pages have so many bytes, over all runs."),
    ] = None,
    dry_after: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Stop when so many pages in a row were not relevant. 0: never."),
    ] = None,
    strategy: Annotated[str | None, typer.Option(metavar="NAME", help=f"One of: {', '.join(STRATEGIES)}.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Set an option of the strategy, such as window=50. Repeatable."),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(metavar="SHARE", min=0, max=1, help="How relevant pages shall be, seeking those that matter."),
    ] = None,
    atlas: Annotated[
        Path | None,
        typer.Option("--map", metavar="ATLAS", help="Go by what crawls before have learnt; see lycosa map build."),
    ] = None,
    map_topic: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="Whose map; needed where the atlas has several.")
    ] = None,
    map_priority: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", min=0, max=1, help="Of the map's links: higher for known pages, lower for new ones. [0.6]"
        ),
    ] = None,
    taxonomy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Tells topics apart: pages on related ones lead to the map's portals."),
    ] = None,
    logs: Annotated[
        Path | None,
        typer.Option(metavar="LOG", help="Go where people went; see lycosa logs import."),
    ] = None,
    log_half_life: Annotated[
        float | None, typer.Option(metavar="DAYS", help="Accesses so old count half as much as the latest.")
    ] = None,
    min_users: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Leave out pages that fewer people have read. [1]")
    ] = None,
    delay: Delay = None,
    concurrency: Concurrency = None,
    include_host: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="Only this host and its subdomains. Repeatable.")
    ] = None,
    exclude_host: Annotated[list[str] | None, typer.Option(metavar="HOST", help="Not this host. Repeatable.")] = None,
    include_url: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Only URLs like 'https://*/wiki/*'. Repeatable.")
    ] = None,
    exclude_url: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="No URLs like '*/login*'. Repeatable.")
    ] = None,
    stay: Annotated[bool, typer.Option("--stay", help="Stay on the sites of the seeds.")] = False,
    language: Annotated[
        list[str] | None, typer.Option(metavar="CODE", help="Only pages in this language, such as en. Repeatable.")
    ] = None,
    sitemaps: Annotated[
        bool, typer.Option("--sitemaps", help="Also start from the sitemaps of the seeds' hosts.")
    ] = False,
    allow_private: AllowPrivate = False,
    resolve: Resolve = None,
    log: PageLog = None,
    verbose: Verbose = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line, for programs.")] = False,
    quiet: Quiet = False,
) -> None:
    """Crawl, or go on crawling. Ctrl-C is safe: the same command goes on where it stopped."""
    settings = settings_of(sitemaps=sitemaps, allow_private=allow_private, resolve=resolve or ())
    recipe = changed_recipe(
        load_recipe(name),
        strategy=strategy,
        options=parse_options(option or ()),
        target=target,
        pages=pages,
        minutes=minutes,
        max_bytes=max_bytes,
        dry_after=dry_after,
        delay=delay,
        concurrency=concurrency,
        hosts=hosts_in(include_host or (), "--include-host"),
        exclude_hosts=hosts_in(exclude_host or (), "--exclude-host"),
        urls=include_url or (),
        exclude_urls=exclude_url or (),
        stay=stay,
        languages=languages_in(language or (), "--language"),
        atlas=atlas,
        map_topic=map_topic,
        map_priority=map_priority,
        taxonomy=taxonomy,
        logs=logs,
        log_half_life=log_half_life,
        min_users=min_users,
    )
    form: Form | None = "silent" if quiet else "words" if as_json or verbose else None
    with log_pages(log, verbose=verbose), Progress(form=form) as progress:
        run(name, recipe, settings, progress=progress, as_json=as_json, quiet=quiet)
