"""Pages made of nothing but their words."""

from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from lycosa.vocabulary.records import Codes, Indices, Page, Url
from lycosa.vocabulary.text import codes_of, tokens_of


class GivenWords:
    """Words of which only the counts are known."""

    def __init__(self, terms: Mapping[str, int]):
        self.tokens = tuple(terms)
        self.terms = terms

    @property
    def length(self) -> int:
        return sum(self.terms.values())

    @property
    def numbers(self) -> int:
        return sum(count for term, count in self.terms.items() if term.isdigit())

    @property
    def codes(self) -> Codes:
        return np.repeat(codes_of(self.terms), list(self.terms.values()))

    @property
    def term_counts(self) -> tuple[Codes, Codes]:
        codes = codes_of(self.terms)
        order = np.argsort(codes)
        return codes[order], np.array(list(self.terms.values()), dtype=np.uint64)[order]

    @property
    def term_positions(self) -> tuple[Codes, Indices]:
        codes = self.codes
        return codes, np.arange(len(codes))

    def terms_of(self, codes: Codes) -> list[str]:
        words = dict(zip(codes_of(self.terms).tolist(), self.terms, strict=True))
        return [words[code] for code in codes.tolist()]

    def codes_of(self, texts: Sequence[str]) -> list[Codes]:
        return [codes_of(tokens_of(text)) for text in texts]

    @property
    def as_written(self) -> Self:
        return self


def page_of_terms(terms: Mapping[str, int], *, title: str = "", text: str = "") -> Page:
    return Page(Url("http://site.example/"), title, text, text, GivenWords(terms), ())
