"""An agent: what it takes for the topic, what it has learnt about links, and how much energy it has left."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import hypot, tanh
from random import Random

import numpy as np

from lycosa.vocabulary.records import Plain, Url

from .surroundings import Column, Surroundings


@dataclass
class Agent:
    """One keyword vector with a perceptron over it, situated on a page and waiting for one of its links."""

    number: int
    energy: float
    frequencies: dict[str, float]  # of the keywords, as in a text
    weights: dict[str, float]  # of the perceptron, one for each keyword
    page: Url | None = None  # where it is; None before it has read its first
    link: int = -1  # number of the link of this page that it waits for
    target: Url | None = None  # where that leads: a redirect may have changed it
    turn: float = 0.0  # when it moves next

    def take_up(self, frequencies: Mapping[str, float]) -> None:
        """Takes terms for its keywords; before it learns, each weighs what it weighs in the unit vector of these."""
        norm = hypot(*frequencies.values())
        self.frequencies = dict(frequencies)
        self.weights = {keyword: frequency / norm for keyword, frequency in frequencies.items()}

    def estimates(self, page: Surroundings) -> Column:
        """How similar to its keywords it expects the pages behind the links to be: tanh of the weighted inputs."""
        weights = np.array([self.weights.get(keyword, 0.0) for keyword in page.keywords])
        estimates: Column = np.tanh(weights @ page.inputs)
        return estimates

    def learn(
        self, inputs: Mapping[str, float], similarity: float, *, epochs: int, rate: float, momentum: float
    ) -> None:
        """Corrects its estimate for a link with these inputs, by the similarity of the page that was behind it."""
        weights = self.weights
        known = {keyword: value for keyword, value in inputs.items() if keyword in weights}
        last = dict.fromkeys(known, 0.0)
        for _ in range(epochs):
            output = tanh(sum(weights[keyword] * value for keyword, value in known.items()))
            slope = rate * (similarity - output) * (1 - output * output)
            for keyword, value in known.items():
                last[keyword] = slope * value + momentum * last[keyword]
                weights[keyword] += last[keyword]

    def similarity(self, terms: Mapping[str, int], norm: float) -> float:
        """Cosine between its keywords and a page of these terms."""
        return cosine(self.frequencies, terms, norm)

    def offspring(self, number: int, terms: Mapping[str, int], chance: Random) -> "Agent":
        """A copy with half of the energy; of its keywords, the least frequent one on the page gives way to the page's
        most frequent term that is none yet, which takes over frequency and weight. Chance decides among equals."""
        self.energy /= 2
        child = replace(self, number=number, frequencies=dict(self.frequencies), weights=dict(self.weights))
        fresh = [(-count, term) for term, count in terms.items() if term not in self.weights]
        if fresh and self.weights:
            least = min(terms.get(keyword, 0) for keyword in self.weights)
            given_up = chance.choice([keyword for keyword in self.weights if terms.get(keyword, 0) == least])
            taken_up = min(fresh)[1]
            child.frequencies[taken_up] = child.frequencies.pop(given_up)
            child.weights[taken_up] = child.weights.pop(given_up)
        return child

    def state(self) -> Plain:
        return asdict(self)


def cosine(topic: Mapping[str, float], terms: Mapping[str, int], norm: float) -> float:
    """Between a topic and a page whose terms have this norm, by raw frequencies."""
    product = sum(frequency * terms.get(term, 0) for term, frequency in topic.items())
    return product / (norm * hypot(*topic.values())) if product else 0.0


def norm_of(terms: Mapping[str, int]) -> float:
    counts = np.fromiter(terms.values(), np.float64, len(terms))
    return float(np.sqrt(counts @ counts))


def boltzmann(estimates: Column, temperature: float) -> Column:
    """The probabilities with which links of these estimates are chosen."""
    odds: Column = np.exp((estimates - estimates.max()) / temperature)
    chances: Column = odds / odds.sum()
    return chances
