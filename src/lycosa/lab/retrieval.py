"""Pages judged by how near they lie to the topic, with weights that all pages crawled for it decide together.

Menczer, Pant, Ruiz and Srinivasan, Evaluating Topic-Driven Web Crawlers, 2001, sections 4.2 and 4.3. The pool is to
hold each page once, whichever crawlers fetched it. Words of the topic that no page has weigh nothing; the similarity
of a page, or to a topic, whose words all weigh nothing is 0.
"""

from collections.abc import Callable

import numpy as np

from .statistics import mean_ranks
from .term_counts import Counted, Documents, Floats


def pooled_ranks(topic: Counted, documents: Documents) -> Floats:
    """The rank of each page in the eyes of SMART: 1 is best, equals share their mean rank."""
    return mean_ranks(-atc_similarities(topic, documents))


def atc_similarities(topic: Counted, documents: Documents) -> Floats:
    """The likeness of each page to the topic by SMART's weights *atc*.

    a: .5 + .5 · count / largest count of the same text; t: times ln(pages / pages with the term); c: cosine.
    The paper prints the largest *weight of any page* below the count, which would define weights by themselves;
    this is SMART's own definition.
    """

    def augmented(texts: Documents) -> Floats:
        return 0.5 + 0.5 * texts.counts / texts.largest_counts()[texts.rows]

    return _cosines(topic, documents, augmented, _rarity(documents))


def tfidf_similarities(topic: Counted, documents: Documents) -> Floats:
    """The cosine of each page with the topic, words weighing count · (1 + ln(pages / pages with the term))."""

    def counts(texts: Documents) -> Floats:
        return texts.counts

    return _cosines(topic, documents, counts, 1 + _rarity(documents))


def _rarity(documents: Documents) -> Floats:
    return np.log(max(1, len(documents)) / np.maximum(1, documents.holders))


def _cosines(topic: Counted, documents: Documents, local: Callable[[Documents], Floats], rarity: Floats) -> Floats:
    """Cosines of the pages with the topic, the weight of an entry being `local` times the rarity of its term."""
    query = Documents.of([topic])
    places = query.places_in(documents.codes)[query.columns]
    of_topic = np.zeros(len(documents.codes))
    of_topic[places[places >= 0]] = local(query)[places >= 0]
    of_topic *= np.where(documents.holders > 0, rarity, 0.0)
    weights = local(documents) * rarity[documents.columns]
    products = documents.summed(weights * of_topic[documents.columns])
    lengths = np.sqrt(documents.summed(weights**2)) * np.sqrt((of_topic**2).sum())
    cosines: Floats = np.divide(products, lengths, out=np.zeros(len(documents)), where=lengths > 0)
    return cosines
