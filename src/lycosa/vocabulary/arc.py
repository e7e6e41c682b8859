"""ARC, the format of Web archives before WARC, which Lycosa does not read."""

import zlib
from contextlib import suppress
from pathlib import Path

from .errors import UsageError


def refuse_arc(path: Path, start: bytes) -> None:
    """Fails, with the way out, where a file that starts so, gzipped or not, is an ARC file."""
    if start.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            start = zlib.decompressobj(16 + 15).decompress(start, 64)
    if start.startswith(b"filedesc:"):
        new = path.name.partition(".arc")[0] + ".warc.gz"
        raise UsageError(
            f"{path} is an ARC file, the older format; convert it with: warcio recompress {path} {path.with_name(new)}"
        )
