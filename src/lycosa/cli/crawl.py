"""`lycosa crawl`: crawls, or continues a crawl."""

from typing import Annotated, Unpack

import typer

from lycosa import api
from lycosa.run.options import CrawlOptions
from lycosa.vocabulary.url_files import url_of_bare_host

from .crawl_display import log_pages, run_and_show, run_workers_and_show
from .options import Name, PageLog, Quiet, Verbose, notify, with_options
from .progress import Mode, Progress


@with_options(CrawlOptions)
def crawl(
    name: Name,
    page_log: PageLog = None,
    verbose: Verbose = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line, for programs.")] = False,
    quiet: Quiet = False,
    **options: Unpack[CrawlOptions],
) -> None:
    """Start or continue a crawl. Ctrl-C is safe: the same command continues where it stopped."""
    run = api.crawl(name, notify=notify, **options)
    for seed in options.get("seeds", ()):
        if (url := url_of_bare_host(seed)) is not None:
            notify(f"{seed!r} is read as {url}")
    mode: Mode | None = "silent" if quiet else "messages" if as_json or verbose else None
    with log_pages(page_log, verbose=verbose), Progress(mode=mode) as progress:
        if isinstance(run, api.ParallelRun):
            run_workers_and_show(run, progress=progress, as_json=as_json, quiet=quiet)
        else:
            run_and_show(run, progress=progress, as_json=as_json, quiet=quiet)
