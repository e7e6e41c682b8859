"""A stored page as it goes from peer to peer: its record in the archive, a gzip member."""

import zlib

MOST_RECORD = 16 << 20  # bytes, unpacked


def record_of(url: str, body: bytes) -> bytes | None:
    """The WARC record that a stranger sent for a URL, unpacked; None where it is none of a page at that URL."""
    unpacker = zlib.decompressobj(16 + 15)
    try:
        record = unpacker.decompress(body, MOST_RECORD)
    except zlib.error:
        return None
    if not unpacker.eof or unpacker.unused_data or not record.startswith(b"WARC/1."):
        return None
    head, found, _ = record.partition(b"\r\n\r\n")
    lines = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
    headers = {name.strip().lower(): value.strip().strip(b"<>") for name, _, value in lines}
    if not found or headers.get(b"warc-type") != b"response":
        return None
    return record if headers.get(b"warc-target-uri") == url.encode("utf-8", "replace") else None
