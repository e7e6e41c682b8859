"""Answers that servers on the open Web give by malice, mistake or age, each with the outcomes that are right for it.

Every behaviour has a host of its own, NAME.example, whose front page it is; `robots-` behaviours answer for robots.txt
and have an ordinary front page.
"""

import gzip
import socket
import time
import zlib
from collections.abc import Callable
from functools import cache

import brotli
import zstandard
from msgspec import Struct

from web.loopback import Behaviour, LoopbackServer, response
from worlds import html

OK, MOVED, GONE, FAILED, BUSY = "ok", "moved", "gone", "failed", "busy"
FORBIDDEN, REFUSED, UNWANTED = "forbidden", "refused", "unwanted"
PAGE = b"<title>Page</title><p>honey bee hive</p>"
LARGE = 50_000_000  # bytes, far beyond what a crawl shall hold


class Hostile(Struct, frozen=True):
    """What a host answers, and how the fetch of its front page may end."""

    answer: bytes | Behaviour
    outcomes: frozenset[str]
    robots: bytes | Behaviour = b""  # empty for 404, as for the other
    sitemap: bytes | Behaviour = b""


Answer = tuple[bytes | Behaviour, str]  # with the outcomes it may have, separated by blanks


# ------------------------------------------------------------ what a connection can do


def raw(*lines: bytes, body: bytes = PAGE) -> bytes:
    """A response written by hand."""
    return b"\r\n".join([*lines, b"", b""]) + body


def ok(*lines: bytes, body: bytes = PAGE) -> bytes:
    return raw(b"HTTP/1.1 200 OK", b"Content-Type: text/html", *lines, body=body)


def then_close(data: bytes) -> Behaviour:
    return lambda connection: connection.sendall(data)


def endlessly(first: bytes, more: bytes, pause: float = 0.0) -> Behaviour:
    def send(connection: socket.socket) -> None:
        connection.sendall(first)
        while True:
            connection.sendall(more)
            time.sleep(pause)

    return send


def silence(connection: socket.socket) -> None:
    connection.recv(1)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def then_silence(first: bytes) -> Behaviour:
    def send(connection: socket.socket) -> None:
        connection.sendall(first)
        silence(connection)

    return send


def more_than_asked(connection: socket.socket) -> None:
    """A second response that nobody asked for, on a connection that is kept."""
    connection.sendall(response(PAGE) + response(b"<title>Forged</title><p>not what was asked for"))
    silence(connection)


def moved(to: bytes, status: bytes = b"301 Moved Permanently") -> bytes:
    return raw(b"HTTP/1.1 " + status, b"Location: " + to, b"Content-Length: 0", body=b"")


def bomb(compress: Callable[[bytes], bytes], coding: str) -> bytes:
    return response(compress(b"<title>Bomb</title>" + bytes(LARGE)), Content_Encoding=coding)


def deflated_raw(data: bytes) -> bytes:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeeze.compress(data) + squeeze.flush()


def many_times(layer: Callable[[bytes], bytes], times: int, data: bytes) -> bytes:
    for _ in range(times):
        data = layer(data)
    return data


def coded(body: bytes, coding: str) -> bytes:
    return response(body, Content_Encoding=coding)


def typed(content_type: str, body: bytes = PAGE) -> bytes:
    return response(body, Content_Type=content_type)


def sized(length: bytes) -> bytes:
    return ok(b"Content-Length: " + length)


def chunked(body: bytes, *more: bytes) -> bytes:
    return ok(b"Transfer-Encoding: chunked", *more, body=body)


CHUNK = b"%x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE)


# ------------------------------------------------------------ the catalogue


def status_lines() -> dict[str, Answer]:
    """The first line of a response, and what it means."""
    made: dict[str, Answer] = {}
    for number, outcomes in {
        201: UNWANTED,
        203: OK,
        204: UNWANTED,
        205: UNWANTED,
        206: UNWANTED,
        300: UNWANTED,
        304: FAILED,
        305: UNWANTED,
        306: UNWANTED,
        400: GONE,
        402: GONE,
        405: GONE,
        407: GONE,
        408: GONE,
        410: GONE,
        418: GONE,
        421: GONE,
        425: GONE,
        429: BUSY,
        451: GONE,
        500: FAILED,
        501: FAILED,
        503: BUSY,
        511: FAILED,
        599: FAILED,
        600: FAILED,
        777: FAILED,
        999: FAILED,
    }.items():
        made[f"status-{number}"] = (response(PAGE, f"{number} Whatever"), outcomes)
    for name, line, outcomes in (
        ("0", b"HTTP/1.1 000 Nothing", FAILED),
        ("negative", b"HTTP/1.1 -1 Below", FAILED),
        ("long", b"HTTP/1.1 2000 Too many", "failed ok"),
        ("letters", b"HTTP/1.1 abc OK", FAILED),
        ("bare", b"HTTP/1.1 200", OK),
        ("empty", b"", FAILED),
        ("old", b"HTTP/1.0 200 OK", OK),
        ("future", b"HTTP/9.9 200 OK", "failed ok"),
        ("http2", b"HTTP/2 200 OK", "failed ok"),
        ("icy", b"ICY 200 OK", "failed ok"),
        ("lower-case", b"http/1.1 200 ok", "failed ok"),
        ("controls", b"HTTP/1.1 200 \x1b[31m\x00\x07red", "failed ok"),
        ("long-reason", b"HTTP/1.1 200 " + b"y" * 60_000, "failed ok"),
        ("smtp", b"220 smtp.example ESMTP ready", FAILED),
        ("ssh", b"SSH-2.0-OpenSSH_9.2", FAILED),
        ("tls", b"\x16\x03\x01\x02\x00\x01\x00", FAILED),
    ):
        made[f"line-{name}"] = (then_close(raw(line, b"Content-Type: text/html")), outcomes)
    only_100 = b"HTTP/1.1 100 Continue\r\n\r\n"
    made["line-100-alone"] = (then_close(only_100), FAILED)
    made["line-100-endless"] = (endlessly(b"", only_100 * 100), FAILED)
    made["line-100-before"] = (only_100 * 5 + response(PAGE), OK)
    made["line-101"] = (then_close(raw(b"HTTP/1.1 101 Switching Protocols", b"Upgrade: websocket")), FAILED)
    made["line-103"] = (b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n" + response(PAGE), OK)
    return made


def headers() -> dict[str, Answer]:
    """Headers that are too many, too long, or none."""
    lines = {
        "no-colon": (b"This is no header",),
        "no-name": (b": no name",),
        "nul": (b"X-Nul: a\0b",),
        "eight-bit": (b"X-Latin: caf\xe9\xff",),
        "folded": (b"X-Folded: one", b" two", b"\tthree"),
        "control": (b"X-Colour: \x1b[2J\x1b]0;title\x07",),
        "cr": (b"X-Cr: a\rX-Injected: b",),
        "blank-before-colon": (b"X-A : b",),
        "many": tuple(b"X-%d: y" % number for number in range(4_000)),
        "cookies": (b"Set-Cookie: a=" + b"b" * 3_000,) * 25,
        "two-types": (b"Content-Type: application/pdf",),
        "link": (b"Link: <http://127.0.0.1/>; rel=canonical",) * 50,
        "refresh": (b"Refresh: 0; url=file:///etc/passwd",),
        "refresh-away": (b"Refresh: 0;url=http://10.0.0.1/",),
        "robots-odd": (b"X-Robots-Tag: " + b"a:," * 5_000,),
        "charset-blanks": (b"X: y",),
        "etag": (b'ETag: "' + b"e" * 60_000 + b'"',),
        "last-modified": (b"Last-Modified: " + b"9" * 300,),
        "date": (b"Date: Thu, 99 Foo 99999 99:99:99 GMT",),
        "age": (b"Age: -99999999999999999999",),
    }
    length = b"Content-Length: %d" % len(PAGE)
    made: dict[str, Answer] = {
        f"header-{name}": (ok(*more, length), "ok failed unwanted") for name, more in lines.items()
    }
    made["header-one-line"] = (ok(b"X-Long: " + b"x" * 95_000, length), "ok failed")
    made["header-too-long"] = (then_close(ok(b"X-Long: " + b"x" * 400_000, length)), FAILED)
    made["header-endless"] = (endlessly(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 65_536), FAILED)
    made["header-endlessly-many"] = (endlessly(b"HTTP/1.1 200 OK\r\n", b"X-More: " + b"x" * 8_000 + b"\r\n"), FAILED)
    made["header-drip"] = (endlessly(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.05), FAILED)
    made["header-bare-lf"] = (ok(length).replace(b"\r\n", b"\n"), "ok failed")
    made["header-only-cr"] = (then_close(ok(length).replace(b"\r\n", b"\r")), FAILED)
    made["header-none"] = (then_close(b"HTTP/1.1 200 OK\r\n\r\n" + PAGE), OK)
    made["header-cut"] = (then_close(b"HTTP/1.1 200 OK\r\nContent-Ty"), FAILED)
    return made


def lengths() -> dict[str, Answer]:
    """What is said of the length of a body, and what comes."""
    short = b"%d" % len(PAGE)
    said = {
        "negative": b"-1",
        "superscript": "²³".encode(),
        "superscript-latin": b"\xb2\xb3",
        "huge": b"9" * 30,
        "hex": b"0x10",
        "plus": b"+" + short,
        "blank": b"",
        "words": b"many",
        "list": short + b", " + short,
        "list-differs": short + b", 7",
        "float": b"12.5",
        "padded": b"0" * 50 + short,
        "beyond": b"99999",
        "below": b"5",
    }
    made: dict[str, Answer] = {
        f"length-{name}": (then_close(sized(length)), "ok failed") for name, length in said.items()
    }
    made["length-twice"] = (then_close(ok(b"Content-Length: 5", b"Content-Length: " + short)), "ok failed")
    made["length-error"] = (then_close(raw(b"HTTP/1.1 404 Not Found", "Content-Length: ²".encode())), "gone failed")
    made["length-and-chunks"] = (then_close(chunked(CHUNK, b"Content-Length: 3")), "ok failed")
    made["body-endless"] = (endlessly(ok(), PAGE * 1_000), OK)
    made["body-drip"] = (endlessly(ok(b"Content-Length: 100000", body=PAGE), b"x", 0.05), OK)
    made["body-stalls"] = (then_silence(ok(b"Content-Length: 100000")), OK)
    made["body-cut"] = (then_close(ok(b"Content-Length: 100000")), "ok failed")
    made["body-empty"] = (response(b""), OK)
    made["body-never"] = (then_silence(ok(b"Content-Length: 100", body=b"")), FAILED)
    made["body-of-error-endless"] = (endlessly(raw(b"HTTP/1.1 404 Not Found"), PAGE * 1_000), GONE)
    made["nothing"] = (silence, FAILED)
    made["closed"] = (then_close(b""), FAILED)
    made["reset"] = (reset, FAILED)
    made["more-than-asked"] = (more_than_asked, OK)
    return made


def chunks() -> dict[str, Answer]:
    """Bodies in chunks."""
    bodies = {
        "bad": b"ZZZ\r\nno chunk\r\n",
        "negative": b"-5\r\nhello\r\n0\r\n\r\n",
        "huge": b"FFFFFFFFFFFFFFFFFFFF\r\n" + PAGE,
        "extension": b"5;" + b"x" * 50_000 + b"\r\nhello\r\n0\r\n\r\n",
        "no-end": b"5\r\nhello\r\n",
        "blank": b"\r\n\r\n",
        "longer": b"2\r\nhello\r\n0\r\n\r\n",
        "trailer": b"5\r\nhello\r\n0\r\n" + b"X-Trailer: y\r\n" * 500 + b"\r\n",
        "ones": b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n",
    }
    made: dict[str, Answer] = {
        f"chunks-{name}": (then_close(chunked(body)), "ok failed") for name, body in bodies.items()
    }
    made["chunks-good"] = (chunked(CHUNK), OK)
    made["chunks-endless"] = (endlessly(chunked(b""), b"5\r\nhello\r\n" * 1_000), OK)
    made["chunks-trailer-endless"] = (
        endlessly(chunked(b"5\r\nhello\r\n0\r\n"), b"X-Trailer: yyyy\r\n" * 500),
        "ok failed",
    )
    made["chunks-drip"] = (endlessly(chunked(b""), b"1\r\nx\r\n", 0.05), OK)
    made["chunks-unknown-coding"] = (then_close(ok(b"Transfer-Encoding: snappy")), "ok failed")
    made["chunks-twice"] = (then_close(ok(b"Transfer-Encoding: chunked, chunked", body=CHUNK)), "ok failed")
    return made


def encodings() -> dict[str, Answer]:
    """Compressed bodies and charsets."""
    zstd = zstandard.ZstdCompressor(level=3).compress
    wide = zstandard.ZstdCompressor(compression_params=zstandard.ZstdCompressionParameters(window_log=27)).compress
    made: dict[str, Answer] = {
        "bomb-gzip": (bomb(gzip.compress, "gzip"), OK),
        "bomb-deflate": (bomb(zlib.compress, "deflate"), OK),
        "bomb-brotli": (bomb(lambda data: brotli.compress(data, quality=4), "br"), OK),
        "bomb-zstd": (bomb(zstd, "zstd"), OK),
        "bomb-twice": (coded(many_times(gzip.compress, 2, bytes(LARGE)), "gzip, gzip"), OK),
        "bomb-of-ten": (coded(many_times(gzip.compress, 10, PAGE), ", ".join(["gzip"] * 10)), OK),
        "zstd-wide-window": (coded(wide(PAGE * 10), "zstd"), "ok failed"),
        "gzip-cut": (coded(gzip.compress(PAGE * 50)[:-20], "gzip"), OK),
        "gzip-garbage": (coded(gzip.compress(PAGE) + b"garbage" * 9, "gzip"), OK),
        "gzip-members": (coded(gzip.compress(PAGE) * 50, "gzip"), OK),
        "gzip-many-empty": (coded(gzip.compress(b"") * 2_000 + gzip.compress(PAGE), "gzip"), "ok unwanted failed"),
        "gzip-bad-sum": (coded(gzip.compress(PAGE)[:-8] + bytes(8), "gzip"), "ok failed"),
        "gzip-name": (coded(b"\x1f\x8b\x08\x08\0\0\0\0\0\3" + b"n" * 50_000, "gzip"), "ok failed unwanted"),
        "gzip-not": (coded(PAGE, "gzip"), "ok failed unwanted"),
        "deflate-raw": (coded(deflated_raw(PAGE), "deflate"), OK),
        "brotli-cut": (coded(brotli.compress(PAGE * 50)[:-9], "br"), "ok failed unwanted"),
        "brotli-not": (coded(PAGE, "br"), "ok failed unwanted"),
        "zstd-not": (coded(PAGE, "zstd"), "ok failed unwanted"),
        "coding-unknown": (coded(PAGE, "sdch"), "ok failed unwanted"),
        "coding-thousand": (coded(PAGE, ", ".join(["identity"] * 1_000)), "ok failed unwanted"),
        "coding-compress": (coded(b"\x1f\x9d\x90" + PAGE, "compress"), "ok failed unwanted"),
        "charset-blanks": (typed("text/html; charset=" + " " * 90_000 + ";"), "ok failed"),
        "charset-blanks-few": (typed("text/html; charset=" + " " * 20_000 + ";"), "ok failed"),
        "charset-equals": (typed("text/html; " + "charset=" * 8_000), "ok failed"),
        "charset-unknown": (typed("text/html; charset=klingon"), OK),
        "charset-utf7": (typed("text/html; charset=utf-7", b"+ADw-title+AD4-x"), OK),
        "charset-utf16-odd": (typed("text/html; charset=utf-16", b"\xff\xfe" + "<p>x".encode("utf-16-le") + b"\0"), OK),
        "charset-utf32": (typed("text/html; charset=utf-32", "<p>honey".encode("utf-32")), OK),
        "charset-codec": (typed("text/html; charset=zip"), OK),
        "charset-path": (typed("text/html; charset=../../etc/passwd"), OK),
        "charset-idna": (typed("text/html; charset=punycode", b"a-" * 2_000), OK),
        "charset-lies": (typed("text/html; charset=utf-8", b"\xff\xfe\xfd" * 1_000), OK),
        "charset-iso2022": (typed("text/html; charset=iso-2022-jp", b"\x1b$B" * 3_000), OK),
        "charset-replacement": (typed("text/html; charset=hz-gb-2312", b"~{<script>~}"), OK),
        "type-none": (response(PAGE, Content_Type=""), "ok unwanted"),
        "type-none-binary": (response(bytes(range(256)) * 400, Content_Type=""), UNWANTED),
        "type-pdf": (typed("application/pdf", b"%PDF-1.7" * 1_000), UNWANTED),
        "type-long": (typed("text/" + "x" * 9_000), UNWANTED),
        "type-mixed-replace": (
            endlessly(
                response(b"", Content_Type="multipart/x-mixed-replace; boundary=b", Content_Length=""), b"--b\r\n\r\nx"
            ),
            UNWANTED,
        ),
        "type-event-stream": (
            endlessly(response(b"", Content_Type="text/event-stream", Content_Length=""), b"data: x\n\n"),
            UNWANTED,
        ),
        "type-video-endless": (
            endlessly(response(b"", Content_Type="video/mp4", Content_Length=""), bytes(65_536)),
            UNWANTED,
        ),
        "type-html-binary": (typed("text/html", bytes(range(256)) * 1_000), OK),
    }
    return made


PRIVATE = {
    "loopback": "http://127.0.0.1:1/",
    "short": "http://127.1/",
    "decimal": "http://2130706433/",
    "hex": "http://0x7f.0x0.0x0.0x1/",
    "octal": "http://0177.0.0.1/",
    "zero": "http://0/",
    "zeros": "http://0.0.0.0/",
    "six": "http://[::1]/",
    "six-any": "http://[::]/",
    "mapped": "http://[::ffff:127.0.0.1]/",
    "mapped-hex": "http://[::ffff:7f00:1]/",
    "nat64": "http://[64:ff9b::7f00:1]/",
    "six-to-four": "http://[2002:7f00:1::]/",
    "localhost": "http://localhost/",
    "localhost-dot": "http://localhost./",
    "local-name": "http://foo.localhost/",
    "metadata": "http://169.254.169.254/latest/meta-data/",
    "ten": "http://10.0.0.1/",
    "router": "http://192.168.0.1/",
    "carrier": "http://100.64.0.1/",
    "link-local": "http://[fe80::1]/",
    "unique-local": "http://[fd00::1]/",
    "multicast": "http://224.0.0.1/",
    "broadcast": "http://255.255.255.255/",
    "wide": "http://１２７.０.０.１/",
    "dotted": "http://127。0。0。1/",
    "tls": "https://127.0.0.1:1/",
}
SCHEMES = {
    "file": b"file:///etc/passwd",
    "ftp": b"ftp://127.0.0.1/x",
    "gopher": b"gopher://127.0.0.1:25/_x",
    "dict": b"dict://127.0.0.1:11211/stat",
    "javascript": b"javascript:alert(1)",
    "data": b"data:text/html,<p>x",
    "mailto": b"mailto:a@b.example",
    "ldap": b"ldap://127.0.0.1/",
    "about": b"about:blank",
    "empty": b"",
    "blank": b"   ",
    "only-scheme": b"http://",
    "no-host": b"http:///x",
    "question": b"http://?x",
    "user": b"http://user:secret@user-target.example:99999/",
    "port": b"http://port-target.example:0/",
    "port-huge": b"http://port-target.example:70000/",
    "brackets": b"http://[::1/",
    "percent": b"http://%00.example/",
    "nul": b"http://a\0b.example/",
    "blank-in-host": b"http://a b.example/",
    "eight-bit": b"http://caf\xe9.example\xff/",
    "long": b"/" + b"x" * 80_000,
    "long-host": b"http://" + b"a" * 5_000 + b".example/",
    "dots": b"http://..../",
    "at": b"http://@/",
    "xn": b"http://xn--/",
    "xn-bad": b"http://xn--zzzzzz99999.example/",
}
PLACES = ("no-host", "port", "eight-bit", "long", "long-host", "xn", "xn-bad")  # that a browser would go to


def redirects() -> dict[str, Answer]:
    """Redirects to where nobody should go, or for ever."""
    made: dict[str, Answer] = {}
    for name, target in PRIVATE.items():
        made[f"to-{name}"] = (moved(target.encode()), MOVED if target.isascii() else FAILED)
    for name, place in SCHEMES.items():
        made[f"moved-{name}"] = (moved(place), MOVED if name in PLACES else FAILED)
    made["moved-to-itself"] = (moved(b"/"), MOVED)
    made["moved-fragment"] = (moved(b"/#again"), MOVED)
    made["moved-without-place"] = (raw(b"HTTP/1.1 302 Found", b"Content-Length: 0", body=b""), FAILED)
    made["moved-twice"] = (
        raw(b"HTTP/1.1 302 Found", b"Location: /a", b"Location: /b", b"Content-Length: 0", body=b""),
        "moved failed",
    )
    made["moved-with-body"] = (endlessly(raw(b"HTTP/1.1 302 Found", b"Location: /a"), PAGE * 1_000), MOVED)
    made["moved-by-refresh"] = (response(b"<meta http-equiv=refresh content='0;url=http://127.0.0.1/'><p>x"), OK)
    made["moved-by-refresh-file"] = (response(b"<meta http-equiv=refresh content='0;url=file:///etc/passwd'><p>x"), OK)
    return made


def pages() -> dict[str, bytes]:
    """HTML that is hard to read."""
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    words = b"<p>honey bee hive"
    return {
        "nested": b"<div>" * 50_000 + words,
        "nested-tables": b"<table><tr><td>" * 15_000 + words,
        "nested-fonts": b"<font size=1>" * 20_000 + words,
        "unclosed-comment": words + b"<!--" * 10_000,
        "unclosed-script": words + b"<script>" * 10_000,
        "unclosed-title": b"<title>" * 10_000 + words,
        "unclosed-quote": b'<a href="' * 10_000 + words,
        "half-tag": words + b"<a href=x",
        "many-attributes": b"<p " + b"a=b " * 50_000 + b">" + words,
        "same-attribute": b"<p " + b" ".join(b"a%d" % n for n in range(30_000)) + b">" + words,
        "long-attribute": b'<p title="' + b"x" * 290_000 + b'">',
        "brackets": b"<" * 250_000,
        "ampersands": b"&" * 250_000,
        "references": b"&#x41" * 50_000,
        "huge-reference": b"&#" + b"9" * 200_000 + b";",
        "surrogates": b"&#xD800;&#xDFFF;" * 5_000 + words,
        "nul": bytes(200_000),
        "one-word": b"a" * 290_000,
        "one-line": b"x " * 140_000,
        "long-title": b"<title>" + b"t " * 100_000 + b"</title>",
        "escapes-in-title": b"<title>\x1b[2J\x1b]0;owned\x07\x9b31m</title>" + words,
        "bidi-title": "<title>\u202egnp.exe\u202c\u2066</title>".encode() + words,
        "formula-title": b'<title>=HYPERLINK("http://x")</title>' + words,
        "path-title": b"<title>../../../etc/passwd</title>" + words,
        "script-title": b"<title></title><script>alert(1)</script>" + words,
        "laughs": f'<!DOCTYPE html [<!ENTITY l0 "lol">{laughs}]><p>&l9;'.encode(),
        "external-entity": b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><p>&e;' + words,
        "xml-bomb": b"<?xml version='1.0'?>" + b"<a>" * 50_000,
        "svg": b"<svg>" * 20_000 + words,
        "svg-metas": words + b"<svg><foreignObject><title><b>" + b"<meta " * 45_000,
        "links-of-long-base": b"<base href='/m/"
        + b"b" * 1_900
        + b"/'>"
        + b"".join(b"<a href=%d>x</a>" % n for n in range(4_900)),
        "math": b"<math><mi>" * 20_000 + words,
        "templates": b"<template>" * 20_000 + words,
        "selects": b"<select><option>" * 20_000 + words,
        "frames": b"<frameset>" + b"<frame src=/f>" * 20_000,
        "base-script": b"<base href='javascript:alert(1)'><a href=x>y</a>" + words,
        "base-data": b"<base href='data:text/html,x'><a href=x>y</a>" + words,
        "base-long": b"<base href='/" + b"b" * 100_000 + b"/'>" + b"<a href=x>y</a>" * 1_000,
        "base-private": b"<base href='http://127.0.0.1/'><a href=x>y</a>" + words,
        "canonical-private": b"<link rel=canonical href='http://127.0.0.1/'>" + words,
        "canonical-other": b"<link rel=canonical href='http://good.example/1'>" + words,
        "canonical-file": b"<link rel=canonical href='file:///etc/passwd'>" + words,
        "links-odd": b"".join(
            b"<a href='%s'>x</a>" % place for place in (*SCHEMES.values(), *(p.encode() for p in PRIVATE.values()))
        )
        + words,
        "links-same": b"<a href='/#%d'>x</a>" * 9_000,
        "link-long": b"<a href='/" + b"l" * 280_000 + b"'>x</a>" + words,
        "links-nested": b"<a href=/>" * 20_000 + words,
        "link-anchor": b"<a href=/>" + b"anchor " * 30_000 + b"</a>",
        "lang-long": b"<html lang='" + b"x" * 100_000 + b"'>" + words,
        "rel-long": b"<a href=/ rel='" + b"x " * 50_000 + b"'>x</a>" + words,
        "meta-many": b"<meta name=robots content=index>" * 8_000 + words,
        "robots-long": b"<meta name=robots content='" + b"a," * 50_000 + b"'>" + words,
        "utf16-bom": b"\xff\xfe" + "<p>honey".encode("utf-16-le"),
        "utf16-bom-odd": b"\xfe\xff\0<\0p\0",
        "bom-many": b"\xef\xbb\xbf" * 1_000 + words,
        "invalid-utf8": b"\xc3\x28\xa0\xa1" * 20_000 + words,
        "overlong": b"\xc0\xae\xc0\xae/" * 10_000 + words,
        "meta-charset-many": b"<meta charset=utf-7>" * 5_000 + words,
        "meta-charset-blanks": b"<meta charset=" + b" " * 100_000 + b">" + words,
        "combining": ("a" + "\u0301" * 50_000).encode(),
        "unspaced": "\u4e2d".encode() * 60_000,
        "emoji": "\U0001f469\u200d".encode() * 20_000,
        "zero-width": "\u200b".encode() * 60_000,
        "controls": bytes(range(1, 32)) * 2_000 + words,
        "mark": b"\x02" * 50_000 + words,
        "mark-references": b"&#2;&#x2;" * 10_000 + words,
        "crlf": b"\r\n" * 100_000 + words,
        "tabs": b"\t" * 200_000 + words,
        "plaintext": b"<plaintext>" * 10_000,
        "list-items": b"<li>a" * 30_000,
        "definition": b"<dd><dt>" * 20_000,
        "rubies": b"<ruby><rt>" * 20_000,
        "forms": b"<form><input name=x>" * 9_000,
        "noscripts": b"<noscript><p>" * 9_000,
        "iframes": b"<iframe srcdoc='<p>x'>" * 9_000,
        "objects": b"<object><param>" * 9_000,
    }


def robots() -> dict[str, Answer]:
    """Answers for robots.txt, and how the fetch of a page of that host may end."""

    def text(lines: bytes) -> bytes:
        return response(lines, Content_Type="text/plain")

    wild = b"User-agent: *\n" + b"".join(b"Disallow: /*a*b*c%d*$\n" % number for number in range(15_000))
    forbid = b"User-agent: *\nDisallow: /\n"
    return {
        "robots-500": (response(b"", "500 Broken"), BUSY),
        "robots-503": (response(b"", "503 Busy"), BUSY),
        "robots-429": (response(b"", "429 Slow"), BUSY),
        "robots-silent": (silence, BUSY),
        "robots-endless": (
            endlessly(response(b"User-agent: *\n", Content_Length=""), b"Disallow: /x\n" * 1_000),
            FORBIDDEN,  # past some number of rules, all that none allows
        ),
        "robots-drip": (endlessly(response(b"", Content_Length="999"), b"#", 0.05), BUSY),
        "robots-closed": (then_close(b""), BUSY),
        "robots-not-http": (then_close(b"220 hello\r\n"), BUSY),
        "robots-401": (response(b"", "401 Denied"), OK),
        "robots-403": (response(b"", "403 Denied"), OK),
        "robots-410": (response(b"", "410 Gone"), OK),
        "robots-204": (response(b"", "204 None"), OK),
        "robots-202": (response(b"", "202 Accepted"), BUSY),
        "robots-206": (response(b"User-agent: *\nAllow: /\n", "206 Partial Content"), BUSY),
        "robots-300": (response(b"", "300 Multiple Choices"), BUSY),
        "robots-blank-lines": (text(b"\n" * 500_000), OK),
        "robots-other-lines": (text(b"Request-rate: 1/1\n" * 28_000), OK),
        "robots-sitemap-lines": (text(b"Sitemap: /s\n" * 40_000), OK),
        "robots-html": (response(html("Not found", "no robots here")), OK),
        "robots-binary": (text(bytes(range(256)) * 500), OK),
        "robots-nul": (text(bytes(100_000)), OK),
        "robots-bomb": (bomb(gzip.compress, "gzip"), OK),
        "robots-loop": (moved(b"/robots.txt"), OK),
        "robots-to-file": (moved(b"file:///etc/passwd"), BUSY),
        "robots-to-private": (moved(b"http://127.0.0.1:1/robots.txt"), BUSY),
        "robots-to-other": (moved(b"http://good.example/robots.txt"), OK),
        "robots-to-long": (moved(b"/" + b"r" * 50_000), OK),
        "robots-wild": (text(wild), FORBIDDEN),
        "robots-stars": (text(b"User-agent: *\nDisallow: /" + b"*a" * 20_000 + b"b$\n"), OK),
        "robots-one-line": (text(b"Disallow: /" + b"x" * 400_000), OK),
        "robots-agents": (text(b"User-agent: a\n" * 30_000 + b"Disallow: /\n"), OK),
        "robots-groups": (text(b"User-agent: *\nAllow: /\n" * 20_000), OK),
        "robots-blanks": (text(b"user" + b" " * 100_000 + b"agent: *\nDisallow: /\n"), FORBIDDEN),
        "robots-forbids": (text(forbid), FORBIDDEN),
        "robots-forbids-bom": (text(b"\xef\xbb\xbf" + forbid), FORBIDDEN),
        "robots-forbids-cr": (text(forbid.replace(b"\n", b"\r")), FORBIDDEN),
        "robots-forbids-us": (text(b"User-agent: Lycosa\nDisallow: /\n"), FORBIDDEN),
        "robots-forbids-version": (text(b"user-agent:lycosa/1.0\ndisallow:/\n"), FORBIDDEN),
        "robots-forbids-case": (text(forbid.upper().replace(b"*", b"LYCOSA")), FORBIDDEN),
        "robots-forbids-comment": (text(b"# x\nUser-agent: * # all\nDisallow: / # everything\n"), FORBIDDEN),
        "robots-forbids-late": (text(b"# padding\n" * 20_000 + forbid), FORBIDDEN),
        "robots-forbids-utf16": (text(forbid.decode().encode("utf-16")), FORBIDDEN),
        "robots-delay-huge": (text(b"User-agent: *\nCrawl-delay: 1e308\n"), OK),
        "robots-delay-nan": (text(b"User-agent: *\nCrawl-delay: nan\n"), OK),
        "robots-delay-negative": (text(b"User-agent: *\nCrawl-delay: -5\n"), OK),
        "robots-delay-words": (text(b"User-agent: *\nCrawl-delay: soon\n"), OK),
        "robots-delay-superscript": (text("User-agent: *\nCrawl-delay: ²\n".encode()), OK),
        "robots-sitemaps": (text(b"Sitemap: file:///etc/passwd\nSitemap: http://127.0.0.1/\n" * 500), OK),
        "robots-percent": (text(b"User-agent: *\nDisallow: /%zz%\nDisallow: %\n"), OK),
        "robots-rate": (text(b"User-agent: *\nRequest-rate: 1/0\nVisit-time: x-y\n"), OK),
        "robots-pdf": (response(b"%PDF", Content_Type="application/pdf"), OK),
    }


def sitemaps() -> dict[str, bytes | Behaviour]:
    """Answers for /sitemap.xml; where one can be read at all, it lists /listed of its host."""

    def xml(body: bytes, **headers: str) -> bytes:
        return response(b"<?xml version='1.0'?>" + body, Content_Type="application/xml", **headers)

    def listing(*places: bytes) -> bytes:
        return b"<urlset>" + b"".join(b"<url><loc>%s</loc></url>" % place for place in places) + b"</urlset>"

    laughs = b"".join(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10))
    index = b"<sitemapindex>" + b"<sitemap><loc>/sitemap.xml?%d</loc></sitemap>" * 1_000 + b"</sitemapindex>"
    return {
        "sitemap-good": xml(listing(b"/listed")),
        "sitemap-laughs": xml(b'<!DOCTYPE x [<!ENTITY l0 "lol">' + laughs + b"]>" + listing(b"/&l9;")),
        "sitemap-external": xml(b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + listing(b"&e;")),
        "sitemap-nested": xml(b"<url>" * 100_000),
        "sitemap-index-of-itself": xml(b"<sitemapindex><sitemap><loc>/sitemap.xml</loc></sitemap></sitemapindex>"),
        "sitemap-index-of-many": xml(index),
        "sitemap-of-strangers": xml(
            listing(b"http://127.0.0.1/", b"file:///etc/passwd", b"javascript:x", b"http://[::1]/")
        ),
        "sitemap-long": xml(listing(b"/" + b"x" * 900_000)),
        "sitemap-many": xml(listing(*(b"/%d" % number for number in range(20_000)))),
        "sitemap-bomb": response(gzip.compress(bytes(LARGE)), Content_Type="application/gzip"),
        "sitemap-text": response(
            b"http://sitemap-text.example/listed\njavascript:alert(1)\n" + bytes(1_000), Content_Type="text/plain"
        ),
        "sitemap-broken": xml(b"<urlset><url><loc>/listed</loc></url><url>"),
        "sitemap-encoding": response(
            b"<?xml version='1.0' encoding='klingon'?>" + listing(b"/x"), Content_Type="application/xml"
        ),
        "sitemap-utf16": response(listing(b"/listed").decode().encode("utf-16"), Content_Type="application/xml"),
        "sitemap-silent": silence,
        "sitemap-endless": endlessly(response(b"<urlset>", Content_Length=""), b"<url><loc>/x</loc></url>" * 1_000),
        "sitemap-loop": moved(b"/sitemap.xml"),
        "sitemap-to-private": moved(b"http://127.0.0.1:1/"),
        "sitemap-html": response(html("No sitemap", "here")),
        "sitemap-binary": response(bytes(range(256)) * 1_000, Content_Type="application/octet-stream"),
    }


@cache
def catalogue() -> dict[str, Hostile]:
    """Every behaviour by its name, which is the first label of its host; its bombs take seconds to make."""
    made: dict[str, Hostile] = {}
    for group in (status_lines(), headers(), lengths(), chunks(), encodings(), redirects()):
        made |= {name: Hostile(answer, frozenset(outcomes.split())) for name, (answer, outcomes) in group.items()}
    for name, page in pages().items():
        made[f"page-{name}"] = Hostile(response(page), frozenset([OK]))
    front = response(html("Behind robots.txt", "honey bee hive"))
    for name, (answer, outcomes) in robots().items():
        made[name] = Hostile(front, frozenset(outcomes.split()), robots=answer)
    for name, sitemap in sitemaps().items():
        made[name] = Hostile(response(html("Has a sitemap", "honey bee hive")), frozenset([OK]), sitemap=sitemap)
    return made


# ------------------------------------------------------------ the server


class HostileServer(LoopbackServer):
    """Serves every host of a catalogue, and the ordinary pages of all others."""

    def __init__(self, hosts: dict[str, Hostile], ordinary: dict[str, bytes]):
        super().__init__({})
        self._hosts = hosts
        self._ordinary = ordinary  # by URL

    def answer_to(self, head: bytes) -> bytes | Behaviour:
        path = head.split(b" ", 2)[1].decode("latin-1")
        host = next(
            (line[5:].strip().decode("latin-1") for line in head.split(b"\r\n") if line.lower().startswith(b"host:")),
            "",
        )
        hostile = self._hosts.get(host.partition(".")[0])
        missing = response(b"no such page", "404 Not Found")
        if hostile is None:
            return self._ordinary.get(f"http://{host}{path}", missing)
        if path == "/robots.txt":
            named = f"Sitemap: http://{host}/sitemap.xml\n".encode() if hostile.sitemap else b""
            return hostile.robots or (response(named, Content_Type="text/plain") if named else missing)
        if path.startswith("/sitemap.xml"):
            return hostile.sitemap or missing
        return hostile.answer if path in ("/", "/listed") else missing


# ------------------------------------------------------------ TLS


def _instead(behaviour: Behaviour) -> LoopbackServer:
    """A server that shows a behaviour to each connection before anything was asked."""

    def wrap(connection: socket.socket) -> socket.socket:
        behaviour(connection)
        raise ConnectionAbortedError

    return LoopbackServer({}, wrap=wrap)


def tls_servers() -> dict[str, LoopbackServer]:
    """What a server can do where a handshake is expected."""
    return {
        "silent": _instead(silence),
        "closed": _instead(then_close(b"")),
        "reset": _instead(reset),
        "plain": _instead(then_close(response(PAGE))),
        "garbage": _instead(then_close(bytes(range(256)) * 100)),
        "alert": _instead(then_close(b"\x15\x03\x03\x00\x02\x02\x28")),
        "huge-record": _instead(endlessly(b"\x16\x03\x03\xff\xff", bytes(65_536))),
        "old": _instead(then_close(b"\x16\x03\x00\x00\x2a\x02\x00\x00\x26\x03\x00" + bytes(35))),
        "half-hello": _instead(then_silence(b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03")),
        "drip": _instead(endlessly(b"\x16\x03\x03\x40\x00", b"\x02", 0.05)),
    }
