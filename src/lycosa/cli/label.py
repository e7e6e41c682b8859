"""`lycosa label`: marks pages as on or off topic, and retrains the model once for all of them."""

from errno import EFBIG
from pathlib import Path
from typing import Annotated

import typer

from lycosa import api
from lycosa.run.control import MAX_LABELS
from lycosa.run.topic_training import LearntLabels
from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import read_user_file
from lycosa.vocabulary.records import Url
from lycosa.vocabulary.text import counted
from lycosa.vocabulary.urls import checked_url

from .options import Json, Name, notify, print_json, shell_command

_MAX_BYTES = 32 << 20  # of a file of labels
_LABELS = {"good": True, "bad": False, "+": True, "-": False}  # a label is True for a page that is on the topic


def label(
    name: Name,
    urls: Annotated[list[str] | None, typer.Argument(metavar="URL…", help="One page or several: https://…")] = None,
    good: Annotated[bool, typer.Option("--good", help="The pages are on the topic.")] = False,
    bad: Annotated[bool, typer.Option("--bad", help="The pages are not.")] = False,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Read URLs from FILE, one a line, or from standard input with -; a line may begin with good or bad.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Mark pages as on or off topic and retrain. Works while a crawl of the collection runs, too."""
    if good and bad:
        raise UsageError("--good and --bad cannot be combined; write good or bad before each URL of a file")
    label_for_all = True if good else False if bad else None
    labels: dict[Url, bool] = {}
    for url in urls or ():
        if label_for_all is None:
            raise UsageError("say either --good or --bad")
        labels[checked_url(url)] = label_for_all
    if file is not None:
        labels |= _read_labels(file, label_for_all)
    if not labels:
        raise UsageError("no URL to label; give one or several, or a file of them with --file")
    if len(labels) > MAX_LABELS:
        raise UsageError(f"{len(labels)} URLs are too many at once; give up to {MAX_LABELS}")
    good_urls, bad_urls = ([url for url, label in labels.items() if label is is_good] for is_good in (True, False))
    learnt = api.label(name, good=good_urls, bad=bad_urls, notify=notify)
    if as_json:
        print_json({"labels": len(labels), "judged": learnt.judged, "missing": learnt.missing})
    else:
        typer.echo(f"Saved {counted(len(labels), 'label')}. {labels_in_words(learnt, name)}")


def labels_in_words(learnt: LearntLabels, name: Path) -> str:
    """How many pages were scored again after labels were learnt, and how many the next crawl has to fetch, in words."""
    if learnt.judged is None:
        return f"The model will be trained by the next: {shell_command('crawl', name)}"
    trained = f"Model retrained; {counted(learnt.judged, 'page')} re-scored."
    if learnt.missing:
        labelled = learnt.missing - learnt.missing_examples
        kinds = ((labelled, "labelled page"), (learnt.missing_examples, "example"))
        missing = f"{' and '.join(counted(count, kind) for count, kind in kinds if count)} not in the collection yet"
        return f"{trained} The next crawl fetches {missing} and learns from {'it' if learnt.missing == 1 else 'them'}."
    return trained


def _read_labels(file: Path, label_for_all: bool | None) -> dict[Url, bool]:
    """The labels of a file: `URL`, or `good URL` and `bad URL`, one a line; lines that begin with # are left out."""
    name = "standard input" if str(file) == "-" else str(file)
    try:
        data = read_user_file(file, _MAX_BYTES)
    except OSError as error:
        hint = f"; give up to {MAX_LABELS} URLs" if error.errno == EFBIG else ""
        raise UsageError(f"cannot read {name}: {error.strerror}{hint}") from None
    labels: dict[Url, bool] = {}
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        label = _LABELS.get(words[0].lower()) if len(words) == 2 else label_for_all
        if label is None or len(words) > 2:
            raise UsageError(f"{name}:{number}: write `good URL` or `bad URL`, or say --good or --bad for all")
        try:
            labels[checked_url(words[-1])] = label
        except UsageError as error:
            raise UsageError(f"{name}:{number}: {error}") from None
    return labels
