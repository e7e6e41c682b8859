"""`lycosa seeds`: finds URLs to start a crawl from."""

import asyncio
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Unpack

import typer

from lycosa.recipe import seeds_in
from lycosa.run.options import CommandSettings, RequestOptions, settings_of
from lycosa.run.seed_sources import COMMON_CRAWL, DELAY, WAYBACK, FoundSeeds, SeedSources, find_seeds
from lycosa.user_config import checked_contact, load_user_config, user_contact
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import output_file
from lycosa.vocabulary.text import counted
from lycosa.vocabulary.urls import normalise

from .job_progress import elapsed_notice
from .options import Json, notify, print_json, with_options
from .typer_options import TYPER_OPTIONS

app = typer.Typer(name="seeds", **{**TYPER_OPTIONS, "no_args_is_help": False})


@app.command("seeds")
@with_options(RequestOptions)
def seeds(
    hosts: Annotated[
        list[str] | None, typer.Argument(metavar="[HOST…]", help="Sites whose pages are wanted: names or URLs.")
    ] = None,
    words: Annotated[str, typer.Option(metavar="WORDS", help="Words to search for with SearXNG.")] = "",
    searxng: Annotated[
        str | None, typer.Option(metavar="URL", help="Your SearXNG, with JSON enabled; may also be set in config.toml.")
    ] = None,
    common_crawl: Annotated[bool, typer.Option("--common-crawl", help="Ask the newest index of Common Crawl.")] = False,
    wayback: Annotated[bool, typer.Option("--wayback", help="Ask the index of the Wayback Machine.")] = False,
    sitemap: Annotated[bool, typer.Option("--sitemap", help="Read the sitemaps of the hosts.")] = False,
    llms_txt: Annotated[bool, typer.Option("--llms-txt", help="Read /llms.txt of the hosts.")] = False,
    limit: Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="Most URLs from each source.")] = 1_000,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to FILE, for lycosa new --seeds.")] = None,
    delay: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Pause between two requests to one host.")
    ] = DELAY,
    common_crawl_url: Annotated[str, typer.Option(metavar="URL", help="Another index.")] = COMMON_CRAWL,
    wayback_url: Annotated[str, typer.Option(metavar="URL", help="Another index.")] = WAYBACK,
    as_json: Json = False,
    **options: Unpack[RequestOptions],
) -> None:
    """Find URLs to start from. Asks your own SearXNG for words, and indexes, sitemaps and llms.txt for hosts.

    By default: SearXNG for --words; sitemaps and llms.txt for hosts. A source that fails says so; the others continue.
    """
    searxng_url = searxng if searxng is not None else load_user_config().searxng if words else ""
    if words and not searxng_url:
        raise UsageError('--words needs a SearXNG: say --searxng URL, or searxng = "URL" in your config.toml')
    if searxng_url and not words:
        raise UsageError("what is the SearXNG to be asked for? say --words")
    host_urls = seeds_in(hosts or (), "hosts", notify=lambda line: None)  # a bare host becomes its URL
    if not host_urls and not words:
        raise UsageError("name hosts, or say --words with a SearXNG; see: lycosa seeds --help")
    if (common_crawl or wayback or sitemap or llms_txt) and not host_urls:
        raise UsageError("--common-crawl, --wayback, --sitemap and --llms-txt are about hosts; name some")
    has_chosen_sources = common_crawl or wayback or sitemap or llms_txt
    sources = SeedSources(
        host_urls=host_urls,
        words=words,
        searxng=_checked_address(searxng_url, "--searxng"),
        common_crawl=_checked_address(common_crawl_url, "--common-crawl-url") if common_crawl else "",
        wayback=_checked_address(wayback_url, "--wayback-url") if wayback else "",
        sitemap=sitemap or (bool(host_urls) and not has_chosen_sources),
        llms_txt=llms_txt or (bool(host_urls) and not has_chosen_sources),
        limit=limit,
    )
    contact = checked_contact(options.get("contact") or "", "--contact") or user_contact()
    with elapsed_notice("asking for seeds"):
        results = asyncio.run(_find(sources, settings_of(options), contact, delay))
    urls = list(dict.fromkeys(url for result in results for url in result.urls))
    if as_json:
        print_json(results)
    if out is not None or not as_json:
        with output_file(out) if out else nullcontext(sys.stdout.buffer) as file:
            file.write("".join(f"{url}\n" for url in urls).encode())
    if not urls:
        raise typer.Exit(1)


def _checked_address(url: str, flag: str) -> str:
    if url and normalise(url) is None:
        raise UsageError(f"{flag}: not a URL: {url[:100]!r}; write http://… or https://…")
    return url


async def _find(sources: SeedSources, settings: CommandSettings, contact: str, delay: float) -> list[FoundSeeds]:
    results = []
    async for result in find_seeds(sources, settings, contact, clock=WallClock(), delay=delay):
        notify(f"{result.source}: {counted(len(result.urls), 'URL')}{f'; {result.problem}' if result.problem else ''}")
        results.append(result)
    return results
