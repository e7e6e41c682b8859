"""Event loops of asyncio, and what differs between systems."""

import asyncio
import signal
import sys
from collections.abc import Callable


def new_event_loop() -> asyncio.AbstractEventLoop:
    """An event loop that watches the sockets of libcurl, which the usual one of Windows cannot."""
    return asyncio.SelectorEventLoop() if sys.platform == "win32" else asyncio.new_event_loop()


def on_interrupt(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    """Calls back, within the loop, on Ctrl-C and on a request to end."""
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, callback)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(callback))
