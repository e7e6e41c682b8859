"""Frames: each message on the wire is four bytes that tell its length, and then so many bytes.

>>> frames = Frames(limit=100)
>>> frames.feed(framed(b"hello")[:6])
[]
>>> frames.feed(framed(b"hello")[6:] + framed(b"you"))
[b'hello', b'you']
"""

HEAD = 4  # bytes
SMALL = 1 << 16  # bytes; of what anybody may send


class FrameTooLongError(ValueError):
    """Somebody wants to send more than they may."""


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(HEAD) + payload


class Frames:
    """Takes bytes as they come and gives whole frames; holds at most one unfinished frame of up to `limit` bytes."""

    def __init__(self, limit: int = SMALL):
        self.limit = limit
        self._held = bytearray()

    @property
    def is_within(self) -> bool:
        """Whether a frame has begun that has not ended."""
        return bool(self._held)

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that end within these bytes. Raises FrameTooLongError as soon as a length is told that is none."""
        self._held += data
        whole: list[bytes] = []
        start = 0
        while len(self._held) - start >= HEAD:
            length = int.from_bytes(self._held[start : start + HEAD])
            if length > self.limit:
                raise FrameTooLongError(f"a frame of {length} bytes, {self.limit} are the most")
            end = start + HEAD + length
            if len(self._held) < end:
                break
            whole.append(bytes(self._held[start + HEAD : end]))
            start = end
        del self._held[:start]
        return whole
