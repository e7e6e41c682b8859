"""The syntax of searches: words, "a phrase", begin*, title:word, host:name, -not, +must, AND, OR, NOT, parentheses.

Any text is a valid query: invalid syntax is treated as words.

>>> parse_query('lava -"pumice stone" title:volc*').clauses
(Clause('should', Term('lava')), Clause('not', Term('pumice stone', kind='phrase')), \
Clause('should', Term('volc', field='title', kind='prefix')))
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Occur = Literal["should", "must", "not"]
FIELDS = ("title", "host")  # that can precede a colon
MAX_DEPTH = 10  # of nested parentheses; deeper ones are ignored
MAX_QUERY = 1000  # characters; longer queries are truncated
_TOKEN = re.compile(r'[+-]?(?:(?:title|host):)?"[^"]*"?|[+-]?\(|\)|[^\s()"]+|"', re.IGNORECASE)


@dataclass(frozen=True)
class Term:
    """A word, a phrase or a prefix, in one field or anywhere."""

    text: str
    field: str = ""
    kind: Literal["word", "phrase", "prefix"] = "word"

    def __repr__(self) -> str:
        field = f", field={self.field!r}" if self.field else ""
        return f"Term({self.text!r}{field}{'' if self.kind == 'word' else f', kind={self.kind!r}'})"


@dataclass(frozen=True)
class Clause:
    """A part of a query; should: pages have at least one of these, unless there is a must; not: pages have none."""

    occur: Occur
    part: "Term | BooleanQuery"

    def __repr__(self) -> str:
        return f"Clause({self.occur!r}, {self.part!r})"


@dataclass(frozen=True)
class BooleanQuery:
    """A whole query, or a group in parentheses."""

    clauses: tuple[Clause, ...] = ()

    def terms(self) -> Iterator[Term]:
        """All terms, except negated ones."""
        for clause in self.clauses:
            if clause.occur != "not":
                yield from (clause.part,) if isinstance(clause.part, Term) else clause.part.terms()


@dataclass
class _OpenGroup:
    """A group whose parenthesis is still open: clauses joined by AND are in one list."""

    conjunctions: list[list[Clause]] = field(default_factory=list)
    is_and: bool = False  # whether the next clause is joined to the previous one
    is_not: bool = False  # whether NOT precedes the next clause
    sign: str = ""  # + or - before the next clause

    def add(self, part: Term | BooleanQuery) -> None:
        occur: Occur = "not" if self.is_not or self.sign == "-" else "must" if self.sign == "+" else "should"
        if self.is_and and self.conjunctions:
            self.conjunctions[-1].append(Clause(occur, part))
        else:
            self.conjunctions.append([Clause(occur, part)])
        self.is_and, self.is_not, self.sign = False, False, ""

    def close(self) -> BooleanQuery:
        clauses = []
        for conjunction in self.conjunctions:
            if len(conjunction) == 1:
                clauses += conjunction
            else:
                required = (Clause("must" if each.occur == "should" else each.occur, each.part) for each in conjunction)
                clauses.append(Clause("should", BooleanQuery(tuple(required))))
        return BooleanQuery(tuple(clauses))


def parse_query(query: str) -> BooleanQuery:
    """The parsed query; an empty group if it has no word."""
    groups = [_OpenGroup()]
    ignored = 0  # open parentheses beyond MAX_DEPTH, whose closing ones are to be ignored too
    for token in _TOKEN.findall(query[:MAX_QUERY]):
        top = groups[-1]
        if token.endswith("("):
            if len(groups) <= MAX_DEPTH:
                top.sign = token[:-1]
                groups.append(_OpenGroup())
            else:
                ignored += 1
        elif token == ")":
            if ignored:
                ignored -= 1
            elif len(groups) > 1:
                groups.pop()
                groups[-1].add(top.close())
        elif token == "AND":
            top.is_and = True
        elif token == "OR":
            top.is_and = False
        elif token == "NOT":
            top.is_not = not top.is_not
        elif token in ("+", "-"):
            continue  # a sign on its own
        else:
            if token[0] in "+-":
                top.sign, token = token[0], token[1:]
            term = _term(token)
            if term is not None:
                top.add(term)
            top.sign = ""
    while len(groups) > 1:
        closed = groups.pop().close()
        groups[-1].add(closed)
    return groups[0].close()


def _term(token: str) -> Term | None:
    name, colon, rest = token.partition(":")
    field_name = name.lower() if colon and rest and name.lower() in FIELDS else ""
    text = rest if field_name else token
    if text.startswith('"'):
        return Term(text.strip('"'), field_name, "phrase") if text.strip('" ') else None
    if text.endswith("*") and re.search(r"\w", text):
        return Term(text.rstrip("*"), field_name, "prefix")
    return Term(text, field_name) if text else None
