import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.collection.search_query import MAX_DEPTH, BooleanQuery, Clause, Term, parse_query


def depth(group: BooleanQuery) -> int:
    return 1 + max((depth(each.part) for each in group.clauses if isinstance(each.part, BooleanQuery)), default=0)


def group(*clauses: tuple[str, Term | BooleanQuery]) -> BooleanQuery:
    return BooleanQuery(tuple(Clause(occur, part) for occur, part in clauses))


A, B, C = Term("a"), Term("b"), Term("c")


@pytest.mark.parametrize(
    ("query", "meaning"),
    [
        ("a b", group(("should", A), ("should", B))),
        ("a OR b", group(("should", A), ("should", B))),
        ("+a b -c", group(("must", A), ("should", B), ("not", C))),
        ("a NOT b", group(("should", A), ("not", B))),
        ("a AND b", group(("should", group(("must", A), ("must", B))))),
        ("a AND b OR c", group(("should", group(("must", A), ("must", B))), ("should", C))),
        ("a AND NOT b", group(("should", group(("must", A), ("not", B))))),
        ("a AND -b", group(("should", group(("must", A), ("not", B))))),
        ("(a b) AND c", group(("should", group(("must", group(("should", A), ("should", B))), ("must", C))))),
        ("NOT (a b)", group(("not", group(("should", A), ("should", B))))),
        ("-(a b)", group(("not", group(("should", A), ("should", B))))),
        ("c -(a OR b)", group(("should", C), ("not", group(("should", A), ("should", B))))),
        ("+(a b) c", group(("must", group(("should", A), ("should", B))), ("should", C))),
        ("-(a) b", group(("not", group(("should", A))), ("should", B))),
        ("-() b", group(("not", BooleanQuery()), ("should", B))),
        ("- (a b)", group(("should", group(("should", A), ("should", B))))),
        ("a-(b)", group(("should", Term("a-")), ("should", group(("should", B))))),
        ('"a b" c', group(("should", Term("a b", kind="phrase")), ("should", C))),
        ('-title:"a b"', group(("not", Term("a b", "title", "phrase")))),
        ("Title:a host:b.example", group(("should", Term("a", "title")), ("should", Term("b.example", "host")))),
        ("a* title:b*", group(("should", Term("a", kind="prefix")), ("should", Term("b", "title", "prefix")))),
        ("a - b", group(("should", A), ("should", B))),
        ("and or not", group(("should", Term("and")), ("should", Term("or")), ("should", Term("not")))),
        ("a)", group(("should", A))),
        ("nofield:a", group(("should", Term("nofield:a")))),
        ("title:", group(("should", Term("title:")))),
        ('""', BooleanQuery()),
        ("", BooleanQuery()),
    ],
)
def test_the_syntax(query, meaning):
    assert parse_query(query) == meaning


@given(st.text(st.sampled_from('ab ()"+-:*NOTAND title'), max_size=60))
def test_any_text_is_a_query_of_bounded_depth(query):
    assert depth(parse_query(query)) <= 2 * (MAX_DEPTH + 1)


def test_a_parenthesis_that_is_ignored_closes_no_group():
    opened, closed = "(" * MAX_DEPTH, ")" * MAX_DEPTH
    assert parse_query(f"{opened}((a)) b{closed} c") == parse_query(f"{opened}a b{closed} c")
