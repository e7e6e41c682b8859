"""The asyncio event loop that crawls run in."""

import asyncio
import sys


def new_event_loop() -> asyncio.AbstractEventLoop:
    """An event loop that can watch the sockets of libcurl, which the default loop of Windows cannot."""
    return asyncio.SelectorEventLoop() if sys.platform == "win32" else asyncio.new_event_loop()
