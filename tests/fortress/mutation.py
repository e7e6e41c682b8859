"""Damaged inputs, made from whole ones as files are damaged in the wild, and by people."""

from collections.abc import Sequence
from random import Random

INTERESTING = (
    b"\0",
    b"\xff",
    b"\x7f",
    b"\n",
    b"\r\n",
    b" " * 50,
    b"<",
    b">",
    b"</",
    b"&",
    b"&#",
    b'"',
    b"'",
    b"=",
    b";",
    b",",
    b":",
    b"/",
    b"..",
    b"%",
    b"%00",
    b"\\",
    b"-1",
    b"0",
    b"9" * 30,
    b"9" * 5_000,
    b"1e309",
    b"nan",
    b"null",
    b"true",
    b"[",
    b"{",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98\x80",
    b"\xc2\xb2",
    b"\xe2\x80\xae",
    b"\x1b[2J",
    b"http://",
    b"javascript:",
    b"file:///etc/passwd",
    b"127.0.0.1",
    b"charset=",
    b"utf-16",
    b"gzip",
    b"WARC/1.1",
    b"Content-Length: ",
    b"<!--",
    b"<script>",
    b"[" * 3_000,
)


def mutated(seeds: Sequence[bytes], random: Random, *, most: int = 20_000) -> bytes:
    """One of the seeds with up to eight changes, no longer than `most` bytes."""
    data = bytearray(random.choice(seeds))
    for _ in range(random.randint(1, 8)):
        at = random.randrange(len(data) + 1)
        end = min(len(data), at + random.choice((1, 2, 8, 40)))
        change = random.randrange(7)
        if change == 0 and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif change == 1:
            data[at:at] = random.choice(INTERESTING)
        elif change == 2:
            del data[at:end]
        elif change == 3:
            data[at:at] = data[at:end] * random.choice((1, 2, 50))
        elif change == 4:
            data[at:end] = random.randbytes(end - at)
        elif change == 5:
            data[at:end] = random.choice(INTERESTING)
        else:
            other = random.choice(seeds)
            data[at:] = other[random.randrange(len(other) + 1) :]
    return bytes(data[:most])
