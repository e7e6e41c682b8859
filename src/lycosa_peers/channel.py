"""One encrypted connection between two peers: TLS over asyncio, carrying frames, with limits on everything.

Python's own `ssl` cannot request a client certificate without rejecting unknown ones, so the handshake and the records
are those of pyOpenSSL, with in-memory buffers instead of a socket.
"""

import asyncio
from functools import cached_property
from typing import Protocol

from OpenSSL import SSL

from .addresses import address_group
from .identity import peer_name_of
from .messages import FrameReader, FrameTooLongError, to_frame

HANDSHAKE_SECONDS = 5.0
FRAME_SECONDS = 30.0  # from the first byte of a frame to its last
OTHER_GROUP = "not of the same group"  # close reason if the other side has a certificate of another authority
HIGH_WATER = 1 << 16  # bytes in the send buffer at which a channel becomes slow
LOW_WATER = 1 << 14  # the same at which it is no longer slow
FRAMES_PER_TURN, SECONDS_PER_TURN = 8, 0.01  # processed before it is the turn of other channels; at least one frame
_CHUNK = 1 << 16
_MAX_DECRYPTED = 1 << 14  # received bytes that are decrypted at once: one long TLS record, or some 700 short ones
_UNVERIFIED = "certificate verify failed"  # the text of OpenSSL


class ChannelHandler(Protocol):
    """Callbacks of a channel."""

    def on_connect(self, channel: "Channel") -> None:
        """Called when connected, before the handshake."""
        ...

    def on_open(self, channel: "Channel") -> None:
        """Called after the handshake, when the other side has proved its name."""
        ...

    def max_payload_bytes(self, channel: "Channel") -> int:
        """The length of the longest accepted payload; may close channels on which others are coming."""
        ...

    def on_frame(self, channel: "Channel", payload: bytes) -> None: ...

    def on_decrypted(self, channel: "Channel", seconds: float) -> None:
        """Called after so many seconds of decrypting what came: a stream of short TLS records costs more than its
        frames."""
        ...

    def on_backlog(self, channel: "Channel", is_slow: bool) -> None:
        """Called when the send buffer is above `HIGH_WATER`, or below `LOW_WATER` again."""
        ...

    def turn_delay(self, channel: "Channel") -> float:
        """Seconds until the channel has its next turn."""
        ...

    def on_close(self, channel: "Channel", reason: str) -> None: ...


class Channel(asyncio.Protocol):
    """Performs the handshake, then carries frames. `peer` is the name that the other side has proved by its key."""

    def __init__(self, context: SSL.Context, handler: ChannelHandler, *, is_outgoing: bool, address: str = ""):
        self.peer: str = ""  # empty until the handshake is done
        self.is_outgoing = is_outgoing  # whether this side dialled
        self.address = address  # dialled, or of the other side
        self.last_heard = 0.0  # time of the last frame, by the clock of the event loop
        self.is_open = False
        self.opened_at = 0.0  # by the same clock
        self._handler = handler
        self._frames = FrameReader()  # may contain unprocessed frames
        self._encrypted = bytearray()  # received, and not decrypted yet
        self._had_partial_frame = False  # whether there was an unfinished frame when the timer was set
        self._is_paused = False  # what was received is pending, and reading is paused
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None  # of the handshake or of a frame
        self._next_turn: asyncio.TimerHandle | None = None
        self._close_reason = ""
        self._written = 0  # bytes
        self._tls = SSL.Connection(context, None)
        if is_outgoing:
            self._tls.set_connect_state()
        else:
            self._tls.set_accept_state()

    # ------------------------------------------------------------ sending and closing

    @property
    def host(self) -> str:
        """The host of the other side."""
        return self.address.rpartition(":")[0]

    @cached_property
    def address_group(self) -> str:
        """The key by which connections from the other side's host are counted: its IPv4 address or IPv6 network."""
        return address_group(self.host)

    @property
    def is_closing(self) -> bool:
        return bool(self._close_reason)

    @property
    def unsent(self) -> int:
        """Bytes in the send buffer."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    @property
    def next_frame_bytes(self) -> int:
        """The length that the frame announces which is coming; 0 if none is."""
        return self._frames.next_length

    @property
    def unprocessed(self) -> int:
        """Bytes that were received and not processed yet."""
        return self._frames.buffered_bytes + len(self._encrypted)

    @property
    def drained(self) -> int:
        """Bytes that have left the send buffer."""
        return self._written - self.unsent

    @property
    def close_reason(self) -> str:
        """The reason if this side closed it, else empty."""
        return self._close_reason

    def send(self, payload: bytes) -> bool:
        """Sends a frame; False if the channel is not open."""
        if not self.is_open or self._transport is None or self._transport.is_closing():
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

    def close(self, reason: str) -> None:
        """Closes the channel at once."""
        self._close_reason = self._close_reason or reason
        if self._transport is not None:
            self._transport.abort()

    def finish(self) -> None:
        """Closes the channel after its send buffer is empty."""
        if self._transport is not None:
            self._transport.close()

    # ------------------------------------------------------------ callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(HIGH_WATER, LOW_WATER)
        if not self.address:
            host, port, *_ = transport.get_extra_info("peername") or ("", 0)
            self.address = f"{host}:{port}"
        self._handler.on_connect(self)
        if self._close_reason:
            return
        self._close_after(HANDSHAKE_SECONDS, "no handshake")
        self._read_tls()

    def data_received(self, data: bytes) -> None:
        self._encrypted += data
        while self._encrypted and not self.is_open and not self._close_reason:
            self._decrypt()  # the handshake, which is short
        if not self._is_paused:
            self._process_pending()

    def pause_writing(self) -> None:
        self._handler.on_backlog(self, True)

    def resume_writing(self) -> None:
        self._handler.on_backlog(self, False)

    def connection_lost(self, error: Exception | None) -> None:
        for timer in (self._timer, self._next_turn):
            if timer is not None:
                timer.cancel()
        self.is_open = False
        self._transport = None
        self._handler.on_close(self, self._close_reason or (str(error) if error else "it hung up"))

    # ------------------------------------------------------------ TLS

    def _decrypt(self) -> None:
        """Decrypts a part of what was received."""
        try:
            written = self._tls.bio_write(bytes(memoryview(self._encrypted)[:_MAX_DECRYPTED]))
        except SSL.Error:
            self.close("TLS failed")
            return
        del self._encrypted[:written]
        self._read_tls()

    def _read_tls(self) -> None:
        """Continues the handshake, then decrypts what was received into frames."""
        if not self.is_open and not self._do_handshake():
            return
        while not self._close_reason:
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
            self._frames.feed(data)
        self._flush()

    def _do_handshake(self) -> bool:
        """Continues the handshake; returns whether the channel is open now."""
        try:
            self._tls.do_handshake()
        except SSL.WantReadError:
            self._flush()
            return False
        except SSL.Error as error:
            self._flush()  # so that the other side gets the alert
            reason = _ssl_reason(error)
            self.close(OTHER_GROUP if reason == _UNVERIFIED else f"no handshake: {reason}")
            return False
        self._flush()
        name = peer_name_of(self._tls)
        if name is None:
            self.close("shows no key of a peer")
            return False
        self.peer = name
        self.is_open = True
        if self._timer is not None:
            self._timer.cancel()
        self.opened_at = self.last_heard = asyncio.get_running_loop().time()
        self._handler.on_open(self)
        if self._close_reason:
            return False
        self._on_opened()
        return True

    def _on_opened(self) -> None:
        """A hook for subclasses."""

    def _process_pending(self) -> None:
        """Processes some of what came, and the rest after the turns of other channels; reading is paused until then."""
        processed = 0 if self._handler.turn_delay(self) else self._process_some()
        if self._transport is None or self._close_reason or not self.is_open:
            return
        delay = self._handler.turn_delay(self)
        if self._frames.has_frame or self._encrypted or delay:
            self._is_paused = True
            self._transport.pause_reading()
            self._limit_frame_time()
            self._next_turn = asyncio.get_running_loop().call_later(delay, self._process_pending)
        elif self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
            self._limit_frame_time()
        elif processed or not self._had_partial_frame:
            self._limit_frame_time()

    def _process_some(self) -> int:
        """Decrypts and processes what one turn has time for; returns the number of frames."""
        time = asyncio.get_running_loop().time
        until = time() + SECONDS_PER_TURN
        processed = 0
        while self.is_open and not self._close_reason:
            try:
                payload = self._frames.pop(self._handler.max_payload_bytes(self))
            except FrameTooLongError:
                self.close("a frame too long")
                return processed
            if payload is not None:
                self.last_heard = time()
                self._handler.on_frame(self, payload)
                processed += 1
            elif self._encrypted:
                began = time()
                self._decrypt()
                self._handler.on_decrypted(self, time() - began)
            else:
                return processed
            if processed >= FRAMES_PER_TURN or time() >= until:
                return processed
        return processed

    def _limit_frame_time(self) -> None:
        """Restarts the time limit of an unfinished frame, unless reading is paused."""
        if self._timer is not None:
            self._timer.cancel()
        self._had_partial_frame = self._frames.buffered_bytes > 0 and not self._is_paused
        if self._had_partial_frame:
            self._close_after(FRAME_SECONDS, "a frame without end")

    def _flush(self) -> None:
        while self._transport is not None and not self._transport.is_closing():
            try:
                data = self._tls.bio_read(4 * _CHUNK)
            except SSL.WantReadError:
                return
            except SSL.Error:
                return
            self._written += len(data)
            self._transport.write(data)

    def _close_after(self, seconds: float, reason: str) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self.close, reason)


def _ssl_reason(error: SSL.Error) -> str:
    details = error.args[0] if error.args else None
    if isinstance(details, list) and details and isinstance(details[0], tuple):
        return str(details[-1][-1])
    return "TLS failed"
