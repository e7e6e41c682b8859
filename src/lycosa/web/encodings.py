"""Content encodings (gzip, deflate, br, zstd), decoded up to a limit: no body can expand beyond it."""

import zlib
from collections.abc import Callable, Generator, Iterator
from io import BytesIO

import brotli
import zstandard

MAX_LAYERS = 3  # encodings applied to one body, one after the other
_INPUT_CHUNK = 16_384  # bytes of input given to a decoder at a time
_OUTPUT_CHUNK = 65_536  # bytes of output taken from a decoder at a time
_MAX_MEMBERS = 10_000  # gzip streams, one after the other, in one body
_ZSTD_WINDOW = 1 << 23  # bytes; what RFC 9659 allows a sender of Content-Encoding: zstd

Chunks = Iterator[bytes]


def decoded(body: bytes, content_encoding: str, limit: int) -> tuple[bytes, bool]:
    """The first `limit` bytes of the content, and whether there is more; damaged data is decoded as far as possible."""
    layers = [name.strip().lower() for name in content_encoding.split(",", MAX_LAYERS)] if content_encoding else []
    if len(layers) > MAX_LAYERS:
        return b"", False
    is_truncated = False
    for name in reversed(layers):
        decode = _DECODERS.get(name)
        if decode is not None:  # other names ("identity", "utf-8") mean no encoding
            body, is_layer_truncated = _read_limited(decode(body), limit)
            is_truncated = is_truncated or is_layer_truncated
    return (body[:limit], True) if len(body) > limit else (body, is_truncated)


def _read_limited(chunks: Chunks, limit: int) -> tuple[bytes, bool]:
    content: list[bytes] = []
    remaining = limit
    for chunk in chunks:
        if len(chunk) > remaining:
            content.append(chunk[:remaining])
            return b"".join(content), True
        content.append(chunk)
        remaining -= len(chunk)
    return b"".join(content), False


def _gunzip(body: bytes) -> Chunks:
    if not body.startswith(b"\x1f\x8b"):  # declared but not encoded
        yield body
        return
    offset = 0
    for _ in range(_MAX_MEMBERS):
        decoder = zlib.decompressobj(wbits=31)
        offset = yield from _inflated(decoder, body, offset)
        if not decoder.eof or not body.startswith(b"\x1f\x8b", offset):
            return


def _inflate(body: bytes) -> Chunks:
    """The zlib format if its header is valid, else raw deflate, which many servers send under that name."""
    is_zlib = len(body) >= 2 and body[0] & 0x0F == 8 and (body[0] * 256 + body[1]) % 31 == 0
    yield from _inflated(zlib.decompressobj(wbits=15 if is_zlib else -15), body, 0)


def _inflated(decoder: "zlib._Decompress", body: bytes, offset: int) -> Generator[bytes, None, int]:
    """Yields the content of the stream that begins at `offset`; returns the offset of its end."""
    while offset < len(body) and not decoder.eof:
        data = body[offset : offset + _INPUT_CHUNK]
        offset += len(data)
        while True:
            try:
                chunk = decoder.decompress(data, _OUTPUT_CHUNK)
            except zlib.error:
                return offset
            if chunk:
                yield chunk
            data = decoder.unconsumed_tail
            if decoder.eof or not (data or len(chunk) == _OUTPUT_CHUNK):
                break
    return offset - len(decoder.unused_data)


def _unbrotli(body: bytes) -> Chunks:
    decoder = brotli.Decompressor()
    try:
        chunk = decoder.process(body, output_buffer_limit=_OUTPUT_CHUNK)
        while chunk:
            yield chunk
            chunk = decoder.process(b"", output_buffer_limit=_OUTPUT_CHUNK) if not decoder.is_finished() else b""
    except brotli.error:
        return


def _unzstd(body: bytes) -> Chunks:
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    with decoder.stream_reader(BytesIO(body), read_size=_INPUT_CHUNK, read_across_frames=True) as reader:
        try:
            while chunk := reader.read1(_OUTPUT_CHUNK):
                yield chunk
        except zstandard.ZstdError:
            return


_DECODERS: dict[str, Callable[[bytes], Chunks]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
