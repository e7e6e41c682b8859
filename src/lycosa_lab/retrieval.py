"""A sparse matrix of terms of pages, and their similarity to a topic, with weights from all pages together, the pool.

Menczer, Pant, Ruiz and Srinivasan, Evaluating Topic-Driven Web Crawlers, 2001, sections 4.2 and 4.3. The pool must
contain each page once, even if several crawlers fetched it. Words of the topic that no page has get weight 0; a
similarity is 0 if all words of the page or of the topic have weight 0.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lycosa.vocabulary.arrays import concatenated_ranges
from lycosa.vocabulary.records import Codes

from .statistics import mean_ranks

TermCounts = tuple[Codes, Codes]  # sorted codes of the terms of a text, and the count of each: `Page.words.term_counts`
Floats = np.ndarray[tuple[int], np.dtype[np.float64]]
Indices = np.ndarray[tuple[int], np.dtype[np.intp]]
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]  # one row a document


@dataclass(frozen=True, eq=False)
class TermMatrix:
    """A sparse matrix of term counts, one row per document (compressed sparse rows).

    Rows chosen by `select_rows` keep the vocabulary of all.
    """

    codes: Codes  # the vocabulary: sorted hashes of terms
    starts: Indices  # of the entries of each document, then the end of all
    columns: Indices  # of each entry: the index of its term in the vocabulary
    counts: Floats  # of each entry

    @classmethod
    def of(cls, texts: Iterable[TermCounts]) -> "TermMatrix":
        """The documents in order; one without words is an empty row."""
        documents = list(texts)
        all_codes = np.concatenate([codes for codes, _ in documents]) if documents else np.empty(0, np.uint64)
        codes, columns = np.unique(all_codes, return_inverse=True)
        counts = np.concatenate([counts for _, counts in documents]) if documents else np.empty(0)
        return cls(codes, _starts([len(codes) for codes, _ in documents]), columns, counts.astype(np.float64))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def rows(self) -> Indices:
        """Of each entry: the document it belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def document_frequencies(self) -> Indices:
        """The number of documents with each term of the vocabulary."""
        return np.bincount(self.columns, minlength=len(self.codes))

    def select_rows(self, indices: Iterable[int]) -> "TermMatrix":
        """The documents at these indices, in this order, with the vocabulary of all."""
        chosen = np.fromiter(indices, np.intp)
        lengths = np.diff(self.starts)[chosen]
        entries = concatenated_ranges(self.starts[chosen], lengths)
        return TermMatrix(self.codes, _starts(lengths), self.columns[entries], self.counts[entries])

    def __add__(self, others: "TermMatrix") -> "TermMatrix":
        """These documents followed by the others."""
        starts = np.append(self.starts, self.starts[-1] + others.starts[1:])
        counts = np.append(self.counts, others.counts)
        if self.codes is others.codes:
            return TermMatrix(self.codes, starts, np.append(self.columns, others.columns), counts)
        codes = np.union1d(self.codes, others.codes)
        other_columns = np.searchsorted(codes, others.codes)[others.columns]
        return TermMatrix(
            codes, starts, np.append(np.searchsorted(codes, self.codes)[self.columns], other_columns), counts
        )

    def indices_in(self, codes: Codes) -> Indices:
        """For each term of the vocabulary, its index in some sorted codes, or -1."""
        if not len(codes):
            return np.full(len(self.codes), -1)
        indices = np.minimum(np.searchsorted(codes, self.codes), len(codes) - 1)
        return np.where(codes[indices] == self.codes, indices, -1)

    def sum_by_row(self, amounts: Floats) -> Floats:
        """For each document, the sum of the amounts of its entries."""
        return np.bincount(self.rows, weights=amounts, minlength=len(self)).astype(np.float64, copy=False)

    def largest_counts(self) -> Floats:
        """For each document, the count of its most frequent term; 0 for one without words."""
        largest = np.zeros(len(self))
        has_words = np.diff(self.starts) > 0
        if has_words.any():
            largest[has_words] = np.maximum.reduceat(self.counts, self.starts[:-1][has_words])
        return largest


def _starts(lengths: Iterable[int]) -> Indices:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.intp))]).astype(np.intp)


def pooled_ranks(topic: TermCounts, documents: TermMatrix) -> Floats:
    """The rank of each page by SMART's similarity: 1 is best, ties have the mean rank."""
    return mean_ranks(-atc_similarities(topic, documents))


def atc_similarities(topic: TermCounts, documents: TermMatrix) -> Floats:
    """The similarity of each page to the topic by SMART's weights *atc*.

    a: .5 + .5 · count / largest count of the same text; t: times ln(pages / pages with the term); c: cosine.
    The paper divides by the largest *weight of any page*, which would be circular; this is SMART's own definition.
    """

    def augmented(texts: TermMatrix) -> Floats:
        return 0.5 + 0.5 * texts.counts / texts.largest_counts()[texts.rows]

    return _cosines(topic, documents, augmented, _idf(documents))


def tfidf_similarities(topic: TermCounts, documents: TermMatrix) -> Floats:
    """The cosine of each page with the topic, words weighing count · (1 + ln(pages / pages with the term))."""

    def counts(texts: TermMatrix) -> Floats:
        return texts.counts

    return _cosines(topic, documents, counts, 1 + _idf(documents))


def _idf(documents: TermMatrix) -> Floats:
    return np.log(max(1, len(documents)) / np.maximum(1, documents.document_frequencies))


def _cosines(
    topic: TermCounts, documents: TermMatrix, local_weight: Callable[[TermMatrix], Floats], idf: Floats
) -> Floats:
    """Cosines of the pages with the topic, where the weight of an entry is `local_weight` times the idf of its term."""
    query = TermMatrix.of([topic])
    indices = query.indices_in(documents.codes)[query.columns]
    topic_weights = np.zeros(len(documents.codes))
    topic_weights[indices[indices >= 0]] = local_weight(query)[indices >= 0]
    topic_weights *= np.where(documents.document_frequencies > 0, idf, 0.0)
    weights = local_weight(documents) * idf[documents.columns]
    products = documents.sum_by_row(weights * topic_weights[documents.columns])
    lengths = np.sqrt(documents.sum_by_row(weights**2)) * np.sqrt((topic_weights**2).sum())
    cosines: Floats = np.divide(products, lengths, out=np.zeros(len(documents)), where=lengths > 0)
    return cosines
