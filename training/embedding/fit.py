"""Fits the table to the teacher and writes it: src/lycosa/relevance/embedding.npz.

python fit.py --passages DIRECTORY --embedded DIRECTORY [--out FILE] [--dimensions 160] [--epochs 5]

The teacher's vectors y of the passages are projected on their first principal axes. The table's vectors v_w are found
by Adam, such that for the words of each passage the sum of their vectors points where the teacher's does:

    minimise  mean over passages of  1 - cos(Σ_w (1 + ln count_w) v_w, y)  +  decay * Σ_w |d_w|²,
    v_w = exp(g_w) (u_w a / (a + p_w) + d_w),

where u_w is the teacher's vector of the word alone, p_w the share of the word among all (a / (a + p) is the weight of
smooth inverse frequency, Arora, Liang and Ma 2017), and g and d are learnt. A fifth of the words of a passage is left
out at random in every step. Two thousand passages are kept aside; printed is the mean cosine to the teacher there, and
the correlation of the cosines between them with the teacher's.

The table also holds the vectors of texts on many subjects, half of them of documentation, half of what WordNet has
below a noun: what a topic stands out from where there are no other pages yet.
"""

import argparse
import random
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import torch
from teacher import CHUNK
from torch.nn.functional import cosine_similarity, embedding_bag, normalize

from lycosa.reading.words import terms_of
from lycosa.relevance.embedding import TABLE, normalised, write_table
from lycosa.vocabulary.text import tokens_of

OUT = Path(__file__).parents[2] / "src" / "lycosa" / "relevance" / TABLE
KEPT_ASIDE = 2000
BATCH = 512
LEFT_OUT = 0.2
DECAY = 0.01
SMOOTHING = 1e-3
RATES = {"vectors": 2e-3, "weights": 2e-2}  # of Adam, each epoch three quarters of the one before
SLOWER = 0.75
BACKGROUND = 512  # texts of either kind
TEXT_PASSAGES = 12  # of WordNet, for one of them


class Passages:
    """The passages that were embedded: the words of each, as places in the table, and the teacher's vectors."""

    def __init__(self, passages: Path, embedded: Path, words: list[str]):
        places = {word: place for place, word in enumerate(words)}
        self.lines: list[str] = []
        found, weights, lengths, vectors = [], [], [], []
        for path in sorted(embedded.glob("*.npy")):
            name, number, _ = path.name.split(".")
            if name == "words":
                continue
            lines = (passages / f"{name}.txt").read_text(encoding="utf-8").splitlines()
            for line, vector in zip(lines[int(number) * CHUNK :], np.load(path), strict=False):
                terms = {places[word]: count for word, count in terms_of(tokens_of(line)).items() if word in places}
                if len(terms) > 1:
                    found += terms.keys()
                    weights += terms.values()
                    lengths.append(len(terms))
                    vectors.append(vector)
        self.places = np.array(found)
        self.weights = 1 + np.log(np.array(weights, np.float32))
        self.starts = np.concatenate([[0], np.cumsum(lengths)])
        self.vectors = np.array(vectors, np.float32)

    def __len__(self) -> int:
        return len(self.vectors)

    def bags(self, numbers: np.ndarray) -> tuple[torch.Tensor, torch.Tensor, np.ndarray]:
        """Places and weights of the words of some passages, one after the other, and where each passage begins."""
        at = np.concatenate([np.arange(self.starts[number], self.starts[number + 1]) for number in numbers])
        starts = np.concatenate([[0], np.cumsum(self.starts[numbers + 1] - self.starts[numbers])[:-1]])
        return torch.tensor(self.places[at]), torch.tensor(starts), self.weights[at]


class Student(torch.nn.Module):
    """The table while it is learnt."""

    def __init__(self, first: np.ndarray):
        super().__init__()
        self.first = torch.tensor(first)
        self.difference = torch.nn.Parameter(torch.zeros_like(self.first))
        self.log_weight = torch.nn.Parameter(torch.zeros(len(first), 1))

    def vectors(self, places: torch.Tensor) -> torch.Tensor:
        return (self.first[places] + self.difference[places]) * torch.exp(self.log_weight[places])

    def forward(self, places: torch.Tensor, starts: torch.Tensor, weights: np.ndarray) -> torch.Tensor:
        distinct, inverse = torch.unique(places, return_inverse=True)
        vectors, factors = self.vectors(distinct), torch.tensor(weights)
        return embedding_bag(inverse, vectors, starts, mode="sum", per_sample_weights=factors)


def fit(passages: Passages, alone: np.ndarray, dimensions: int, epochs: int) -> np.ndarray:
    """The vectors of all words."""
    moments = passages.vectors.T @ passages.vectors / len(passages)
    axes = np.linalg.eigh(moments)[1][:, ::-1][:, :dimensions]
    target = torch.tensor(normalised(passages.vectors @ axes))
    share = np.bincount(passages.places, minlength=len(alone)) + 1.0
    share /= share.sum()
    first = normalised(alone.astype(np.float32) @ axes) * (SMOOTHING / (SMOOTHING + share))[:, None]
    student, chance = Student(first.astype(np.float32)), np.random.default_rng(1)
    aside, rest = np.split(chance.permutation(len(passages)), [KEPT_ASIDE])
    optimiser = torch.optim.Adam(
        [
            {"params": [student.difference], "lr": RATES["vectors"]},
            {"params": [student.log_weight], "lr": RATES["weights"]},
        ]
    )
    slower = torch.optim.lr_scheduler.ExponentialLR(optimiser, SLOWER)
    for epoch in range(epochs):
        for numbers in np.array_split(chance.permutation(rest), len(rest) // BATCH):
            places, starts, weights = passages.bags(numbers)
            weights = weights * (chance.random(len(weights)) >= LEFT_OUT)
            cosine = cosine_similarity(student(places, starts, weights), target[numbers], dim=1)
            decay = (student.difference[torch.unique(places)] ** 2).sum() / len(numbers)
            loss = (1 - cosine).mean() + DECAY * decay
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        slower.step()
        cosine, correlation = agreement(student, passages, aside, target)
        print(f"epoch {epoch}: cosine {cosine:.4f}, correlation {correlation:.4f}", flush=True)
    with torch.no_grad():
        return student.vectors(torch.arange(len(alone))).numpy()


def agreement(student: Student, passages: Passages, aside: np.ndarray, target: torch.Tensor) -> tuple[float, float]:
    with torch.no_grad():
        found, wanted = normalize(student(*passages.bags(aside)), dim=1), target[aside]
    pairs = np.triu_indices(len(aside), 1)
    correlation = np.corrcoef((found @ found.T).numpy()[pairs], (wanted @ wanted.T).numpy()[pairs])[0, 1]
    return float((found * wanted).sum(dim=1).mean()), float(correlation)


def background(passages: Path, places: dict[str, int], vectors: np.ndarray) -> np.ndarray:
    """The vectors of texts on many subjects."""
    chance = random.Random(1)
    documentation = (passages / "documentation.txt").read_text(encoding="utf-8").splitlines()
    texts = [[passage] for passage in chance.sample(documentation, BACKGROUND)]
    texts += chance.sample(subjects(passages), BACKGROUND)
    found = []
    for text in texts:
        terms = Counter[int]()
        for passage in text:
            for word, count in terms_of(tokens_of(passage)).items():
                if word in places:
                    terms[places[word]] += count
        if terms:
            found.append(np.fromiter(terms.values(), np.float32) @ vectors[list(terms)])
    return normalised(np.array(found))


def subjects(passages: Path) -> list[list[str]]:
    """Glosses of nouns that belong together, as `wordnet-related.txt` lists them."""
    glosses = defaultdict[str, list[str]](list)
    for gloss in (passages / "wordnet-noun.txt").read_text(encoding="utf-8").splitlines():
        for lemma in gloss.partition(": ")[0].split(", "):
            glosses[lemma].append(gloss)
    found = []
    for line in (passages / "wordnet-related.txt").read_text(encoding="utf-8").splitlines():
        lemma, _, others = line.partition(": ")
        text = [gloss for each in (lemma, *others.split(", ")) for gloss in glosses[each][:1]]
        if len(text) >= TEXT_PASSAGES // 2:
            found.append(text[:TEXT_PASSAGES])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=Path, required=True)
    parser.add_argument("--embedded", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--dimensions", type=int, default=160)
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    words = (options.passages / "words.txt").read_text().split()
    places = {word: place for place, word in enumerate(words)}
    alone = np.concatenate([np.load(path) for path in sorted(options.embedded.glob("words.*.npy"))])
    passages = Passages(options.passages, options.embedded, words)
    print(f"{len(words):,} words, {len(passages):,} passages")
    vectors = fit(passages, alone, options.dimensions, options.epochs)
    spellings, rows = list(words), list(range(len(words)))
    for line in (options.passages / "forms.txt").read_text().splitlines():
        word, *forms = line.split()
        spellings += forms
        rows += [places[word]] * len(forms)
    with options.out.open("wb") as file:
        write_table(file, spellings, np.array(rows), vectors, background(options.passages, places, vectors))
    print(f"{options.out.name}: {options.out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
