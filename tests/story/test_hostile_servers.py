"""Servers that do their worst: each URL gets an outcome, the crawl goes on, and memory stays where it is."""

import gzip
import socket
import time

import pytest

from crawling import (
    apart,
    begin,
    collection,
    done,
    end,
    lycosa,
    most_memory,
    outcomes,
    pages,
    passes_warcio_check,
    rows,
    skipped,
)
from lycosa.reading.html import MAX_LINKS
from web.loopback import LoopbackServer, response
from worlds import html

pytestmark = pytest.mark.slow

GOOD = [f"http://good.example/{number}" for number in range(30)]
CAREFUL = "timeout = 6\nretries = 0\nmax_body = 300000\n"


def drip(connection: socket.socket) -> None:
    connection.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n<title>Drip</title>"
    )
    while True:
        connection.sendall(b"x")
        time.sleep(0.05)


def drip_of_headers(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-More: and more\r\n")
        time.sleep(0.02)


def endless_headers(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X-More: " + b"x" * 8_000 + b"\r\n")


def endless(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>Endless</title>")
    while True:
        connection.sendall(b"<p>never the last word</p>" * 1_000)


def silence(connection: socket.socket) -> None:
    connection.recv(1)


def bomb() -> bytes:
    layer = gzip.compress(b"<title>Bomb</title>" + b"\0" * 50_000_000, 9)
    return response(layer, Content_Encoding="gzip")


def bad_chunks() -> bytes:
    return response(b"ZZZ\r\nnot a chunk at all\r\n", Content_Length="", Transfer_Encoding="chunked")


def moved(to: str) -> bytes:
    return response(b"", "301 Moved Permanently", Location=to)


HOSTILE = {
    "drip": drip,
    "drip-of-headers": drip_of_headers,
    "endless-headers": endless_headers,
    "endless": endless,
    "silence": silence,
    "bomb": bomb(),
    "bad-chunks": bad_chunks(),
    "not-http": b"220 smtp.example ESMTP ready\r\n" * 3,
    "lies-about-length": response(b"<title>Short</title>", Content_Length="99999"),
    "garbage": response(bytes(range(256)) * 1_000),
    "nested": response(b"<div>" * 50_000),
    "nul": response(b"\0" * 100_000),
    "loop": moved("/loop"),
    "two-a": moved("/two-b"),
    "two-b": moved("/two-a"),
    "nowhere": moved("http://"),
    "to-a-file": moved("file:///etc/passwd"),
    "to-loopback": moved("http://127.0.0.1:1/"),
    "wrong-type": response(b"%PDF-1.7" * 1000, Content_Type="application/pdf"),
    "empty": response(b""),
    "teapot": response(b"", "418 I'm a teapot"),
    "error": response(b"", "500 Internal Server Error"),
    "strange-status": response(b"<title>x</title>", "999 Whatever"),
}
HOPS = {f"/hop{number}": moved(f"/hop{number + 1}") for number in range(9)} | {
    "/hop9": response(html("End", "The end."))
}
MANY = 10_000


def routes() -> dict:
    links = [f"http://{name}.example/{name}" for name in HOSTILE]
    links += [
        "http://hops.example/hop0",
        "https://tls.example/tls",
        "http://nowhere.invalid/",
        "http://many.example/many",
    ]
    good = {
        f"/{number}": response(html(f"Good {number}", f"honey bee hive {' '.join(f'n{number}w{i}' for i in range(9))}"))
        for number in range(len(GOOD))
    }
    many = html("Many", "honey bee hive", [f"http://many.example/m/{number}" for number in range(MANY)])
    front = html("Front", "honey bee hive", [*links, *GOOD])
    return (
        {f"/{name}": answer for name, answer in HOSTILE.items()}
        | HOPS
        | good
        | {
            "/": response(front),
            "/many": response(many, Content_Length=str(len(many))),
        }
    )


def hosts() -> list[str]:
    return [f"{name}.example" for name in (*HOSTILE, "good", "hops", "tls", "many")]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    folder = collection(
        tmp_path_factory.mktemp("hostile") / "c",
        ["http://good.example/"],
        rest=CAREFUL + '[scope]\nexclude_urls = ["*/m/*"]\n',
    )
    with LoopbackServer(routes()) as server:
        resolve = [word for host in hosts() for word in ("--resolve", f"{host}=127.0.0.1:{server.port}")]
        process = begin("crawl", folder, "--concurrency", 32, "--verbose", *resolve)
        most = 0
        while process.poll() is None:
            most = max(most, most_memory(process))
            time.sleep(0.05)
        said = end(process)
    assert said.code == 0, said.err
    assert "nothing is left to fetch" in done("show", folder).out
    return folder, most, said.err


def test_every_hostile_url_has_an_outcome_and_every_good_page_was_fetched(crawled):
    folder, _, told = crawled
    ended = outcomes(folder)
    assert set(GOOD) <= set(pages(folder))
    expected = {
        "drip": {"ok"},
        "drip-of-headers": {"failed"},
        "endless-headers": {"failed"},
        "endless": {"ok"},
        "silence": {"failed"},
        "bomb": {"ok"},
        "bad-chunks": {"failed", "ok"},
        "not-http": {"failed"},
        "lies-about-length": {"failed", "ok"},
        "garbage": {"ok"},
        "nested": {"ok"},
        "nul": {"ok"},
        "loop": {"moved"},
        "nowhere": {"failed"},
        "to-a-file": {"failed"},
        "to-loopback": {"moved"},
        "wrong-type": {"unwanted"},
        "empty": {"ok", "unwanted"},
        "teapot": {"gone"},
        "error": {"failed"},
        "strange-status": {"failed"},
    }
    for name, allowed in expected.items():
        assert ended[f"http://{name}.example/{name}"] in allowed, (name, ended[f"http://{name}.example/{name}"])
    for url in ("https://tls.example/tls", "http://nowhere.invalid/"):
        assert ended[url] in ("failed", "busy"), url
    assert ended["http://127.0.0.1:1/"] == "refused"
    assert "Traceback" not in told


def test_what_was_cut_is_marked_and_no_larger_than_allowed(crawled):
    folder = crawled[0]
    cut = dict(rows(folder, "SELECT url, truncated FROM pages WHERE truncated != ''"))
    assert cut["http://endless.example/endless"] == "length"
    assert cut["http://drip.example/drip"] == "time"
    assert cut["http://bomb.example/bomb"] == "length"
    assert rows(folder, "SELECT max(bytes) FROM pages")[0][0] <= 300_000


def test_redirects_end_after_five(crawled):
    folder = crawled[0]
    ended = outcomes(folder)
    assert [url for url in ended if "hop" in url] == [f"http://hops.example/hop{number}" for number in range(6)]
    assert "redirect" in skipped(folder)["http://hops.example/hop6"]


def test_of_a_page_of_ten_thousand_links_a_bounded_number_is_considered(crawled):
    folder = crawled[0]
    reasons = [reason for url, reason in skipped(folder).items() if "/m/" in url]
    assert MAX_LINKS <= len(reasons) <= MANY
    assert set(reasons) == {"scope: URL excluded"}


def test_memory_stays_where_it_is(crawled):
    assert 0 < crawled[1] < 300_000_000


def test_the_archive_of_all_that_is_whole(crawled):
    assert passes_warcio_check(crawled[0])


def test_a_rebuild_comes_to_the_same(crawled):
    folder = crawled[0]
    tables = ("url, outcome, status, detail, at FROM fetches", "number, url, title, relevance, truncated FROM pages")
    before = [rows(folder, f"SELECT {table} ORDER BY rowid") for table in tables] + [sorted(skipped(folder).items())]
    done("rebuild", folder)
    after = [rows(folder, f"SELECT {table} ORDER BY rowid") for table in tables] + [sorted(skipped(folder).items())]
    assert after == before


def test_seeds_that_cannot_be_reached_do_not_keep_the_user_waiting_for_minutes(tmp_path):
    seeds = ["https://a.example/", "http://nowhere.invalid/"]
    folder = collection(tmp_path / "c", seeds, rest="timeout = 1\nretries = 1")
    with LoopbackServer({}) as server:
        process = begin("crawl", folder, "--resolve", f"a.example=127.0.0.1:{server.port}")
        said = end(process)
    assert said.is_one_clear_line(1, "a.example/: unreachable: ", "nowhere.invalid/: unreachable: no such host")
    assert sorted(outcomes(folder)) == sorted(seeds)
    assert done("show", folder, "--json").json["waiting"] == 0


def test_an_example_that_cannot_be_had_is_told_and_the_others_teach(tmp_path):
    texts = ["honey bees and their hives in the garden", "a swarm of bees and its queen"]
    folder = collection(tmp_path / "c", ["http://a.example/"], topic='examples = "good.txt"', rest=CAREFUL)
    (folder / "good.txt").write_text("\n".join([*texts, "http://a.example/gone"]) + "\n", encoding="utf-8")
    with LoopbackServer({"/": response(html("A", "honey bees"))}) as server:
        said = done("crawl", folder, "--resolve", f"*=127.0.0.1:{server.port}")
        assert "http://a.example/gone" in said.err
        assert len(pages(folder)) == 1
        (folder / "good.txt").write_text("http://a.example/gone\n", encoding="utf-8")
        said = lycosa("crawl", folder, "--resolve", f"*=127.0.0.1:{server.port}")
        assert said.is_one_clear_line(1, "good.txt")


def test_a_crawl_whose_output_is_cut_off_ends_without_a_traceback(tmp_path):
    folder = collection(tmp_path / "c", ["http://good.example/"], rest=CAREFUL)
    with LoopbackServer(routes()) as server:
        command = ["crawl", folder, "--pages", 25, "--include-host", "good.example", "--resolve", server.everything[0]]
        process = begin(*command, "--json")
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        told = process.stderr.read()
        process.wait()
        process.stderr.close()
        assert "Traceback" not in told
        said = apart(*command)
        assert said.code == 0, said.err
    assert len(pages(folder)) == 25
