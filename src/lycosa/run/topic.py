"""Makes a relevance judge from the topic of a recipe.

The first of these that is given decides: a predicate, a function, keywords, examples and words. A predicate may refer
to the topic that the others define. Examples, labels and the words of the topic, as one more example, train a linear
model against the given negatives, or else a built-in background, and against unlabelled pages of the crawl. It is
trained again as the crawl grows.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import combinations
from pathlib import Path

import msgspec
from msgspec import Struct

from lycosa.collection.errors import disk_errors
from lycosa.collection.folder import file_lines
from lycosa.collection.queries import Queries
from lycosa.reading import Reader, page_of_html, page_of_text
from lycosa.reading.decode import decode
from lycosa.reading.language import language_of
from lycosa.reading.terms import StemmingOption
from lycosa.recipe import FILE_NAME, Topic
from lycosa.relevance.cosine import Cosine
from lycosa.relevance.examples import Example, background, read_examples
from lycosa.relevance.function import load_function
from lycosa.relevance.harvest import Calibration
from lycosa.relevance.positive_unlabelled import MIN_BAD
from lycosa.relevance.predicates import Keywords, Predicate, relevance_of
from lycosa.relevance.registry import LINEAR, LinearTrainer, TrainedRelevance, find_trainer
from lycosa.relevance.svm import LinearModel
from lycosa.relevance.term_counts import CountedTerms, TextTerms
from lycosa.vocabulary.contracts import Relevance
from lycosa.vocabulary.errors import CollectionError, LycosaError, RecipeError, UsageError
from lycosa.vocabulary.files import append_lines, atomic_write, open_regular_file, read_regular_file
from lycosa.vocabulary.records import JsonValue, Page, Url
from lycosa.vocabulary.text import printable, tokens_of
from lycosa.vocabulary.urls import host_of, normalise

from .forgotten import is_forgotten, read_forgotten
from .taxonomies import UnstemmedRelevance, load_taxonomy
from .trust import allowed_file, regular_file_or_folder

MODEL_FILE = "model.json"
LABELS_FILE = "labels.txt"
MAX_LABELS_BYTES = 500_000_000
TOPIC_HAS_CHANGED = "topic or examples have changed since the pages were scored: the next crawl scores them again"
# Keys of states in a catalog.
PREDICATE_STATE = "predicate"  # the predicate by which its pages were scored
STEM_STATE = "stem"  # whether they were scored by stems
RULE_STATE = "rule"  # keywords and function by which they were scored; None for a model
_MAX_MODEL_BYTES = 100_000_000
MIN_EXAMPLES = 5  # number of good examples below which there is a warning
_SAME_TEMPLATE = 0.6  # mean share of common words of two examples, from which there is a warning
_MAX_COMPARED = 20  # examples, for their template

Terms = Mapping[str, int]
FindPage = Callable[[Url], Page | None]  # finds an example page that was fetched earlier
FindTerms = Callable[[Url], Terms | None]  # finds its terms
CacheTerms = Callable[[Url, Callable[[], Terms]], Terms]  # the saved terms of a named text, else counted now


# What is raised by reading a model that is damaged, or whose numbers are out of range; plug-ins may raise any of these.
UNUSABLE_MODEL = (CollectionError, RecursionError, LookupError, TypeError, ValueError, ArithmeticError)


class Examples(Struct, frozen=True):
    """The good and bad examples of the user."""

    good: tuple[Example, ...] = ()
    bad: tuple[Example, ...] = ()
    negatives_given: bool = False
    contradictory: tuple[str, ...] = ()  # listed as both, and counted as neither

    @property
    def has_enough_negatives(self) -> bool:
        """Whether a file of negatives was given, with enough of them to calibrate a model."""
        return self.negatives_given and len(self.bad) >= MIN_BAD

    @property
    def urls(self) -> dict[Url, bool]:
        """The examples that are URLs, and whether they are good."""
        labelled = [(example, False) for example in self.bad] + [(example, True) for example in self.good]
        return {Url(example.value): good for example, good in labelled if example.kind == "url"}

    @property
    def digest(self) -> str:
        """Changes when an example is added, removed or labelled otherwise."""
        values = repr(
            [[(example.kind, _value_without_folder(example)) for example in group] for group in (self.good, self.bad)]
        )
        return hashlib.sha256(values.encode()).hexdigest()


def _value_without_folder(example: Example) -> str:
    """The value of an example, without the folder of a file: a collection that is moved keeps its digest."""
    return Path(example.value).name if example.kind == "file" else example.value


class TrainedModel(Struct, frozen=True):
    """A model with its training data, to know when it must be trained again."""

    examples: str  # digest
    rounds: int  # number of sizes in `topic_training.RETRAIN_AT` that the collection had reached
    model: JsonValue


def is_rule(topic: Topic) -> bool:
    """Whether the topic has nothing that is trained on examples."""
    if topic.predicate is not None and not topic.predicate.asks_for_topic:
        return True
    return bool(topic.function or topic.keywords)


def calibration_of(topic: Topic, folder: Path) -> Calibration:
    """How the relevance of a collection is calibrated: by a rule, by negatives and bad labels if there are enough, or
    by the crawl."""
    if is_rule(topic):
        return "rule"
    try:
        return "negatives" if len(examples_of(topic, folder).bad) >= MIN_BAD else "crawl"
    except RecipeError:
        return "crawl"  # a collection can be shown without its examples; the next crawl reports the error


def has_topic_changed(topic: Topic, folder: Path, catalog: Queries) -> bool:
    """Whether the pages were scored by another topic than that of the recipe, so that the next crawl scores them again.

    Runs no code; changes within the user's code are not looked for.
    """
    if not catalog.count():
        return False
    predicate = msgspec.json.decode(msgspec.json.encode(topic.predicate))  # as read from the catalog
    scored_by, rule = catalog.get_state(PREDICATE_STATE), catalog.get_state(RULE_STATE)
    if isinstance(scored_by, dict):
        scored_by = {key: value for key, value in scored_by.items() if key != "code"}
    if predicate != scored_by:
        return True
    if is_rule(topic):
        names = {"keywords": list(topic.keywords), "function": topic.function}
        if not isinstance(rule, dict):
            return (folder / MODEL_FILE).exists()  # it was a model that scored them
        return names != {key: rule.get(key) for key in names}
    try:
        saved, digest = _read_model(folder), _training_digest(topic, examples_of(topic, folder))
    except (RecipeError, CollectionError):
        return False  # a collection can be shown without its examples; the next crawl reports the error
    return rule is not None or (saved is not None and saved.examples != digest)


def _training_digest(topic: Topic, examples: Examples) -> str:
    inputs = [examples.digest, "" if topic.model == LINEAR else topic.model, "stems" if topic.stem else ""]
    return " ".join(filter(None, inputs))


def _read_model(folder: Path) -> TrainedModel | None:
    """The saved model, whatever it was trained on, if there is one."""
    path = folder / MODEL_FILE
    if not path.exists():
        return None
    try:
        with disk_errors(path):
            return msgspec.json.decode(read_regular_file(path, _MAX_MODEL_BYTES), type=TrainedModel)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CollectionError(f"{path}: not a model of ours ({error})") from None


def examples_of(topic: Topic, folder: Path) -> Examples:
    """The examples of the recipe, including its topic in words, and the labels, without forgotten pages."""
    labels = read_labels(folder)
    good = [example for example in _examples_in(folder, topic.examples) if example.value not in labels]
    bad = [example for example in _examples_in(folder, topic.negatives) if example.value not in labels]
    for url, is_good in labels.items():
        (good if is_good else bad).append(Example("url", url, 0))
    forgotten = read_forgotten(folder)
    contradictory = {example.value for example in good} & {example.value for example in bad}
    good, bad = (
        [
            example
            for example in group
            if example.value not in contradictory
            and (example.kind != "url" or not is_forgotten(Url(example.value), forgotten))
        ]
        for group in (good, bad)
    )
    if topic.text:
        good.append(Example("text", topic.text, 0))
    return Examples(tuple(good), tuple(bad), bool(topic.negatives), tuple(sorted(contradictory)))


def _examples_in(folder: Path, name: str) -> list[Example]:
    """The examples in a file that the recipe names; unless the collection is trusted, files must be inside it."""
    if not name:
        return []
    examples = read_examples(allowed_file(folder, name))
    for example in examples:
        if example.kind == "file":
            allowed_file(folder, example.value)
    return examples


def read_labels(folder: Path) -> dict[Url, bool]:
    """The labels of `lycosa label`: lines of `good URL` or `bad URL`; the last for a URL counts."""
    path = folder / LABELS_FILE
    labels: dict[Url, bool] = {}
    for number, line in enumerate(file_lines(path, MAX_LABELS_BYTES, error=RecipeError), 1):
        word, _, text = line.partition(" ")
        url = normalise(text)  # the user may have written the line
        if word not in ("good", "bad") or url is None:
            raise RecipeError(f"{path}:{number}: write `good URL` or `bad URL`")
        labels[url] = word == "good"
    return labels


def forget_labels(folder: Path, is_forgotten: Callable[[Url], bool]) -> None:
    """Removes forgotten URLs from the file of labels."""
    labels = read_labels(folder)
    if any(map(is_forgotten, labels)):
        lines = [f"{'good' if good else 'bad'} {url}\n" for url, good in labels.items() if not is_forgotten(url)]
        path = folder / LABELS_FILE
        with disk_errors(path), atomic_write(path) as file:
            file.write("".join(lines).encode())


def add_labels(folder: Path, labels: Mapping[Url, bool]) -> None:
    """Records labels, durably."""
    path = folder / LABELS_FILE
    with disk_errors(path):
        append_lines(path, "".join(f"{'good' if good else 'bad'} {url}\n" for url, good in labels.items()))


class TopicJudge:
    """The relevance judge of a collection, by its recipe. It is trained once the example pages are available."""

    def __init__(
        self,
        topic: Topic,
        folder: Path,
        reader: Reader,
        cached: CacheTerms | None = None,
        *,
        notify: Callable[[str], None] = lambda line: None,
    ):
        self._topic = topic
        self._notify = notify
        self._is_unusable = False  # the saved model
        self._cached: CacheTerms = cached or (lambda name, count: count())
        self._folder = folder
        self._reader = reader
        self.rounds = 0  # of the current model, as in `TrainedModel`
        self.read_examples()
        self._model: TrainedRelevance | None = None  # the current one
        self._example_terms: dict[Example, CountedTerms | None] = {}  # of examples that are files or texts

    def read_examples(self) -> None:
        """Reads examples and labels again."""
        self.examples = Examples() if is_rule(self._topic) else examples_of(self._topic, self._folder)

    @cached_property
    def hash_seed(self) -> int:
        """A seed, of 63 bits, for hashes of what sites can name: URLs, folders, hosts.

        It depends on the topic and on the examples that the recipe names, so that a site would have to know both to
        compute collisions, and a crawl can be repeated: the same recipe gives the same seed.
        """
        examples = Examples()
        try:
            good, bad = (_examples_in(self._folder, name) for name in (self._topic.examples, self._topic.negatives))
            examples = Examples(tuple(good), tuple(bad))
        except RecipeError:
            pass  # a rule needs no examples; else, the next crawl reports the error
        digest = hashlib.sha256(msgspec.json.encode(self._topic) + examples.digest.encode()).digest()
        return int.from_bytes(digest[:8]) >> 1

    @property
    def words(self) -> Terms:
        """The terms of the topic in words."""
        return self._terms(self._topic.text) if self._topic.text else {}

    def words_as_written(self) -> dict[str, str]:
        """The significant words of the topic, each with its term."""
        terms = {word: list(self._terms(word)) for word in dict.fromkeys(tokens_of(self._topic.text))}
        topic_terms = self.words
        return {
            word: word_terms[0]
            for word, word_terms in terms.items()
            if len(word_terms) == 1 and word_terms[0] in topic_terms
        }

    @property
    def has_model(self) -> bool:
        """Whether there is a saved model, trained on these examples or others, that was not found unusable."""
        return (self._folder / MODEL_FILE).exists() and not self._is_unusable

    @property
    def language(self) -> str:
        """The language of the topic in words, for stemming; empty if unknown."""
        return language_of(self._topic.text)

    @property
    def learns(self) -> bool:
        """Whether the topic has good examples, on which a model is trained."""
        return bool(self.examples.good)

    @property
    def uses_background_negatives(self) -> bool:
        """Whether the built-in background is used as negatives, because the user gave too few."""
        return self.learns and not self.examples.has_enough_negatives

    def linear_model(self) -> LinearModel | None:
        """The linear part of the current model, or of the saved one if none is loaded yet."""
        if self._model is None and self.learns and self._topic.model == LINEAR:
            self._model = self.load()
        return self._model if isinstance(self._model, LinearModel) else None

    def has_good_page(self, find_terms: FindTerms) -> bool:
        """Whether there is a good example that need not be fetched."""
        return any(
            example.kind != "url" or find_terms(Url(example.value)) is not None for example in self.examples.good
        )

    def are_examples_available(self, find_terms: FindTerms) -> bool:
        """Whether all examples are available without fetching, and one of them is good."""
        return self.learns and all(find_terms(url) is not None for url in self.examples.urls)

    @property
    def _training_digest(self) -> str:
        """A digest of the training data: when it changes, the model is trained again."""
        return _training_digest(self._topic, self.examples)

    @property
    def runs_code(self) -> bool:
        """Whether scoring needs the user's function or the model of a plug-in."""
        predicate = self._topic.predicate
        if predicate is None or predicate.asks_for_topic:
            model_runs_code = self.learns and self._topic.model != LINEAR
            return bool(self._topic.function) or model_runs_code or (predicate is not None and predicate.runs_code)
        return predicate.runs_code

    def untrained(self, *, may_run_code: bool) -> Relevance | None:
        """The judge for topics that need no training; None if it needs code that may not be run."""
        if self.runs_code and not may_run_code:
            return None
        return self.judge(None)

    def check(self) -> None:
        """Checks the predicate before anything is fetched; loads the user's code."""
        if self._topic.predicate is not None:
            self.judge(Keywords(["stands for the model"]) if self.learns else None)

    def judge(self, model: Relevance | None) -> Relevance:
        """The judge, given the model of the examples, or without one. May run the user's code."""
        predicate = self._topic.predicate
        if predicate is None:
            return model or self._rule_judge()
        judges = {
            "topic": lambda _: model or self._rule_judge(),
            "text": lambda part: Cosine(part.text or ""),
            "taxonomy": self._taxonomy_judge,
        }
        return relevance_of(predicate, judges, where=f"{self._folder / FILE_NAME}: topic.predicate")

    def _rule_judge(self) -> Relevance:
        """The judge by function or keywords."""
        topic = self._topic
        if topic.function:
            return load_function(topic.function)
        if topic.keywords:
            return Keywords(topic.keywords)
        raise UsageError(
            f"{self._folder}: the recipe names no topic; "
            "give [topic] examples, text, keywords or function in lycosa.toml"
        )

    def _taxonomy_judge(self, part: Predicate) -> Relevance:
        return UnstemmedRelevance(
            load_taxonomy(regular_file_or_folder(self._folder / (part.taxonomy or ""))).relevance_model(part.about)
        )

    def load(self) -> TrainedRelevance | None:
        """The saved model, if it was trained on the current examples and can be used."""
        try:
            saved = _read_model(self._folder)
            if saved is None or saved.examples != self._training_digest:
                return None
            model = find_trainer(self._topic.model).from_plain(saved.model)
        except UNUSABLE_MODEL as error:
            if not self._is_unusable:
                self._notify(f"The topic model has to be retrained: {printable(str(error))}")
            self._is_unusable = True
            return None
        self.rounds = saved.rounds
        self._model = model
        return model

    def train(
        self, find_terms: FindTerms, unlabelled: Sequence[Terms], rounds: int, *, pages: int = 0
    ) -> TrainedRelevance:
        """Trains a model on the examples.

        unlabelled: terms of pages of the crawl that are not examples.
        rounds: see `TrainedModel`.
        pages: number of pages of the crawl, of which the unlabelled ones are a sample.
        """
        good, bad = (self._terms_of(examples, find_terms) for examples in (self.examples.good, self.examples.bad))
        if not good:
            raise LycosaError(self._no_example_message())
        has_background = self.uses_background_negatives or len(bad) < MIN_BAD  # some may have been unreadable
        background_terms = self._background if has_background else []
        self.rounds = rounds
        trainer = find_trainer(self._topic.model)
        if isinstance(trainer, LinearTrainer):
            self._model = trainer.train(good, bad, unlabelled, background_terms, pages=pages)
        else:
            self._model = trainer.train(good, bad, unlabelled, background_terms)
        return self._model

    @cached_property
    def _background(self) -> list[CountedTerms]:
        stem = self._reader.stem
        return [
            CountedTerms(self._cached(Url(f"background://{number}"), partial(_background_terms, text, stem)))
            for number, text in enumerate(background(), 1)
        ]

    def _terms_of(self, examples: Sequence[Example], find_terms: FindTerms) -> list[Terms]:
        all_terms = (self._terms_of_one(example, find_terms) for example in examples)
        return [terms for terms in all_terms if terms]

    def _terms_of_one(self, example: Example, find_terms: FindTerms) -> Terms | None:
        if example.kind == "url":
            return find_terms(Url(example.value))
        if example not in self._example_terms:
            if example.kind == "file":
                self._example_terms[example] = CountedTerms(self._terms_of_file(example))
            else:
                self._example_terms[example] = TextTerms(_page_of_text(example.value, self._reader.stem))
        return self._example_terms[example]

    def _terms_of_file(self, example: Example) -> Terms:
        content = _content_of(self._folder / example.value)
        name = hashlib.sha256(f"{_is_text(example)}".encode() + content).hexdigest()
        return self._cached(Url(f"example://{name}"), lambda: self._page_in(example, content).terms)

    def _no_example_message(self) -> str:
        if self._topic.examples:
            return f"{self._folder}: none of the examples could be read; give others in {self._topic.examples}"
        return (
            f"{self._folder}: the topic {self._topic.text!r} has no usable word; "
            f"describe it in other words in {FILE_NAME}, or give examples"
        )

    def save(self, model: TrainedRelevance) -> None:
        """Saves a model in the collection, as plain data; if it could not be read again, the next run trains anew."""
        plain = model.to_plain()
        saved = msgspec.json.encode(TrainedModel(self._training_digest, self.rounds, plain))
        trainer, path = find_trainer(self._topic.model), self._folder / MODEL_FILE
        try:
            # What a plug-in gives may not be the same once it was JSON.
            is_plain = isinstance(trainer, LinearTrainer)
            trainer.from_plain(plain if is_plain else msgspec.json.decode(saved, type=TrainedModel).model)
        except UNUSABLE_MODEL as error:
            self._notify(f"the model of the topic is not saved, as it could not be read: {printable(str(error))}")
            with disk_errors(path):
                path.unlink(missing_ok=True)
            return
        with disk_errors(path), atomic_write(path) as file:
            file.write(saved)
        self._is_unusable = False

    def warnings(self, find_page: FindPage) -> Iterator[str]:
        """Warnings about the examples, one a line."""
        for value in self.examples.contradictory:
            yield f"{printable(value, 200)} is listed as both good and bad, so it is ignored"
        text = self._topic.text
        good = [example for example in self.examples.good if (example.kind, example.value) != ("text", text)]
        if text and not self.words and good:  # without examples, no model can be made, which says why
            yield f"the topic {printable(text, 100)!r} has no usable word, so the examples alone decide"
        yield from example_warnings(
            self._pages_of(good, find_page), self._pages_of(self.examples.bad, find_page), topic=text
        )

    def _pages_of(self, examples: Sequence[Example], find_page: FindPage) -> list[Page]:
        pages = (self._page_of(example, find_page) for example in examples)
        return [page for page in pages if page is not None and page.terms]

    def _page_of(self, example: Example, find_page: FindPage) -> Page | None:
        if example.kind == "url":
            return find_page(Url(example.value))
        if example.kind == "text":
            return page_of_text(Url(f"example:{example.value}"), "", example.value, stem=self._reader.stem)
        return self._page_in(example, _content_of(self._folder / example.value))

    def _page_in(self, example: Example, content: bytes) -> Page:
        url = Url(f"example:{example.value}")
        if _is_text(example):
            return page_of_text(url, "", content.decode("utf-8", "replace"), stem=self._reader.stem)
        return page_of_html(url, decode(content, ""), stem=self._reader.stem)

    def _terms(self, text: str) -> Terms:
        return _terms_of_text(text, self._reader.stem)


def _page_of_text(text: str, stem: StemmingOption) -> Page:
    return page_of_text(Url("text:"), "", text, stem=stem)


def _terms_of_text(text: str, stem: StemmingOption) -> Terms:
    return _page_of_text(text, stem).terms


_background_terms = cache(_terms_of_text)  # the same few texts for every collection that a process opens


def _is_text(example: Example) -> bool:
    """Whether an example file is plain text; otherwise, it is HTML."""
    return Path(example.value).suffix.lower() in (".txt", ".md")


def _content_of(path: Path) -> bytes:
    """The first megabyte of an example file."""
    try:
        with open_regular_file(path, follow_link=True) as file:
            return file.read(1 << 20)
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror}") from None


def example_warnings(good: Sequence[Page], bad: Sequence[Page], *, topic: str) -> Iterator[str]:
    """Warnings about what makes it hard to learn the topic from these pages.

    topic: the topic in words, if given.
    """
    if 0 < len(good) < MIN_EXAMPLES and not topic:
        count = "one example" if len(good) == 1 else f"{len(good)} examples"
        yield f"only {count}: scores are rough; give {MIN_EXAMPLES} or more, or add the topic in words (--topic)"
    yield from _contradiction_warnings(good, bad)
    yield from _language_warnings(good)
    yield from _template_warnings(good)


def _contradiction_warnings(good: Sequence[Page], bad: Sequence[Page]) -> Iterator[str]:
    texts = {page.text: page for page in good}
    for page in bad:
        if (other := texts.get(page.text)) is not None:
            yield (
                f"{printable(other.url, 200)} is a good example, and {printable(page.url, 200)}, with the same text, "
                "a bad one: remove one of them"
            )


def _language_warnings(good: Sequence[Page]) -> Iterator[str]:
    languages = Counter(page.language for page in good if page.language)
    if len(languages) > 1:
        counts = ", ".join(f"{count} in {language}" for language, count in languages.most_common())
        yield f"the examples are in several languages ({counts}): pages in each are found by the examples in it"


def _template_warnings(good: Sequence[Page]) -> Iterator[str]:
    words = [set(page.terms) for page in good[:_MAX_COMPARED] if page.terms]
    sites = {host_of(page.url) for page in good if page.url.startswith("http")}
    if len(words) < 3 or len(sites) > 1:
        return
    shares = [len(a & b) / len(a | b) for a, b in combinations(words, 2)]
    if (share := sum(shares) / len(shares)) >= _SAME_TEMPLATE:
        yield (
            f"the examples have {share:.0%} of their words in common, as pages of one template do: add off-topic "
            "pages of that site (--negatives), so that the model can tell topic and template apart"
        )
