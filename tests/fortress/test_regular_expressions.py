"""Every regular expression of the packages takes time linear in what it reads, whoever wrote that.

Two checks hold each of them: a lint of its parse tree (no unbounded repeats that are nested, or that can share the same
characters with each other or with the places where a search may begin), and growth on texts made to hurt it.
"""

import ast
import importlib
import pkgutil
import re
import string
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from re import _constants as codes
from re import _parser as parser
from types import ModuleType
from typing import Any

import pytest
from msgspec import Struct

import lycosa
import lycosa_peers

_SEARCHING = {"search", "sub", "subn", "split", "findall", "finditer"}
_METHODS = _SEARCHING | {"match", "fullmatch"}
_ALPHABET = [*map(chr, range(0x250)), "\u0300", "\u3042", "\u4e00", "\u2028", "\uff01", "\U0001f600"]
_MANY = 100  # so often repeated is unbounded, where it is less it costs a constant
_SHAPES = 10
_SHORT, _TIMES = 1500, 4


class Expression(Struct, frozen=True):
    """A regular expression, where it stands, and how it is used."""

    where: str
    pattern: str | bytes
    flags: int
    methods: frozenset[str]

    @property
    def searches(self) -> bool:
        """Whether it is tried at each place of a text."""
        return bool(self.methods & _SEARCHING)


@cache
def _expressions() -> list[Expression]:
    """Those of all modules; found by the first test that asks, since every process of a run collects the tests."""
    names = [
        found.name
        for package in (lycosa, lycosa_peers)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not found.name.endswith("__main__")
    ]
    found = [each for name in names for each in _of_module(importlib.import_module(name))]
    assert found
    return sorted(found, key=lambda each: each.where)


def _of_module(module: ModuleType) -> Iterator[Expression]:
    tree = ast.parse(Path(str(module.__file__)).read_text())
    uses: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if isinstance(node.func.value, ast.Name) and node.func.attr in _METHODS:
            uses.setdefault(node.func.value.id, set()).add(node.func.attr)
            if node.func.value.id == "re" and node.args and isinstance(node.args[0], ast.Constant):
                flags = re.IGNORECASE if "IGNORECASE" in ast.unparse(node) else 0
                where = f"{module.__name__}:{node.lineno}"
                yield Expression(where, node.args[0].value, flags, frozenset([node.func.attr]))
    for name, value in vars(module).items():
        owner = getattr(value, "__self__", None)
        if isinstance(value, re.Pattern):
            methods = frozenset(uses.get(name, _METHODS))
            yield Expression(f"{module.__name__}.{name}", value.pattern, value.flags, methods)
        elif isinstance(owner, re.Pattern):
            yield Expression(f"{module.__name__}.{name}", owner.pattern, owner.flags, frozenset([value.__name__]))


# --- the lint


class Piece(Struct, frozen=True):
    """What the lint knows of one part of an expression."""

    characters: frozenset[str]  # that it can match
    is_empty: bool  # whether it can match nothing
    is_unbounded: bool = False
    backtracks: bool = False  # gives up characters that it has matched
    is_assertion: bool = False  # matches no character, but may fail
    not_behind: frozenset[str] = frozenset()  # characters that it may not follow


@cache
def _category(name: Any) -> frozenset[str]:
    letter = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[str(name).removeprefix("CATEGORY_").removeprefix("NOT_")]
    is_not = "NOT_" in str(name)
    return frozenset(c for c in _ALPHABET if bool(re.match(letter, c)) != is_not)


def _characters(op: Any, value: Any, ignore_case: bool) -> frozenset[str]:
    """The characters that one step of an expression can match."""
    if op is codes.ANY:
        return frozenset(_ALPHABET)
    if op is codes.LITERAL:
        found = {chr(value)}
    elif op is codes.NOT_LITERAL:
        return frozenset(_ALPHABET) - {chr(value)}
    elif op is codes.RANGE:
        found = {c for c in _ALPHABET if value[0] <= ord(c) <= value[1]} | {chr(value[0])}
    elif op is codes.CATEGORY:
        found = set(_category(value))
    else:  # IN
        inner = [each for each in value if each[0] is not codes.NEGATE]
        found = set[str]().union(*(_characters(*each, ignore_case) for each in inner))
        if len(inner) < len(value):
            return frozenset(_ALPHABET) - found
    if ignore_case:
        found |= {c.lower() for c in found} | {c.upper() for c in found if len(c.upper()) == 1}
    return frozenset(found)


def _pieces(parsed: Any, flags: int, troubles: list[str]) -> list[Piece]:
    """The parts of a sequence; what is wrong within one of them is added to `troubles`."""
    pieces = []
    for op, value in parsed:
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            least, most, body = value
            inner = _pieces(body, flags, troubles)
            everything = frozenset[str]().union(*(piece.characters for piece in inner))
            is_unbounded = most is codes.MAXREPEAT or most >= _MANY
            backtracks = op is not codes.POSSESSIVE_REPEAT
            if is_unbounded and backtracks and any(_repeats_itself(inner, at) for at in range(len(inner))):
                troubles.append("a repeat within a repeat")
            is_empty = least == 0 or all(piece.is_empty for piece in inner)
            pieces.append(Piece(everything, is_empty, is_unbounded, backtracks))
        elif op is codes.SUBPATTERN:
            pieces += _pieces(value[3], flags | value[1], troubles)
        elif op is codes.ATOMIC_GROUP:
            for piece in _pieces(value, flags, troubles):
                pieces.append(Piece(piece.characters, piece.is_empty, piece.is_unbounded, backtracks=False))
        elif op is codes.BRANCH:
            pieces.append(_either([_pieces(branch, flags, troubles) for branch in value[1]]))
        elif op in (codes.ASSERT, codes.ASSERT_NOT):
            inner = _pieces(value[1], flags, troubles)
            is_guard = op is codes.ASSERT_NOT and value[0] < 0 and len(inner) == 1
            guarded = inner[0].characters if is_guard else frozenset[str]()
            pieces.append(Piece(frozenset(), is_empty=True, is_assertion=True, not_behind=guarded))
        elif op is codes.AT:
            pieces.append(Piece(frozenset(), is_empty=True, is_assertion=True))
        elif op is codes.GROUPREF_EXISTS:
            branches = [branch for branch in value[1:] if branch is not None]
            pieces.append(_either([*(_pieces(branch, flags, troubles) for branch in branches), []]))
        elif op is codes.GROUPREF:
            pieces.append(Piece(frozenset(_ALPHABET), is_empty=True))
        else:
            pieces.append(Piece(_characters(op, value, bool(flags & re.IGNORECASE)), is_empty=False))
    return pieces


def _either(branches: Sequence[Sequence[Piece]]) -> Piece:
    everything = [piece for branch in branches for piece in branch]
    return Piece(
        frozenset[str]().union(*(piece.characters for piece in everything)),
        is_empty=any(all(piece.is_empty for piece in branch) for branch in branches),
        is_unbounded=any(piece.is_unbounded for piece in everything),
        backtracks=any(piece.backtracks for piece in everything),
    )


def _repeats_itself(pieces: Sequence[Piece], at: int) -> bool:
    """Whether an unbounded part within a repeat can share characters with its own next round."""
    piece = pieces[at]
    others = [*pieces[at + 1 :], *pieces[:at]]
    return (
        piece.is_unbounded
        and piece.backtracks
        and all(other.is_empty or other.characters & piece.characters for other in others)
    )


def lint(expression: Expression) -> list[str]:
    """What makes an expression take more than linear time; empty where nothing is found."""
    troubles: list[str] = []
    pieces = _pieces(parser.parse(expression.pattern, expression.flags & ~re.DEBUG), expression.flags, troubles)
    for at, piece in enumerate(pieces):
        if not piece.is_unbounded:
            continue
        can_fail = any(not later.is_empty or later.is_assertion for later in pieces[at + 1 :])
        if not can_fail and "fullmatch" not in expression.methods:
            continue
        before = pieces[:at]
        may_begin_within = all(each.is_empty or each.characters & piece.characters for each in before)
        is_guarded = any(each.not_behind >= piece.characters for each in before)
        if expression.searches and can_fail and may_begin_within and not is_guarded:
            troubles.append("a search may begin anywhere within a repeat")
        for later_at in range(at + 1, len(pieces)):
            later = pieces[later_at]
            between = pieces[at + 1 : later_at]
            shared = piece.characters & later.characters
            is_shared = shared and all(each.is_empty or each.characters & shared for each in between)
            last = later_at == len(pieces) - 1 and "fullmatch" not in expression.methods
            if later.is_unbounded and piece.backtracks and is_shared and not last:
                troubles.append("two repeats of the same characters")
    return troubles


# What the lint cannot see; growth is measured for these too.
LINEAR_ALL_THE_SAME = {
    "lycosa.reading.prune._MARKUP": "a tag, once begun, always matches what was read of it",
    "lycosa.standing.ranked_lists._TUPLE": "a quote within a text is behind a backslash, that at its beginning is not",
}


@pytest.mark.slow
def test_no_expression_has_repeats_that_share_characters():
    linted = {each.where: lint(each) for each in _expressions() if each.where not in LINEAR_ALL_THE_SAME}
    assert {where: troubles for where, troubles in linted.items() if troubles} == {}
    assert set(LINEAR_ALL_THE_SAME) <= {each.where for each in _expressions()}


@pytest.mark.parametrize(
    ("pattern", "method", "is_linear"),
    [
        (r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", "search", False),
        (r"charset\s*+=\s*+[\"']?+\s*+([^\s\"';,]++)", "search", True),
        (r"[a-z]++=", "search", False),
        (r"(?<![a-z])[a-z]++=", "search", True),
        (r"(?:a+)+b", "match", False),
        (r"(?:a+,)+b", "match", True),
        (r"\s+$", "search", False),
        (r"\s+", "search", True),
        (r"[^>]*>", "search", False),
        (r"<[^<>]*>", "search", True),
        (r"a.*b.*c", "match", False),
        (r"a[^b]*b[^c]*c", "match", True),
    ],
)
def test_the_lint_knows_what_is_linear(pattern, method, is_linear):
    assert (lint(Expression("here", pattern, 0, frozenset([method]))) == []) == is_linear


# --- growth


def _sample(parsed: Any, flags: int, times: int) -> Iterator[tuple[str, str, str]]:
    """(text before, what is repeated, text behind) for each repeat of an expression."""
    text = ""
    for op, value in parsed:
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            body = _text_of(value[2], flags)
            for before, pump, behind in _sample(value[2], flags, times):
                yield text + before, pump, behind
                yield text, before + pump * 3 + behind, ""
            if value[1] is codes.MAXREPEAT or value[1] >= _MANY:
                yield text, body, ""
                yield "", text + body, ""
            text += body * max(1, value[0] if value[0] < _MANY else 1)
        elif op is codes.SUBPATTERN:
            for before, pump, behind in _sample(value[3], flags, times):
                yield text + before, pump, behind
            text += _text_of(value[3], flags)
        elif op is codes.BRANCH:
            for branch in value[1]:
                for before, pump, behind in _sample(branch, flags, times):
                    yield text + before, pump, behind
            text += _text_of(value[1][0], flags)
        else:
            text += _text_of([(op, value)], flags)
    if text:
        yield "", text[: max(1, len(text) // 2)], ""
        yield "", text, "\x00"


def _text_of(parsed: Any, flags: int) -> str:
    text = ""
    for op, value in parsed:
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            text += _text_of(value[2], flags) * (1 if value[0] >= _MANY else max(1, value[0]))
        elif op is codes.SUBPATTERN:
            text += _text_of(value[3], flags)
        elif op is codes.ATOMIC_GROUP:
            text += _text_of(value, flags)
        elif op is codes.BRANCH:
            text += _text_of(value[1][0], flags)
        elif op is codes.GROUPREF_EXISTS:
            text += _text_of(value[1], flags)
        elif op in (codes.ASSERT, codes.ASSERT_NOT, codes.AT, codes.GROUPREF):
            continue
        else:
            found = _characters(op, value, ignore_case=False)
            plain = sorted(found & set(string.printable)) or sorted(found)
            text += plain[len(plain) // 2] if plain else ""
    return text


def _shapes(expression: Expression) -> Iterator[Callable[[int], str | bytes]]:
    parsed = parser.parse(expression.pattern, expression.flags & ~re.DEBUG)
    made = _sample(parsed, expression.flags, 1)
    plain = [("", " ", ";"), ("", "\x00", "\n"), ("", "a", "\x00"), ("", "<", ">"), ("", "=", "\x00"), ("", "\\", "x")]
    seen = list(dict.fromkeys([*islice(made, 4 * _SHAPES), *plain]))
    is_bytes = isinstance(expression.pattern, bytes)
    for before, pump, behind in seen:

        def shape(size: int, before: str = before, pump: str = pump, behind: str = behind) -> str | bytes:
            text = before + pump * (size // max(1, len(pump))) + (behind or "\x00")
            return text.encode("latin-1", "replace") if is_bytes else text

        yield shape


def _seconds(call: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
        if best < 0.001:
            break
    return best


def _use(pattern: re.Pattern[Any], method: str, text: Any) -> None:
    if method in {"sub", "subn"}:
        pattern.sub(text[:0], text)
    elif method == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, method)(text)


@pytest.mark.slow
def test_time_grows_with_the_length_of_the_text():
    for expression in _expressions():
        _assert_grows_with_the_length_of_the_text(expression)


def _assert_grows_with_the_length_of_the_text(expression: Expression) -> None:
    pattern = re.compile(expression.pattern, expression.flags & ~re.DEBUG)
    shapes = list(_shapes(expression))
    assert len(shapes) >= _SHAPES or len(str(expression.pattern)) < 40, expression
    for method in sorted(expression.methods):
        for shape in shapes:
            long = _seconds(lambda: _use(pattern, method, shape(_SHORT * _TIMES)))  # noqa: B023
            if long < 0.004:  # quadratic time would be more than that for 6 000 characters
                continue
            short = _seconds(lambda: _use(pattern, method, shape(_SHORT)))  # noqa: B023
            assert long < short * _TIMES * 2.5, (expression.where, method, shape(30))
