"""Every parser of foreign bytes, with inputs to begin from: what the fuzzers run.

A parser may refuse what it is given by a LycosaError; whatever else it raises is a defect.
"""

import gzip
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import brotli
import msgspec
import zstandard
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Struct

from lycosa.collection.cdxj import surt
from lycosa.collection.event_records import decode_event, groups
from lycosa.collection.foreign import ForeignFetches
from lycosa.collection.search_query import parse_query
from lycosa.collection.warc import encode_record, gzipped, read_records
from lycosa.logs.formats import FORMATS
from lycosa.logs.page_urls import page_url
from lycosa.reading import Reader, main_text, markdown_of
from lycosa.reading.decode import decode
from lycosa.recipe import load_recipe
from lycosa.relevance.examples import read_examples
from lycosa.run.review import read_sample
from lycosa.run.steering import read_steering
from lycosa.run.topic import read_labels
from lycosa.standing.graph_files import read_graph
from lycosa.standing.ranked_lists import import_list
from lycosa.standing.tables import read_in_links, read_traffic
from lycosa.vocabulary.errors import LycosaError
from lycosa.vocabulary.records import Fetch, Outcome, Url
from lycosa.vocabulary.text import codes_of
from lycosa.vocabulary.url_files import read_url_file, url_of_bare_host
from lycosa.vocabulary.urls import host_of, hostname_of, join, key_of, normalise, origin_of, path_of, port_of, site_of
from lycosa.web.encodings import decoded
from lycosa.web.outcomes import classify
from lycosa.web.robots import RobotsWeb
from lycosa.web.sitemaps import parse_sitemap
from lycosa_peers.addresses import address_group, join_argument, parse_endpoint
from lycosa_peers.buddies import Buddy, SavedIndexes
from lycosa_peers.content import Items, ItemSummary
from lycosa_peers.identity import Group, Identity
from lycosa_peers.messages import (
    CollectionStatistics,
    Contact,
    Declined,
    Fetched,
    FetchRequest,
    FrameReader,
    FrameTooLongError,
    Hello,
    Index,
    IndexRequest,
    Join,
    Leave,
    MessageError,
    PeerHit,
    Ping,
    Pong,
    Query,
    Response,
    encode,
    to_frame,
)
from lycosa_peers.messages import decode as decode_message
from lycosa_peers.node import Node
from lycosa_peers.options import DEFAULTS
from lycosa_peers.peer import pinned_names
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.shared_collection import _fetch_in, unpack_record
from lycosa_peers.state import SavedState
from lycosa_peers.state_files import StateFiles
from lycosa_peers.summary import BadSummaryError, Segment, SegmentedSummary

HERE = Url("http://site.example/a/b?c=d")
LIMIT = 100_000  # bytes that may come out of a compressed body


class Parser(Struct, frozen=True):
    """What reads foreign bytes, and whole or damaged inputs that it knows."""

    parse: Callable[[bytes], object]
    seeds: tuple[bytes, ...]


def _page(data: bytes) -> None:
    content_type, _, body = data.partition(b"\n")
    headers = (("Content-Type", content_type.decode("latin-1")), ("X-Robots-Tag", content_type.decode("latin-1")))
    page = Reader(stem=True, check_language=True)(Fetch(HERE, Outcome.OK, at=0.0, headers=headers, content=body))
    assert page is not None
    page.text.encode()  # text that cannot be stored is no text
    page.title.encode()
    for link in page.links:
        assert normalise(link.target) == link.target
        link.anchor.encode()


def _markup(data: bytes) -> None:
    html = decode(data)
    main_text(html).encode()
    markdown_of(html, HERE).encode()


def _url(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    url_of_bare_host(text)
    for url in (normalise(text), join(HERE, text)):
        if url is not None:
            assert normalise(url) == url
            for part in (host_of, hostname_of, port_of, path_of, origin_of, site_of, key_of, surt):
                part(url)


def _robots(data: bytes) -> None:
    web = RobotsWeb.__new__(RobotsWeb)
    web._token = "lycosa"
    policy = web._parse_policy(data, until=0.0, is_truncated=bool(len(data) % 2))
    assert 0.0 <= policy.crawl_delay < 1e6
    if policy.rules is not None:
        policy.rules.can_fetch("http://host/a/b?c", "lycosa")
        list(policy.rules.sitemaps)


def _sitemap(data: bytes) -> None:
    pages, sitemaps = parse_sitemap(HERE, data, 1_000)
    assert all(normalise(url) == url for url in (*pages, *sitemaps))


def _encoded(data: bytes) -> None:
    coding, _, body = data.partition(b"\n")
    content, _ = decoded(body, coding.decode("latin-1"), LIMIT)
    assert len(content) <= LIMIT


def _answer(data: bytes) -> None:
    status, _, rest = data.partition(b"\n")
    headers = tuple(
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, _, value in (line.partition(b":") for line in rest.split(b"\n"))
    )
    number = int(status) if status.isdigit() and len(status) < 5 else 200
    classify(HERE, number, "reason", headers, now=1e9, start=rest, any_type=False)


def _warc(data: bytes) -> None:
    for each in read_records(BytesIO(data)):
        assert 0 <= each.offset < len(data)
    for group in groups(BytesIO(data)):
        with suppress(LycosaError):
            decode_event(group, decoded)


def _from_file(read: Callable[[Path], object], name: str = "given") -> Callable[[bytes], object]:
    """A parser of a file; it may go through what it gets."""

    def parse(data: bytes) -> None:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, suppress(LycosaError):
            path = Path(folder) / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            found = read(path)
            if isinstance(found, Iterable):
                for _ in found:
                    pass

    return parse


def _foreign(path: Path) -> Iterable[Fetch]:
    return ForeignFetches(path, decode=decoded)


def _log_line(data: bytes) -> None:
    for name in FORMATS:
        with suppress(LycosaError):
            read = FORMATS[name]()
            for line in data.split(b"\n"):
                read(line)
    page_url(data[:2_000], site="http://site.example", by_extension=True)


def _ranked(path: Path) -> object:
    return import_list(path, path.with_name("table"), top=1_000)


def _peer_message(data: bytes) -> None:
    try:
        message = decode_message(data)
    except MessageError:
        return
    assert decode_message(encode(message)) == message


def _peer_frames(data: bytes) -> None:
    frames, rest, limit = FrameReader(), data, 1 << 16
    while rest:
        frames.feed(rest[: 1 + rest[0]])
        rest = rest[1 + rest[0] :]
        with suppress(FrameTooLongError):
            while (frame := frames.pop(limit)) is not None:
                assert len(frame) <= limit
    assert frames.buffered_bytes <= len(data)


def _peer_summary(data: bytes) -> None:
    try:
        summary = SegmentedSummary.unpacked(data)
        followed = summary.extended(data)
    except BadSummaryError:
        return
    for each in (summary, followed):
        each.may_have(["honey", "hive"])
        assert 0 <= each.frequency("honey") <= each.pages


def _peer_record(data: bytes) -> None:
    record_of_page = unpack_record("http://site.example/", data)
    if record_of_page is not None:
        _fetch_in(record_of_page)


def _peer_state(path: Path) -> None:
    folder = PeerFolder(path.parent.parent)
    node = Node(Contact("me", "me:1"), Items([5]), options=DEFAULTS, seed=1)
    StateFiles(folder).restore(node)
    assert len(node.buddies) <= 10 and len(node.neighbours) <= DEFAULTS.max_neighbours
    node.rejoin()
    node.ask(7, 0.0)
    StateFiles(folder).save(node)


def _peer_key(path: Path) -> None:
    Identity.load(PeerFolder(path.parent.parent)).context()


def _peer_names(path: Path) -> None:
    for each in pinned_names(PeerFolder(path.parent.parent)):
        parse_endpoint(each)


def _peer_place(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    endpoint = parse_endpoint(text)
    assert endpoint is None or parse_endpoint(str(endpoint)) == endpoint
    with suppress(LycosaError):
        join_argument(text)
    address_group(text)
    with suppress(LycosaError):
        Group.from_secret(text)


HTML = (
    b"text/html; charset=utf-8\n<!doctype html><html lang=en><head><title>T</title><base href='/x/'>"
    b"<meta name=robots content='noindex, nofollow'><link rel=canonical href=/c>"
    b"<meta http-equiv=refresh content='0;url=/r'>"
    b"</head><body><nav><a href=/n rel='nofollow ugc'>n</a></nav><h1>Head</h1><p>honey <b>bee</b> hive</p>"
    b"<ul><li><a href='//other.example/?a=1&amp;b=2#f' title=t>there</a></ul><table><tr><td>1<td>2</table>"
    b"<pre><code class=language-py>x = 1</code></pre><script>var a = '</a>'</script><!-- c -->"
    b"<svg><title>s</title></svg>"
)
WARCINFO = gzipped(
    encode_record("warcinfo", "<urn:uuid:1>", "2026-01-01T00:00:00Z", "application/warc-fields", b"a: b\r\n")
)
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>x</title>"
ANSWER = gzipped(
    encode_record(
        "response",
        "<urn:uuid:2>",
        "2026-01-01T00:00:00Z",
        "application/http; msgtype=response",
        RESPONSE,
        "WARC-Target-URI: http://site.example/",
    )
)
NOTE = gzipped(
    encode_record(
        "metadata",
        "<urn:uuid:3>",
        "2026-01-01T00:00:00Z",
        "application/json",
        b'{"type": "Stop", "at": 1.0, "reason": "x"}',
        "WARC-Target-URI: urn:lycosa:stop",
    )
)
LOG = (
    b'1.2.3.4 - u [10/Oct/2000:13:55:36 -0700] "GET http://site.example/a HTTP/1.0" 200 2326 "http://r.example/" "M"\n'
    b"1066036250.129 11 10.0.0.1 TCP_MISS/200 3120 GET http://site.example/b u DIRECT/1.2.3.4 text/html\n"
    b"#Fields: date time c-ip cs-method cs-uri-stem sc-status\n2026-01-01 00:00:00 1.2.3.4 GET /c 200\n"
)
ROBOTS = (
    b"User-agent: *\nDisallow: /a*b$\nAllow: /\nCrawl-delay: 2\n\nUser-agent: lycosa/1\nDisallow:\nSitemap: /s.xml\n"
)
SITEMAP = (
    b"<?xml version='1.0'?><urlset xmlns='x'>"
    b"<url><loc>http://site.example/1</loc></url><sitemap><loc>/2</loc></sitemap></urlset>"
)
RECIPE = (
    b'name = "n"\nseeds = "s.txt"\n[topic]\ntext = "honey"\nkeywords = ["a", "b"]\n'
    b'[requests]\ndelay = 1\nheaders = {A = "b"}\n[stop]\npages = 3\n'
)
BOOKMARKS = b'<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p><DT><A HREF="http://site.example/" ADD_DATE="1">x</A>\n'
OPML = (
    b'<?xml version="1.0"?><opml version="2.0"><body>'
    b'<outline text="a" htmlUrl="http://site.example/" xmlUrl="/f"/></body></opml>'
)
PAGE = HTML.partition(b"\n")[2]

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)
PEER = Contact("p" * 32, "192.0.2.7:7077")
HIT = PeerHit("http://site.example/", "T", "s", 0.5, 0.5, 1e9, "d", 9, (2, 1))
MESSAGES = (
    *(Hello(PEER), Query(1, "honey hive", PEER, 9, 7, 5), Declined("query", 7), IndexRequest(3), Index(4, b"x", 3)),
    *(FetchRequest(5, "http://site.example/"), Fetched(5, "http://site.example/", b"x"), Join(PEER), Leave(), Ping()),
    *(
        Pong(True, (PEER,)),
        Response(1, PEER, (HIT,), (PEER,), CollectionStatistics(9, 99, ("honey", "hive"), (3, 2)), 7, 4),
    ),
)
SUMMARY = SegmentedSummary(
    [
        Segment.from_pages([codes_of(["honey", "hive", f"word{n}"]) for n in range(each)], max_bytes=4000)
        for each in (3, 300)
    ]
)
STATE = msgspec.json.encode(
    SavedState([Buddy(PEER, 2, 1)], neighbours=[PEER, "old"], known=[PEER], shunned=["bad"], has_asked=True)
)

PARSERS: dict[str, Parser] = {
    "peer message": Parser(_peer_message, tuple(encode(each) for each in MESSAGES)),
    "peer frames": Parser(_peer_frames, (b"".join(to_frame(encode(each)) for each in MESSAGES), b"\0\0\0\1")),
    "peer summary": Parser(_peer_summary, (SUMMARY.packed(), SegmentedSummary().packed())),
    "peer record": Parser(_peer_record, (ANSWER, WARCINFO, ANSWER * 2)),
    "peer state": Parser(_from_file(_peer_state, "peer/state.json"), (STATE,)),
    "peer indexes": Parser(
        _from_file(_peer_state, "peer/indexes"),
        (msgspec.msgpack.encode(SavedIndexes({"p" * 32: (3, ItemSummary(frozenset({5})).packed())}, ["p" * 32], 4)),),
    ),
    "peer key": Parser(_from_file(_peer_key, "peer/key.pem"), (Identity(KEY)._pem(),)),
    "peer pins": Parser(_from_file(_peer_names, "peer/pins.json"), (b'{"192.0.2.7:7077": "ppp"}',)),
    "peer place": Parser(
        _peer_place, (b"p" * 32 + b"@[2001:db8::7]:7077", b"host.example:1", Group(KEY).secret.encode())
    ),
    "page": Parser(_page, (HTML, b"text/html\n" + PAGE * 3, b"text/html; charset=gbk\n\xb0\xa1<p>")),
    "markup": Parser(_markup, (PAGE, b"<ol start=9><li><p>a<blockquote>b</ol>", b"# * _ ` [x](y) <a href=')'>\n")),
    "url": Parser(
        _url,
        (
            b"http://user@www.site.example:8080/a/../b;c?d=e%20f#g",
            "http://bücher.example/ä?ß".encode(),
            b"//[::1]:80/..//x",
        ),
    ),
    "robots.txt": Parser(_robots, (ROBOTS, ROBOTS.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + ROBOTS)),
    "sitemap": Parser(_sitemap, (SITEMAP, b"http://site.example/1\nhttp://site.example/2\n")),
    "content-encoding": Parser(
        _encoded,
        (
            b"gzip\n" + gzip.compress(PAGE),
            b"br\n" + brotli.compress(PAGE),
            b"zstd\n" + zstandard.compress(PAGE),
            b"gzip, deflate\n" + PAGE,
        ),
    ),
    "answer": Parser(
        _answer,
        (
            b"503\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\nContent-Type: text/html",
            b"301\nLocation: //other.example/x y",
            b"200\nContent-Type: text/html; charset=x\nETag: y",
        ),
    ),
    "warc": Parser(
        _warc,
        (WARCINFO + ANSWER + NOTE, ANSWER[:-9] + WARCINFO, gzip.compress(b"WARC/1.1\r\nContent-Length: 3\r\n\r\nabc")),
    ),
    "warc record": Parser(
        lambda data: _warc(WARCINFO + gzipped(data) + NOTE), tuple(gzip.decompress(each) for each in (ANSWER, NOTE))
    ),
    "foreign warc": Parser(_from_file(_foreign, "a.warc.gz"), (WARCINFO + ANSWER, gzip.decompress(WARCINFO + ANSWER))),
    "search": Parser(
        lambda data: parse_query(data.decode("utf-8", "replace")),
        (b'honey +bee -"old hive" (title:x OR host:y.example) wor*', b"((((", b'"'),
    ),
    "log": Parser(_log_line, (LOG,)),
    "recipe": Parser(_from_file(lambda path: load_recipe(path.parent, for_reading=True), "lycosa.toml"), (RECIPE,)),
    "urls": Parser(
        _from_file(lambda path: read_url_file(path, "seeds").lines), (b"# c\nhttp://site.example/\n", BOOKMARKS, OPML)
    ),
    "examples": Parser(_from_file(read_examples), (b"http://site.example/\nsome words of a topic\n./file.html\n",)),
    "labels": Parser(
        _from_file(lambda path: read_labels(path.parent), "labels.txt"),
        (b"good http://site.example/\nbad http://b.example/\n",),
    ),
    "sample": Parser(
        _from_file(lambda path: read_sample(path.parent), "sample.txt"), (b"good 10 http://site.example/\n",)
    ),
    "steering": Parser(
        _from_file(lambda path: read_steering(path.parent), "steering.txt"),
        (b"block a.example\nboost b.example\ndrop c.example 1 0\nlabel 2\n",),
    ),
    "in-links": Parser(
        _from_file(read_in_links), (b"url,in_links\nhttp://site.example/,12\n", b"http://site.example/\t3\n")
    ),
    "traffic": Parser(
        _from_file(read_traffic), (b"1,site.example\n2,b.example\n", b"domain,visits\nsite.example,5e3\n")
    ),
    "ranks": Parser(
        _from_file(_ranked), (b"1,site.example\n2,b.example\n", b"GlobalRank,TldRank,Domain\n1,1,site.example\n")
    ),
    "graph": Parser(
        _from_file(read_graph, "g.txt"),
        (
            b"0 1\n1 2\n",
            b'*Vertices 2\n1 "a"\n*Edges\n1 2\n',
            b'graph [ node [ id 1 label "a" ] edge [ source 1 target 1 ] ]',
        ),
    ),
}
