"""The OpenAPI description of `/api/`."""

from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from lycosa import __version__

from .comparison import Comparison
from .exports import CONTENTS, FORMATS
from .frontier import FrontierView
from .neighbours import NeighboursView
from .overviews import CollectionCard, CollectionList, CollectionView, LiveView
from .page import PageView
from .peers import PeersView
from .refreshes import CHANGE_KINDS, RefreshView
from .search import ORDERS, PERIODS, SearchView
from .studies import StudyList, StudyView
from .teaching import TeachView
from .topic_maps import AtlasList, AtlasView
from .versions import VersionsView


class ApiError(Struct, frozen=True):
    error: str


class LabelReply(Struct, frozen=True):
    """The effect of a label."""

    url: str
    label: str
    judged: int | None  # pages judged again; None if the next crawl trains the model


def _query(name: str, json_type: str = "string", *, required: bool = False, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": required, "schema": {"type": json_type, **more}}


def _in_path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


_NAME = _in_path("name")
_URL = _query("url", required=True)
_PAGE = _query("page", "integer", minimum=1)


class ApiRoute(NamedTuple):
    operation_id: str
    summary: str
    parameters: list[dict[str, Any]]
    response: type[Struct]


COLLECTIONS_PATH = "/api/collections"
CRAWL_PATH = "/api/collections/{name}/crawl"
FRONTIER_PATH = "/api/collections/{name}/frontier"
LABEL_PATH = "/api/collections/{name}/label"
REFRESH_PATH = "/api/collections/{name}/refresh"
TEACH_PATH = "/api/collections/{name}/teach"
PEERS_PATH = "/api/collections/{name}/peers"
EXPORT_PATH = "/api/collections/{name}/export"
API_ROUTES: dict[str, ApiRoute] = {  # by path
    COLLECTIONS_PATH: ApiRoute("collections", "The collections of the folder.", [_PAGE], CollectionList),
    "/api/collections/{name}": ApiRoute("collection", "One collection in numbers.", [_NAME], CollectionView),
    "/api/collections/{name}/search": ApiRoute(
        "search",
        "Pages by their words.",
        [
            _NAME,
            _query("q"),
            _query("host"),
            _query("language"),
            _query("min_relevance", "number", minimum=0, maximum=1),
            _query("min_standing", "number", minimum=0, maximum=1),
            _query("since", enum=list(PERIODS)),
            _query("label", enum=["good", "bad"]),
            _query("order", enum=[order for order in ORDERS if order]),
            _PAGE,
        ],
        SearchView,
    ),
    "/api/collections/{name}/page": ApiRoute(
        "page",
        "What is known of a URL, and why it was fetched.",
        [_NAME, _URL],
        PageView,
    ),
    "/api/collections/{name}/versions": ApiRoute(
        "versions",
        "What changed between two versions of a page.",
        [_NAME, _URL, _query("old", "integer", minimum=1), _query("new", "integer", minimum=1)],
        VersionsView,
    ),
    "/api/collections/{name}/neighbours": ApiRoute(
        "neighbours",
        "Where a page links to, and which pages link to it.",
        [_NAME, _URL],
        NeighboursView,
    ),
    FRONTIER_PATH: ApiRoute(
        "frontier",
        "What waits to be fetched, the best first.",
        [_NAME, _query("host"), _PAGE],
        FrontierView,
    ),
    CRAWL_PATH: ApiRoute("crawl", "The progress of the crawl.", [_NAME], LiveView),
    TEACH_PATH: ApiRoute(
        "teach",
        "The page to label next, what the last labels changed, and what random pages measure.",
        [_NAME],
        TeachView,
    ),
    REFRESH_PATH: ApiRoute(
        "refresh",
        "What a refresh found: pages that changed, appeared and vanished.",
        [_NAME, _query("run", "integer", minimum=1), _query("kind", enum=list(CHANGE_KINDS)), _PAGE],
        RefreshView,
    ),
    PEERS_PATH: ApiRoute("peers", "The peers that a collection knows.", [_NAME], PeersView),
    "/api/compare": ApiRoute(
        "compare",
        "Two collections, or a run of each, beside each other.",
        [
            _query("one", required=True),
            _query("other", required=True),
            _query("one_run", "integer", minimum=1),
            _query("other_run", "integer", minimum=1),
        ],
        Comparison,
    ),
    "/api/maps": ApiRoute("maps", "The atlases of the folder.", [], AtlasList),
    "/api/maps/{file}": ApiRoute("map", "The topics of an atlas.", [_in_path("file"), _query("topic")], AtlasView),
    "/api/studies": ApiRoute("studies", "The studies of the folder.", [_PAGE], StudyList),
    "/api/studies/{path}": ApiRoute("study", "What a study found.", [_in_path("path")], StudyView),
}
_EXPORT_PARAMETERS = [
    _NAME,
    _query("format", enum=list(FORMATS)),
    _query("content", enum=[content for content in CONTENTS if content]),  # besides the facts: the text of the pages
    _query("most", "integer", minimum=1),
    _query("host"),
    _query("language"),
    _query("min_relevance", "number", minimum=0, maximum=1),
    _query("label", enum=["good", "bad"]),
    _query("since", enum=list(PERIODS)),
]


class ApiForm(NamedTuple):
    """A route that takes the fields of a form."""

    operation_id: str
    summary: str
    fields: dict[str, Any]  # that are required
    optional: dict[str, Any]  # further fields
    response: type[Struct]


_TEXT = {"type": "string"}
API_FORMS: dict[str, ApiForm] = {  # by path
    COLLECTIONS_PATH: ApiForm(
        "create",
        "Make a collection. Its topic is given in words, by examples or both.",
        {"name": _TEXT},
        {
            "topic": _TEXT,
            "examples": {**_TEXT, "description": "URLs of pages on the topic, or texts about it, one a line"},
            "negatives": {**_TEXT, "description": "the same of pages that are not on it"},
            "seeds": {**_TEXT, "description": "URLs to start from, one a line; without any, the examples"},
            "hosts": {**_TEXT, "description": "the only hosts, separated by blanks"},
            "languages": {**_TEXT, "description": "the only languages, separated by blanks"},
            "pages": {"type": "integer", "minimum": 1, "description": "number at which crawls stop"},
            "target": {"type": "number", "minimum": 0, "maximum": 1, "description": "mean relevance to maintain"},
            "contact": _TEXT,
        },
        CollectionCard,
    ),
    CRAWL_PATH: ApiForm(
        "steer_crawl",
        "Start, pause, resume or stop a crawl, or set its budget.",
        {"action": {**_TEXT, "enum": ["start", "pause", "resume", "stop", "budget"]}},
        {"pages": {"type": "integer", "minimum": 1, "description": "of the collection, to start or as the budget"}},
        LiveView,
    ),
    REFRESH_PATH: ApiForm(
        "start_refresh",
        "Start a refresh.",
        {
            "requests": {"type": "integer", "minimum": 1},
            "expand": {"type": "number", "minimum": 0, "maximum": 1, "description": "share of requests for new pages"},
        },
        {},
        RefreshView,
    ),
    TEACH_PATH: ApiForm(
        "answer",
        "Answer whether the page that is to be labelled is on the topic; after every ten, the model is trained.",
        {"answer": {**_TEXT, "enum": ["yes", "no", "skip", "undo"]}},
        {"url": {**_TEXT, "description": "of that page; not needed to undo"}},
        TeachView,
    ),
    FRONTIER_PATH: ApiForm(
        "steer",
        "Block, boost or drop the URLs of a host or a pattern, or one URL; undo the last command.",
        {"action": {**_TEXT, "enum": ["block", "boost", "drop", "undo"]}},
        {"what": {**_TEXT, "description": "a host, a URL, or a pattern such as *://example.org/ads/*"}},
        FrontierView,
    ),
    LABEL_PATH: ApiForm(
        "label",
        "Mark a page as on or off topic, and train the model.",
        {"url": {"type": "string"}, "label": {"type": "string", "enum": ["good", "bad"]}},
        {},
        LabelReply,
    ),
    PEERS_PATH: ApiForm(
        "ask_peers",
        "Search the collections of the peers for pages that have all words of the query.",
        {"q": {"type": "string"}},
        {},
        PeersView,
    ),
}


def description() -> dict[str, Any]:
    """The OpenAPI description."""
    responses = [*(route.response for route in API_ROUTES.values()), *(form.response for form in API_FORMS.values())]
    response_types = list(dict.fromkeys(responses))
    references, schemas = msgspec.json.schema_components(
        [*response_types, ApiError], ref_template="#/components/schemas/{name}"
    )
    *response_schemas, error_schema = references
    schema_of = dict(zip(response_types, response_schemas, strict=True))
    paths: dict[str, Any] = {}
    for path, route in API_ROUTES.items():
        paths[path] = {
            "get": {
                "operationId": route.operation_id,
                "summary": route.summary,
                "parameters": route.parameters,
                "responses": _responses(_as_json(schema_of[route.response]), error_schema),
            }
        }
    files = {media_type: {"schema": {"type": "string"}} for _, media_type in FORMATS.values()}
    paths[EXPORT_PATH] = {
        "get": {
            "operationId": "export",
            "summary": "The selected pages as a file, the most relevant first if `most` limits them.",
            "parameters": _EXPORT_PARAMETERS,
            "responses": _responses(files, error_schema),
        }
    }
    for path, form in API_FORMS.items():
        properties = {**form.fields, **form.optional}
        body = {"type": "object", "required": list(form.fields), "properties": properties}
        paths.setdefault(path, {})["post"] = {
            "operationId": form.operation_id,
            "summary": form.summary,
            "parameters": [_NAME] if "{name}" in path else [],
            "requestBody": {"required": True, "content": {"application/x-www-form-urlencoded": {"schema": body}}},
            "responses": _responses(_as_json(schema_of[form.response]), error_schema),
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Lycosa", "version": __version__, "description": "Collections of web pages on a topic."},
        "security": [{"token": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _as_json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _responses(content: dict[str, Any], error_schema: dict[str, Any]) -> dict[str, Any]:
    """content: of an answer, by media type."""
    return {
        "200": {"description": "The answer.", "content": content},
        "default": {"description": "What is wrong.", "content": _as_json(error_schema)},
    }
