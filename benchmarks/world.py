"""The web that the benchmarks crawl: 200 hosts on loopback addresses, pages of some 15 KB with some 40 links.

    python benchmarks/world.py --pages 20000          serves until interrupted; prints the address of the first page

Host h is 127.0.1.(h+1), which Linux answers without being told; every host is about one of twenty topics, mostly.
Pages are put together, when asked for, of paragraphs made once, so that serving them takes little from the crawlers.
`/-/count` tells how many pages were served since `/-/reset`, so that the server counts, not the crawler.
"""

import argparse
import asyncio
import http.client
import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

HOSTS = 200
TOPICS = 20
PARAGRAPHS = 400  # of each topic
PER_PAGE = (8, 28)  # paragraphs of some 600 characters
LINKS = (20, 60)
CHILDREN = 8  # links by which every page can be reached


class World:
    """Every page from its number: the same arguments make the same web."""

    def __init__(self, *, pages: int, port: int, seed: int = 1):
        self.pages = pages
        self._seed = seed
        chance = random.Random(seed)
        common = _words(chance, 3000)
        topical = [_words(chance, 400) for _ in range(TOPICS)]
        self._anchors = topical
        self._paragraphs = [_paragraphs(chance, common, words) for words in topical]
        self._host = [min(int(HOSTS * chance.random() ** 1.5), HOSTS - 1) for _ in range(pages)]
        self._host[0] = 0
        self.topic = [h % TOPICS if chance.random() < 0.8 else chance.randrange(TOPICS) for h in self._host]
        self.origins = [f"http://127.0.1.{h + 1}:{port}" for h in range(HOSTS)]
        self._paths = [
            f"/t{topic}/{topical[topic][number % 400]}-{number}.html" if number else "/"
            for number, topic in enumerate(self.topic)
        ]
        self.number = {(self._host[n], path): n for n, path in enumerate(self._paths)}
        self._order = list(range(1, pages))
        chance.shuffle(self._order)
        self._order.insert(0, 0)
        self._rank = {number: rank for rank, number in enumerate(self._order)}
        self._of_host: list[list[int]] = [[] for _ in range(HOSTS)]
        self._of_topic: list[list[int]] = [[] for _ in range(TOPICS)]
        for number in self._order:
            self._of_host[self._host[number]].append(number)
            self._of_topic[self.topic[number]].append(number)

    def url(self, number: int) -> str:
        return self.origins[self._host[number]] + self._paths[number]

    def links(self, number: int, chance: random.Random) -> list[int]:
        rank = self._rank[number]
        targets = self._order[rank * CHILDREN + 1 : (rank + 1) * CHILDREN + 1]
        near, akin = self._of_host[self._host[number]], self._of_topic[self.topic[number]]
        for _ in range(chance.randint(*LINKS) - len(targets)):
            kind = chance.random()
            among = near if kind < 0.55 else akin if kind < 0.85 else self._order
            targets.append(among[int(len(among) * chance.random() ** 3)])  # few pages have most of the in-links
        chance.shuffle(targets)
        return targets

    def html(self, number: int) -> bytes:
        """The page, of the same bytes whenever asked for."""
        chance = random.Random(self._seed * 1_000_003 + number)
        topic, host = self.topic[number], self._host[number]
        words = self._anchors[topic]
        title = " ".join(chance.choices(words, k=4))
        anchors = [
            f'<a href="{self._paths[to] if self._host[to] == host else self.url(to)}">{chance.choice(words)}</a>'
            for to in self.links(number, chance)
        ]
        paragraphs = chance.choices(self._paragraphs[topic], k=chance.randint(*PER_PAGE))
        nav, rest = anchors[:8], anchors[8:]
        parts = [f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>{_HEAD}</head>\n']
        parts.append(f"<body><nav>{' '.join(nav)}</nav>\n<h1>{title}</h1>\n")
        for order, paragraph in enumerate(paragraphs):
            some = rest[order :: len(paragraphs)]
            parts.append(f'<div class="p"><p>{paragraph} {" ".join(some)}</p></div>\n')
        parts.append("<footer><p>&copy; nobody</p></footer></body></html>\n")
        return "".join(parts).encode()

    def some_on_topic(self, topic: int, count: int, *, other: bool = False) -> list[int]:
        """Numbers of pages that are about a topic, or about others."""
        wanted = [number for number in range(1, self.pages) if (self.topic[number] == topic) is not other]
        return random.Random(self._seed).sample(wanted, min(count, len(wanted)))


_HEAD = (
    '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/s.css">'
    "<style>body{font:16px serif;margin:2em}nav a{padding:4px}</style><script>var q=[];</script>"
)
_CONSONANTS = (*"bcdfghklmnprstvw", "st", "tr", "ch", "pr")
_SYLLABLES = [consonant + vowel for consonant in _CONSONANTS for vowel in (*"aeiou", "ai", "ea")]


def _words(chance: random.Random, count: int) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < count:
        syllables = chance.choices(_SYLLABLES, k=chance.choices((1, 2, 3, 4), (15, 45, 30, 10))[0])
        words["".join(syllables) + chance.choice(("", "", "n", "s", "r", "ing", "ed", "l"))] = None
    return list(words)


def _paragraphs(chance: random.Random, common: list[str], topical: list[str]) -> list[str]:
    frequent = list(accumulate(1 / (rank + 1) for rank in range(len(common))))
    telling = list(accumulate(1 / (rank + 3) for rank in range(len(topical))))
    paragraphs = []
    for _ in range(PARAGRAPHS):
        words = chance.choices(common, cum_weights=frequent, k=72) + chance.choices(topical, cum_weights=telling, k=24)
        chance.shuffle(words)
        sentences = [" ".join(words[start : start + 12]).capitalize() for start in range(0, 96, 12)]
        paragraphs.append(". ".join(sentences) + ".")
    return paragraphs


class _Counts:
    def __init__(self) -> None:
        self.pages: set[int] = set()
        self.requests = 0


class _Connection(asyncio.Protocol):
    def __init__(self, world: World, host: int, counts: _Counts):
        self._world = world
        self._host = host
        self._counts = counts
        self._unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._unread += data
        while (end := self._unread.find(b"\r\n\r\n")) >= 0:
            head, self._unread = self._unread[:end], self._unread[end + 4 :]
            path = head.split(b" ", 2)[1].decode("latin-1")
            self._transport.write(self._answer(path, head))
            if b"connection: close" in head.lower():
                self._transport.close()
        if len(self._unread) > 16_384:
            self._transport.abort()

    def _answer(self, path: str, head: bytes) -> bytes:
        if path.startswith("/-/"):
            if path == "/-/reset":
                self._counts.pages.clear()
                self._counts.requests = 0
            counted = {"pages": len(self._counts.pages), "requests": self._counts.requests}
            return _reply("200 OK", "application/json", json.dumps(counted).encode())
        self._counts.requests += 1
        if path == "/robots.txt":
            return _reply("200 OK", "text/plain", b"User-agent: *\nDisallow: /private/\n")
        number = self._world.number.get((self._host, path))
        if number is None:
            return _reply("404 Not Found", "text/plain", b"not found")
        self._counts.pages.add(number)
        etag = f'ETag: "{number}"\r\n'
        if f'If-None-Match: "{number}"'.encode() in head:
            return f"HTTP/1.1 304 Not Modified\r\n{etag}\r\n".encode()
        return _reply("200 OK", "text/html; charset=utf-8", self._world.html(number), etag)


def _reply(status: str, kind: str, body: bytes, more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


async def _serve(pages: int, seed: int) -> None:
    sockets = [_listening(0, 0)]
    port = sockets[0].getsockname()[1]
    sockets += [_listening(host, port) for host in range(1, HOSTS)]
    world, counts, loop = World(pages=pages, port=port, seed=seed), _Counts(), asyncio.get_running_loop()
    for host, listening in enumerate(sockets):
        await loop.create_server(lambda host=host: _Connection(world, host, counts), sock=listening)
    print(world.url(0), flush=True)
    await loop.run_in_executor(None, sys.stdin.read)  # ends with whoever started us


def _listening(host: int, port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((f"127.0.1.{host + 1}", port))
    return listening


class ServedWorld(NamedTuple):
    """A world being served by a process of its own."""

    seed_url: str
    port: int
    pages: int

    def world(self) -> World:
        """The same world, to look into."""
        return World(pages=self.pages, port=self.port)

    def count(self) -> int:
        """Distinct pages served since the last `reset`."""
        return int(self._ask("/-/count")["pages"])

    def reset(self) -> None:
        self._ask("/-/reset")

    def _ask(self, path: str) -> dict[str, int]:
        connection = http.client.HTTPConnection("127.0.1.1", self.port, timeout=30)
        connection.request("GET", path, headers={"Connection": "close"})
        answer: dict[str, int] = json.loads(connection.getresponse().read())
        connection.close()
        return answer


@contextmanager
def serving(pages: int) -> Iterator[ServedWorld]:
    """Serves a world for as long as the context lasts."""
    command = [sys.executable, str(Path(__file__)), "--pages", str(pages)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None and server.stdout is not None
    try:
        url = server.stdout.readline().strip()
        if not url:
            sys.exit("the world could not be served: are 127.0.1.1 and its neighbours addresses of this machine?")
        yield ServedWorld(url, int(url.split(":")[2].split("/")[0]), pages)
    finally:
        server.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            server.wait(5)
        server.kill()
        server.wait()


def measure_speed(pages: int, seconds: float = 2.0) -> None:
    """Prints how many requests a second the server answers to one client that waits for each."""
    with serving(pages) as served:
        world = served.world()
        connection = http.client.HTTPConnection("127.0.1.1", served.port)
        own = [path for (host, path) in world.number if host == 0]
        began, count = time.monotonic(), 0
        while time.monotonic() - began < seconds:
            connection.request("GET", own[count % len(own)])
            connection.getresponse().read()
            count += 1
        print(f"{count / seconds:.0f} requests/s, one at a time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speed", action="store_true", help="measure the server alone")
    options = parser.parse_args()
    if options.speed:
        measure_speed(options.pages)
        return
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(options.pages, options.seed))


if __name__ == "__main__":
    main()
