"""Content encodings (gzip, deflate, br, zstd), decoded up to a limit: no body can expand beyond it."""

import zlib
from collections.abc import Callable, Generator
from io import BytesIO
from typing import NamedTuple

import brotli
import zstandard

MAX_LAYERS = 3  # encodings applied to one body, one after the other
_INPUT_CHUNK = 16_384  # bytes of input given to a decoder at a time
_OUTPUT_CHUNK = 65_536  # bytes of output taken from a decoder at a time
_MAX_MEMBERS = 10_000  # gzip streams, one after the other, in one body
_ZSTD_HEADER = 18  # bytes at most of the header of a frame
# Registered names that are not decoded here.
_UNSUPPORTED_ENCODINGS = frozenset(("compress", "x-compress", "dcb", "dcz", "exi", "pack200-gzip", "aes128gcm"))
_ZSTD_WINDOW = 1 << 23  # bytes; what RFC 9659 allows a sender of Content-Encoding: zstd

# The chunks of the content; returns whether the body was damaged or incomplete.
Chunks = Generator[bytes, None, bool]


class Decoded(NamedTuple):
    """The content of a body, as far as it could be decoded."""

    content: bytes
    is_truncated: bool  # at the limit
    is_damaged: bool  # the body is incomplete or invalid, or has an encoding that is not supported


def decoded(body: bytes, content_encoding: str, limit: int) -> tuple[bytes, bool]:
    """The first `limit` bytes of the content, and whether there is more; damaged data is decoded as far as possible."""
    return decode_body(body, content_encoding, limit)[:2]


def decode_body(body: bytes, content_encoding: str, limit: int) -> Decoded:
    """The same, with whether the body is damaged."""
    layers = [name.strip().lower() for name in content_encoding.split(",", MAX_LAYERS)] if content_encoding else []
    if len(layers) > MAX_LAYERS:
        return Decoded(b"", False, True)
    is_truncated = is_damaged = False
    for name in reversed(layers):
        decode = _DECODERS.get(name)
        if decode is not None:  # other names ("identity", "utf-8") mean no encoding
            body, is_layer_truncated, is_layer_damaged = _read_limited(decode(body), limit)
            is_damaged = is_damaged or (is_layer_damaged and not is_truncated)
            is_truncated = is_truncated or is_layer_truncated
        else:
            is_damaged = is_damaged or name in _UNSUPPORTED_ENCODINGS
    return Decoded(body[:limit], is_truncated or len(body) > limit, is_damaged)


def _read_limited(chunks: Chunks, limit: int) -> Decoded:
    content: list[bytes] = []
    remaining = limit
    while True:
        try:
            chunk = next(chunks)
        except StopIteration as end:
            return Decoded(b"".join(content), False, bool(end.value))
        if len(chunk) > remaining:
            content.append(chunk[:remaining])
            return Decoded(b"".join(content), True, False)
        content.append(chunk)
        remaining -= len(chunk)


def _gunzip(body: bytes) -> Chunks:
    if not body.startswith(b"\x1f\x8b"):  # declared but not encoded
        yield body
        return False
    offset = 0
    for _ in range(_MAX_MEMBERS):
        decoder = zlib.decompressobj(wbits=31)
        offset = yield from _inflated(decoder, body, offset)
        if not decoder.eof or not body.startswith(b"\x1f\x8b", offset):
            return not decoder.eof
    return True


def _inflate(body: bytes) -> Chunks:
    """The zlib format if its header is valid, else raw deflate, which many servers send under that name."""
    is_zlib = len(body) >= 2 and body[0] & 0x0F == 8 and (body[0] * 256 + body[1]) % 31 == 0
    decoder = zlib.decompressobj(wbits=15 if is_zlib else -15)
    yield from _inflated(decoder, body, 0)
    return bool(body) and not decoder.eof


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
        return True
    return bool(body) and not decoder.is_finished()


def _unzstd(body: bytes) -> Chunks:
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    with decoder.stream_reader(BytesIO(body), read_size=_INPUT_CHUNK, read_across_frames=True) as reader:
        try:
            while chunk := reader.read1(_OUTPUT_CHUNK):
                yield chunk
        except zstandard.ZstdError:
            return True
    return not _is_complete_zstd(body)


def _is_complete_zstd(body: bytes) -> bool:
    """Whether the last frame ends with the body: a reader says nothing of one that is cut off."""
    offset = 0
    while offset < len(body):
        if body[offset + 1 : offset + 4] == b"\x2a\x4d\x18" and body[offset] >> 4 == 5:  # a skippable frame
            offset += 8 + int.from_bytes(body[offset + 4 : offset + 8], "little")
            continue
        header = body[offset : offset + _ZSTD_HEADER]
        try:
            has_checksum = zstandard.get_frame_parameters(header).has_checksum
            offset += zstandard.frame_header_size(header)
        except zstandard.ZstdError:
            return False
        is_last = False
        while not is_last and offset + 3 <= len(body):
            block = int.from_bytes(body[offset : offset + 3], "little")  # 1 bit: the last one; 2 bits: type; size
            is_last = bool(block & 1)
            offset += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)  # type 1 is one byte, repeated
        if not is_last:
            return False
        offset += 4 * has_checksum
    return offset == len(body)


_DECODERS: dict[str, Callable[[bytes], Chunks]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
