"""A name server that means harm, in a network of its own: a program to be run by `unshare --net --mount`.

The network has loopback only, on which some public addresses are, too: what is sent to them goes nowhere else. Names
are resolved as they always are, by the system, which asks the server here. Prints what became of each name, as JSON.
"""

import asyncio
import json
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from itertools import pairwise
from pathlib import Path

ZONE = "names.example"
PUBLIC, OTHER_PUBLIC = "93.184.216.34", "2606:2800:220:1::1"
TIMEOUT = 4.0  # seconds for a whole request; the system's resolver gives up after one
PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 12\r\n\r\n<html>a page"
A, CNAME, AAAA = 1, 5, 28
NXDOMAIN, SERVFAIL, REFUSED = 3, 2, 5
Answer = Callable[["Question"], bytes | None]


class Question:
    """A query as it came, and how often this name was asked for before."""

    def __init__(self, packet: bytes, before: int, *, over_tcp: bool):
        self.packet = packet
        self.before = before
        self.over_tcp = over_tcp
        self.id = packet[:2]
        labels, place = [], 12
        while packet[place]:
            labels.append(packet[place + 1 : place + 1 + packet[place]].decode().lower())
            place += 1 + packet[place]
        self.name = ".".join(labels)
        (self.type,) = struct.unpack("!H", packet[place + 1 : place + 3])
        self.section = packet[12 : place + 5]

    def reply(self, records: list[bytes], *, code: int = 0, flags: int = 0) -> bytes:
        head = struct.pack("!HHHHH", 0x8180 | flags | code, 1, len(records), 0, 0)
        whole = self.id + head + self.section + b"".join(records)
        if len(whole) > 500 and not self.over_tcp:  # comes again over TCP
            return self.id + struct.pack("!HHHHH", 0x8380, 1, 0, 0, 0) + self.section
        return whole


def wire_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


def record(kind: int, data: bytes, name: bytes = b"\xc0\x0c") -> bytes:
    return name + struct.pack("!HHIH", kind, 1, 0, len(data)) + data


def at(*addresses: str) -> Answer:
    """Answers with addresses, each to the questions for its kind."""

    def answer(asked: Question) -> bytes:
        packed = [(AAAA if ":" in each else A, ip_address(each).packed) for each in addresses]
        return asked.reply([record(kind, data) for kind, data in packed if kind == asked.type])

    return answer


def alias(target: str, address: str | None = None) -> Answer:
    more = [] if address is None else [record(A, ip_address(address).packed, wire_name(target))]
    return lambda asked: asked.reply([record(CNAME, wire_name(target)), *more])


def failing(code: int) -> Answer:
    return lambda asked: asked.reply([], code=code)


def rebinding(asked: Question) -> bytes:
    """A public address at first, then one of this machine."""
    return at(PUBLIC if asked.before < 2 else "127.0.0.1")(asked)


def after(seconds: float, answer: Answer) -> Answer:
    def late(asked: Question) -> bytes | None:
        time.sleep(seconds)
        return answer(asked)

    return late


def chain(asked: Question) -> bytes:
    """An alias of an alias …, all in one answer, and this machine at its end."""
    names = [asked.name, *(f"c{number}.{ZONE}" for number in range(60))]
    aliases = [record(CNAME, wire_name(after_it), wire_name(name)) for name, after_it in pairwise(names)]
    return asked.reply([*aliases, record(A, ip_address("127.0.0.1").packed, wire_name(names[-1]))])


NAMES: dict[str, Answer] = {
    "good": at(PUBLIC),
    "good-six": at(OTHER_PUBLIC),
    "loopback": at("127.0.0.1"),
    "loopback-two": at("127.99.1.2"),
    "ten": at("10.0.0.1"),
    "metadata": at("169.254.169.254"),
    "carrier": at("100.64.0.1"),
    "zero": at("0.0.0.0"),
    "broadcast": at("255.255.255.255"),
    "multicast": at("224.0.0.1"),
    "six-loopback": at("::1"),
    "six-mapped": at("::ffff:127.0.0.1"),
    "six-unique-local": at("fd00::1"),
    "six-link-local": at("fe80::1"),
    "six-nat64": at("64:ff9b::7f00:1"),
    "mixed": at("127.0.0.1", PUBLIC, "10.0.0.1"),
    "rebinding": rebinding,
    "thousands-private": at(*(f"10.1.{n // 250}.{1 + n % 250}" for n in range(3000))),
    "thousands-dead": at(*(f"198.41.{n // 250}.{1 + n % 250}" for n in range(3000))),
    "alias-of-private": alias(f"loopback.{ZONE}", "127.0.0.1"),
    "alias-loop": alias(f"alias-loop-two.{ZONE}"),
    "alias-loop-two": alias(f"alias-loop.{ZONE}"),
    "alias-of-itself": alias(f"alias-of-itself.{ZONE}"),
    "alias-chain": chain,
    "alias-of-localhost": alias("localhost", "127.0.0.1"),
    "no-such-name": failing(NXDOMAIN),
    "server-failure": failing(SERVFAIL),
    "refused": failing(REFUSED),
    "empty": at(),
    "silent": lambda asked: None,
    "slow": after(30.0, at(PUBLIC)),
    "somewhat-slow": after(0.3, at(PUBLIC)),
    "garbage": lambda asked: b"\xff" * 300,
    "cut-off": lambda asked: at(PUBLIC)(asked)[:-6],
    "another-number": lambda asked: bytes(2) + at("127.0.0.1")(asked)[2:],
    "pointer-loop": lambda asked: asked.reply([record(A, b"\x7f\0\0\1", b"\xc0\xff")], flags=0),
    "too-many-counted": lambda asked: at(PUBLIC)(asked)[:6] + b"\xff\xff" + at(PUBLIC)(asked)[8:],
    "always-over-tcp": lambda asked: asked.reply([], flags=0x0200) if not asked.over_tcp else None,
    "answer-of-another": lambda asked: asked.reply([record(A, b"\x5d\xb8\xd8\x22", wire_name("elsewhere.example"))]),
}


class NameServer:
    """Answers on port 53, over UDP and TCP, each question in a thread of its own."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", 53))
        self._tcp = socket.create_server(("127.0.0.1", 53), backlog=100)
        for run in (self._run_udp, self._run_tcp):
            threading.Thread(target=run, daemon=True).start()

    def _answer(self, packet: bytes, *, over_tcp: bool) -> bytes | None:
        try:
            question = Question(packet, 0, over_tcp=over_tcp)
        except (IndexError, UnicodeDecodeError):
            return None
        question.before = self.asked[question.name]
        self.asked[question.name] += 1
        first = question.name.removesuffix(f".{ZONE}")
        return NAMES.get(first, failing(NXDOMAIN))(question)

    def _run_udp(self) -> None:
        while True:
            packet, sender = self._udp.recvfrom(4096)

            def answer(packet: bytes = packet, sender: tuple[str, int] = sender) -> None:
                if (said := self._answer(packet, over_tcp=False)) is not None:
                    self._udp.sendto(said, sender)

            threading.Thread(target=answer, daemon=True).start()

    def _run_tcp(self) -> None:
        while True:
            connection, _ = self._tcp.accept()
            threading.Thread(target=self._serve_tcp, args=(connection,), daemon=True).start()

    def _serve_tcp(self, connection: socket.socket) -> None:
        with suppress(OSError, struct.error), connection:
            while size := connection.recv(2):
                (length,) = struct.unpack("!H", size)
                said = self._answer(connection.recv(length, socket.MSG_WAITALL), over_tcp=True)
                if said is None:
                    return
                connection.sendall(struct.pack("!H", len(said)) + said)


class PageServer:
    """Answers every request with a page, at every address; notes at which."""

    def __init__(self) -> None:
        self.addresses: Counter[str] = Counter()
        for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            listener = socket.create_server((host, 80), family=family, backlog=200)
            threading.Thread(target=self._run, args=(listener,), daemon=True).start()

    def _run(self, listener: socket.socket) -> None:
        while True:
            connection, _ = listener.accept()
            self.addresses[connection.getsockname()[0]] += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            while connection.recv(65_536):
                connection.sendall(PAGE)


def make_network() -> None:
    for command in (
        "ip link set lo up",
        f"ip addr add {PUBLIC}/32 dev lo",
        f"ip addr add {OTHER_PUBLIC}/128 dev lo nodad",
        "ip addr add 10.0.0.1/32 dev lo",
        "ip addr add 169.254.169.254/32 dev lo",
    ):
        subprocess.run(command.split(), check=True)
    with tempfile.TemporaryDirectory() as place:
        settings = Path(place) / "resolv.conf"
        settings.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        subprocess.run(["mount", "--bind", str(settings), "/etc/resolv.conf"], check=True)


async def fetch_all() -> dict[str, list[tuple[str, str, str]]]:
    from lycosa.vocabulary.clock import WallClock
    from lycosa.vocabulary.records import Url
    from lycosa.web.http import LiveWeb

    web = LiveWeb(user_agent="lycosa/1", clock=WallClock(), timeout=TIMEOUT)

    async def fetched(name: str) -> tuple[str, list[tuple[str, str, str]]]:
        found = []
        for _ in range(3 if name == "rebinding" else 1):
            fetch = await web.fetch(Url(f"http://{name}.{ZONE}/"))
            found.append((str(fetch.outcome), fetch.detail, fetch.address))
            if name == "rebinding":
                web._transfers.close()  # so that the name is asked for again
                web._transfers = type(web._transfers)(**web._transfers._new_transfer.keywords)
        return name, found

    rebound = await fetched("rebinding")
    found = await asyncio.gather(*(fetched(name) for name in NAMES if name != "rebinding"))
    await web.close()
    return dict([rebound, *found])


def main() -> None:
    make_network()
    server, pages = NameServer(), PageServer()
    outcomes = asyncio.run(fetch_all())
    sys.stdout.write(json.dumps({"outcomes": outcomes, "addresses": pages.addresses, "asked": server.asked}))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
