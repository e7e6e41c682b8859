"""Query parameters of requests; invalid values count as missing."""

from collections.abc import Container
from typing import get_args

from starlette.requests import Request

from lycosa.run.export import LABELS
from lycosa.vocabulary.records import Url

from .exports import ExportRequest
from .lines import checked_url
from .search import PERIODS, Order, SearchRequest

_MAX_QUERY = 1_000  # characters


def url(request: Request) -> Url:
    """The parameter `url`; raises UsageError if it is missing."""
    return checked_url(request.query_params.get("url", ""))


def text(request: Request, name: str, max_length: int = 300) -> str:
    return request.query_params.get(name, "")[:max_length]


def integer(request: Request, name: str) -> int | None:
    """A whole number of at most eight digits."""
    given = request.query_params.get(name, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 9 else None


def page(request: Request) -> int:
    """The page number of a list, by default 1."""
    number = integer(request, "page")
    return 1 if number is None else number


def fraction(request: Request, name: str) -> float | None:
    """A number from 0 to 1."""
    try:
        number = float(request.query_params.get(name, ""))
    except ValueError:
        return None
    return number if 0.0 <= number <= 1.0 else None


def search_request(request: Request) -> SearchRequest:
    return SearchRequest(
        query=text(request, "q", _MAX_QUERY),
        host=text(request, "host"),
        language=text(request, "language", 20),
        min_relevance=fraction(request, "min_relevance"),
        min_standing=fraction(request, "min_standing"),
        since=_one_of(request, "since", PERIODS),
        label=_one_of(request, "label", LABELS),
        order=_order(request),
        page=page(request),
    )


def export_request(request: Request) -> ExportRequest:
    return ExportRequest(
        format=text(request, "format", 20) or "jsonl",
        content=text(request, "content", 20),
        max_pages=integer(request, "most") or None,
        host=text(request, "host"),
        language=text(request, "language", 20),
        min_relevance=fraction(request, "min_relevance"),
        label=_one_of(request, "label", LABELS),
        since=_one_of(request, "since", PERIODS),
    )


def _one_of(request: Request, name: str, known: Container[str]) -> str:
    given = request.query_params.get(name, "")
    return given if given in known else ""


def _order(request: Request) -> Order:
    given = request.query_params.get("order", "")
    return next((order for order in get_args(Order) if order == given), "")
