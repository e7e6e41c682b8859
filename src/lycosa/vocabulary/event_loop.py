"""The event loop of asyncio that crawls run in."""

import asyncio
import sys


def new_event_loop() -> asyncio.AbstractEventLoop:
    """An event loop that watches the sockets of libcurl, which the usual one of Windows cannot."""
    return asyncio.SelectorEventLoop() if sys.platform == "win32" else asyncio.new_event_loop()
