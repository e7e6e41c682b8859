"""`lycosa review`: shows pages one by one, asks whether they are on the topic, and retrains after each batch.

Some pages of each batch are drawn at random from all pages of the collection. Those of all batches are the sample: the
share of it that the user calls on topic measures the harvest rate. The sample is behind if the collection has grown so
much since that it says little about the present one.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Annotated

import msgspec
import typer

from lycosa.recipe import load_recipe
from lycosa.run import steering
from lycosa.run.control import label_pages
from lycosa.run.open import open_for_reading
from lycosa.run.review import (
    MIN_DRAWN,
    Batch,
    ReviewPage,
    SampleResult,
    add_to_sample,
    choose_batch,
    sample_result,
)
from lycosa.run.topic_training import LearntLabels
from lycosa.run.upkeep import require_learning
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import counted, printable

from .label import labels_in_words
from .options import Json, Name, notify, print_json, shell_command

_ANSWERS = {
    "y": "yes", "yes": "yes", "n": "no", "no": "no",
    "s": "skip", "skip": "skip", "": "skip", " ": "skip",
    "u": "undo", "undo": "undo", "q": "quit", "quit": "quit",
}  # fmt: skip
_KEYS = "[y]es [n]o [s]kip [u]ndo [q]uit"
_MAX_ANSWER = 100  # characters
_MAX_LINE = 100_000  # characters of standard input without an end of line
_REASONS = {"uncertain": "the model is unsure", "top": "among the most relevant", "random": "drawn at random"}


def review(
    name: Name,
    size: Annotated[int, typer.Option("--pages", metavar="N", min=1, max=100, help="Pages in a batch.")] = 10,
    batches: Annotated[int | None, typer.Option(metavar="N", min=1, help="Stop after N batches.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Draw the same random pages again.")] = None,
    as_json: Json = False,
) -> None:
    """Review pages, ten at a time, and retrain. Two of ten are drawn at random and measure the harvest rate."""
    require_learning(name, load_recipe(name))
    reviewer = _Review(name, size=size, random=Random(seed), as_json=as_json)
    batches_done = 0
    while (batches is None or batches_done < batches) and reviewer.review_batch():
        batches_done += 1
    reviewer.finish()


class _Review:
    """The batches that one command shows, with what was labelled and learnt."""

    def __init__(self, folder: Path, *, size: int, random: Random, as_json: bool):
        self._folder = folder
        self._size = size
        self._random = random
        self._as_json = as_json
        self._seen: set[Url] = set()  # pages that the user has answered for
        self._label_count = 0
        self._learnt: LearntLabels | None = None
        self._answers = _answers()

    def review_batch(self) -> bool:
        """Asks for the pages of a batch and learns from the answers; False if there are no more."""
        with open_for_reading(self._folder) as collection:
            recipe = load_recipe(self._folder, for_reading=True)
            batch = choose_batch(
                collection, self._folder, recipe, size=self._size, random=self._random, exclude=self._seen
            )
        if batch.labelled_before:
            add_to_sample(self._folder, batch.labelled_before, pages=batch.pages_then)
        if not batch.pages:
            if not self._as_json:
                typer.echo("No page is left to review.")
            return False
        labels: list[bool | None] = []
        try:
            is_complete = self._ask(batch, labels)
        except KeyboardInterrupt:
            is_complete = False  # answers are saved already; the model learns from them
        label_count = sum(label is not None for label in labels)
        if label_count:
            self._learnt = label_pages(self._folder, {}, notify=notify)
            self._label_count += label_count
            if not self._as_json:
                typer.echo(f"Saved. {labels_in_words(self._learnt, self._folder)}")
        return is_complete

    def _ask(self, batch: Batch, labels: list[bool | None]) -> bool:
        """Asks for the label of each page; returns False if the user quits. Each answer is saved before the next
        question.

        labels: receives the label of each page, None for one that is skipped.
        """
        while len(labels) < len(batch.pages):
            page = batch.pages[len(labels)]
            self._show(page, len(labels) + 1, len(batch.pages))
            answer = next(self._answers)
            if answer == "quit":
                return False
            if answer == "undo":
                if not labels:
                    undo = shell_command("control", self._folder, "undo")
                    notify(f"nothing in this batch to undo; to undo earlier labels: {undo}")
                else:
                    self._undo(batch.pages[len(labels) - 1], labels)
                continue
            label = {"yes": True, "no": False}.get(answer)
            labels.append(label)
            self._seen.add(page.url)
            if label is not None:
                steering.label(self._folder, {page.url: label})
                if page.why == "random":
                    relevances = {page.url: page.relevance}
                    add_to_sample(self._folder, {page.url: label}, pages=batch.pages_then, relevances=relevances)
        return True

    def _undo(self, page: ReviewPage, labels: list[bool | None]) -> None:
        """Takes back the answer for the last page."""
        if labels[-1] is not None:
            try:
                steering.undo_label(self._folder, page.url)
            except UsageError as error:
                notify(str(error))
                return
        labels.pop()

    def _show(self, page: ReviewPage, number: int, total: int) -> None:
        if self._as_json:
            print_json({"number": number, "of": total, **msgspec.to_builtins(page)})
            return
        relevance = "not judged" if page.relevance is None else f"relevance {page.relevance:.2f}"
        typer.echo(f"\n{number} of {total}  {printable(page.title, 100) or '(no title)'}")
        typer.echo(f"  {printable(page.url, 300)}")
        typer.echo(f"  {relevance}, {_REASONS[page.why]}")
        if page.text:
            typer.echo(f"  {printable(page.text, 300)}")
        typer.echo(f"On the topic? {_KEYS} ", nl=False)

    def finish(self) -> None:
        """Prints the result of the random sample."""
        with open_for_reading(self._folder) as collection:
            sample = sample_result(self._folder, collection.catalog)
        if self._as_json:
            learnt = self._learnt
            print_json(
                {
                    "labels": self._label_count,
                    "judged": learnt and learnt.judged,
                    "missing": learnt and learnt.missing,
                    "sample": sample and msgspec.to_builtins(sample),
                }
            )
        elif sample is not None:
            typer.echo(sample_in_words(sample))


def sample_in_words(sample: SampleResult) -> str:
    """What a random sample says of the harvest rate."""
    verb = "is" if sample.good == 1 else "are"
    drawn = f"{sample.good} of {counted(sample.drawn, 'page')} drawn at random {verb} on topic"
    if not sample.is_enough:
        return f"{drawn}; from {MIN_DRAWN} on, the harvest rate is shown as measured."
    measured = f"Measured: {drawn}: {sample.share:.0%}, probably within {sample.low:.0%}–{sample.high:.0%}"
    return f"{measured}, {sample.growth}: review some more." if sample.is_behind else f"{measured}."


def _skip_rest_of_line(line: str) -> bool:
    """Reads standard input to the end of the line that begins so; False, with a message, if it is too long."""
    for _ in range(_MAX_LINE // _MAX_ANSWER):
        if len(line) < _MAX_ANSWER or line.endswith("\n"):
            return True
        line = sys.stdin.readline(_MAX_ANSWER)
    notify(f"an answer of more than {_MAX_LINE:,} characters: the review ends here")
    return False


def _answers() -> Iterator[str]:
    """The answers of the user, by single keys on a terminal, else a line each; `quit` at the end of input."""
    while True:
        if sys.stdin.isatty():
            key = typer.getchar()
            typer.echo(key if key.isprintable() else "")
            typed = "q" if key in ("\x03", "\x04", "\x1b") else key
        else:
            line = sys.stdin.readline(_MAX_ANSWER)
            if not line or not _skip_rest_of_line(line):
                yield "quit"
                continue
            typed = line
        answer = _ANSWERS.get(typed.strip().lower())
        if answer is None:
            notify(f"{printable(typed, 20)!r} is not an answer; the answers are {_KEYS}")
        else:
            yield answer
