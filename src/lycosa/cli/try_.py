"""`lycosa try`: what a crawl would make of one page."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Unpack

import typer

from lycosa.recipe import FILE_NAME
from lycosa.run.new import new_collection
from lycosa.run.options import RequestOptions, changed_recipe, settings_of
from lycosa.run.reasons import reasons_in_words
from lycosa.run.trial import Trial, WaitingLink, try_url
from lycosa.run.trust import polite_recipe
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.event_loop import new_event_loop
from lycosa.vocabulary.records import LeftOut
from lycosa.vocabulary.text import counted, printable
from lycosa.vocabulary.url_files import url_of_bare_host
from lycosa.vocabulary.urls import checked_url

from .options import Json, UrlArgument, notify, print_json, with_options


@with_options(RequestOptions)
def try_(
    url: UrlArgument,
    name: Annotated[
        Path | None, typer.Argument(metavar="[NAME]", help="A collection by whose topic it is judged.")
    ] = None,
    topic: Annotated[str, typer.Option(metavar="WORDS", help="Instead of NAME: the topic in words.")] = "",
    examples: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Instead of NAME: pages on the topic, as for lycosa new.")
    ] = None,
    example: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="Instead of NAME: a page on the topic. Repeatable.")
    ] = None,
    links: Annotated[int, typer.Option(metavar="N", min=0, max=10_000, help="Links shown.")] = 20,
    as_json: Json = False,
    **options: Unpack[RequestOptions],
) -> None:
    """Show what a crawl would make of one page. Prints relevance, decisive words and links; stores nothing."""
    if name is not None and _is_collection(Path(url)) and not _is_collection(name):
        url, name = str(name), Path(url)  # in the order of all other commands
    completed_url = url_of_bare_host(url)  # None if it was given with its scheme
    if completed_url is not None:
        notify(f"{url!r} is read as {completed_url}")
    page_url, settings = completed_url or checked_url(url), settings_of(options)
    with _collection_folder(name, topic, [*([] if examples is None else [examples]), *(example or ())]) as folder:
        recipe = changed_recipe(polite_recipe(folder, notify=notify), options)
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            trial = runner.run(try_url(folder, recipe, page_url, settings, clock=WallClock(), notify=notify))
    if completed_url is not None and not trial.is_page and "TLS error" in trial.outcome:
        notify(f"if the host has no TLS, write {completed_url.replace('https://', 'http://', 1)}")
    if as_json:
        print_json(trial)
    else:
        for line in _lines(trial, links):
            typer.echo(line)
    if not trial.is_page:
        raise typer.Exit(1)


def _is_collection(path: Path) -> bool:
    return (path / FILE_NAME).is_file()


@contextmanager
def _collection_folder(name: Path | None, topic: str, examples: list[str | Path]) -> Iterator[Path]:
    """The collection; or one of this topic that is removed afterwards."""
    if name is not None and (topic or examples):
        raise UsageError("give the name of a collection, or --topic and --example, not both")
    if name is not None:
        yield name
        return
    if not topic and not examples:
        raise UsageError("by what topic? give the name of a collection, or --topic WORDS, or --example URL")
    with TemporaryDirectory(prefix="lycosa-") as temporary:
        folder = Path(temporary) / "try"
        new_collection(folder, topic=topic, examples=examples, notify=notify)
        yield folder


_LEFT_OUT = {
    "noindex": "no: it asks not to be kept (noindex); --keep-noindex keeps it",
    "language": "no: its language, {}, is out of scope",
}


def _lines(trial: Trial, max_links: int) -> Iterator[str]:
    for hop in trial.hops:  # redirects
        yield printable(hop, 400)
    yield printable(f"{trial.url}: {trial.outcome}", 400)
    if not trial.is_page or trial.relevance is None:
        yield "would be kept  no: there is no page to keep"
        return
    yield f"title          {printable(trial.title, 120) or '(none)'}"
    yield f"language       {trial.language or 'unknown'}"
    yield f"relevance      {trial.relevance:.2f}, {'' if trial.is_relevant else 'not '}on the topic"
    if trial.words_for:
        yield f"words for      {_contributions(trial.words_for)}"
    if trial.words_against:
        yield f"words against  {_contributions(trial.words_against)}"
    if trial.meaning is not None:
        yield f"meaning        {trial.meaning:+.2f}, the text as a whole"
    left_out = LeftOut.parse(trial.left_out)
    kept = _LEFT_OUT.get(left_out.reason.value, "no: {}").format(printable(left_out.detail, 100)) if left_out else "yes"
    yield f"would be kept  {kept}"
    skipped = ", ".join(f"{count} {reason}" for reason, count in trial.skipped.items())
    not_followed = f"; not followed: {skipped}" if skipped else ""
    known = "".join(f", {count:,} {state}" for state, count in trial.known.items())
    yield f"links          {counted(len(trial.links), 'link')} would wait{known}{not_followed}"
    for link in trial.links[:max_links]:
        yield from _link_lines(link)


def _contributions(words: Mapping[str, float]) -> str:
    return printable(", ".join(f"{word} {contribution:+.2g}" for word, contribution in words.items()), 300)


def _link_lines(link: WaitingLink) -> Iterator[str]:
    anchor = f"  “{printable(link.anchor, 60)}”" if link.anchor.strip() else ""
    yield f"  {link.priority:<8.2g}  {printable(link.url, 200)}{anchor}"
    yield f"            {printable(reasons_in_words(link.because), 300)}"
