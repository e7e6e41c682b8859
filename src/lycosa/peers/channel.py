"""One encrypted connection between two peers: TLS over asyncio, frames within, everything bounded.

The TLS of Python's own `ssl` cannot ask a stranger for a certificate without refusing those it does not know, so the
handshake and the records are OpenSSL's by way of pyOpenSSL; bytes come and go through memory.
"""

import asyncio
from collections import deque
from typing import Protocol

from OpenSSL import SSL

from .identity import name_shown_by
from .messages import SMALL_FRAME, FrameReader, FrameTooLongError, to_frame

HANDSHAKE_SECONDS = 5.0
FRAME_SECONDS = 30.0  # from the first byte of a frame to its last
OTHER_GROUP = "not of the same group"  # why a channel is closed whose other side shows a certificate that is not ours
MOST_UNSENT = 4 << 20  # bytes that wait for a peer that does not read; beside what it asked for
FRAMES_OF_A_TURN, SECONDS_OF_A_TURN = 8, 0.01  # at most, and one frame at least
_CHUNK = 1 << 16
_UNVERIFIED = "certificate verify failed"  # as OpenSSL says it


class Owner(Protocol):
    """Who is told what happens on a channel."""

    def accepts(self, channel: "Channel") -> bool: ...

    def opened(self, channel: "Channel") -> None: ...

    def longest(self, channel: "Channel") -> int: ...

    def received(self, channel: "Channel", frame: bytes) -> None: ...

    def wait(self, channel: "Channel") -> float:
        """Seconds until the channel has its next turn."""
        ...

    def closed(self, channel: "Channel", why: str) -> None: ...


class Channel(asyncio.Protocol):
    """Shakes hands, then carries frames. `peer` is who the other side has proved to be."""

    def __init__(self, context: SSL.Context, owner: Owner, *, dials: bool, address: str = ""):
        self.peer: str = ""  # until the handshake is done
        self.dials = dials
        self.address = address  # that was dialled, or from which the other side came
        self.last_heard = 0.0
        self.is_open = False
        self._owner = owner
        self._frames = FrameReader(SMALL_FRAME)
        self._pending: deque[bytes] = deque()  # frames that nobody has looked at yet
        self._hands_out = False  # and reads no more until it has
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._why = ""
        self._tls = SSL.Connection(context, None)
        if dials:
            self._tls.set_connect_state()
        else:
            self._tls.set_accept_state()

    # ------------------------------------------------------------ what a channel is for

    @property
    def host(self) -> str:
        """Where the other side is."""
        return self.address.rpartition(":")[0]

    @property
    def is_closing(self) -> bool:
        return bool(self._why)

    @property
    def why(self) -> str:
        """Why it was closed from this side; empty where it was not."""
        return self._why

    def send(self, payload: bytes) -> bool:
        """Sends a frame; False where the channel is not open, or the other side has stopped reading."""
        if not self.is_open or self._transport is None or self._transport.is_closing():
            return False
        if self._transport.get_write_buffer_size() > MOST_UNSENT:
            self.close("does not read what it is sent")
            return False
        data = memoryview(to_frame(payload))
        try:
            while data:
                data = data[self._tls.send(bytes(data[: 4 * _CHUNK])) :]
        except SSL.Error:
            self.close("TLS failed")
            return False
        self._flush()
        return True

    def close(self, why: str) -> None:
        """Ends the channel at once."""
        self._why = self._why or why
        if self._transport is not None:
            self._transport.abort()

    def finish(self) -> None:
        """Ends the channel when what was sent has gone."""
        if self._transport is not None:
            self._transport.close()

    # ------------------------------------------------------------ what asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self.address:
            host, port, *_ = transport.get_extra_info("peername") or ("", 0)
            self.address = f"{host}:{port}"
        if not self._owner.accepts(self):
            self.close("too many connections")
            return
        self._expect_within(HANDSHAKE_SECONDS, "no handshake")
        self._advance()

    def data_received(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest and not self._why:
            try:
                rest = rest[self._tls.bio_write(bytes(rest[:_CHUNK])) :]
            except SSL.Error:
                self.close("TLS failed")
                return
            self._advance()
        if not self._hands_out:
            self._hand_out()

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.is_open = False
        self._transport = None
        self._owner.closed(self, self._why or (str(error) if error else "it hung up"))

    # ------------------------------------------------------------ TLS

    def _advance(self) -> None:
        if not self.is_open and not self._shaken():
            return
        while not self._why:
            try:
                data = self._tls.recv(_CHUNK)
            except SSL.WantReadError:
                break
            except (SSL.ZeroReturnError, SSL.SysCallError):
                self.close("it hung up")
                return
            except SSL.Error:
                self.close("TLS failed")
                return
            self._take(data)
        self._flush()

    def _shaken(self) -> bool:
        try:
            self._tls.do_handshake()
        except SSL.WantReadError:
            self._flush()
            return False
        except SSL.Error as error:
            self._flush()  # so that the other side learns why
            reason = _reason(error)
            self.close(OTHER_GROUP if reason == _UNVERIFIED else f"no handshake: {reason}")
            return False
        self._flush()
        name = name_shown_by(self._tls)
        if name is None:
            self.close("shows no key of a peer")
            return False
        self.peer = name
        self.is_open = True
        if self._timer is not None:
            self._timer.cancel()
        self.last_heard = asyncio.get_running_loop().time()
        self._owner.opened(self)
        if self._why:
            return False
        self._became_open()
        return True

    def _became_open(self) -> None:
        """For those that wait for it."""

    def _take(self, data: bytes) -> None:
        was_within = self._frames.is_within
        self._frames.limit = self._owner.longest(self)
        try:
            frames = self._frames.feed(data)
        except FrameTooLongError:
            self.close("a frame too long")
            return
        self.last_heard = asyncio.get_running_loop().time()
        self._pending.extend(frames)
        if frames or not was_within:
            self._expect_the_end()

    def _hand_out(self) -> None:
        """Hands over some frames, and the rest when others have had their turn; until then no more are read."""
        if not self._owner.wait(self):
            self._take_a_turn()
        if self._transport is None or self._why:
            return
        wait = self._owner.wait(self)
        if self._pending or wait:
            self._hands_out = True
            self._transport.pause_reading()
            self._expect_the_end()
            asyncio.get_running_loop().call_later(wait, self._hand_out)
        elif self._hands_out:
            self._hands_out = False
            self._transport.resume_reading()
            self._expect_the_end()

    def _take_a_turn(self) -> None:
        time = asyncio.get_running_loop().time
        until = time() + SECONDS_OF_A_TURN
        for _ in range(FRAMES_OF_A_TURN):
            if not self._pending or not self.is_open or self._why:
                return
            self._owner.received(self, self._pending.popleft())
            if time() >= until:
                return

    def _expect_the_end(self) -> None:
        """Of a frame that has begun, as long as it is read."""
        if self._timer is not None:
            self._timer.cancel()
        if self._frames.is_within and not self._hands_out:
            self._expect_within(FRAME_SECONDS, "a frame without end")

    def _flush(self) -> None:
        while self._transport is not None and not self._transport.is_closing():
            try:
                data = self._tls.bio_read(4 * _CHUNK)
            except SSL.WantReadError:
                return
            except SSL.Error:
                return
            self._transport.write(data)

    def _expect_within(self, seconds: float, else_why: str) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self.close, else_why)


def _reason(error: SSL.Error) -> str:
    details = error.args[0] if error.args else None
    if isinstance(details, list) and details and isinstance(details[0], tuple):
        return str(details[-1][-1])
    return "TLS failed"
