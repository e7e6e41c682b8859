"""A crawler with nothing to it: fetches, takes the links of each page, fetches those. It judges and stores nothing.

python benchmarks/bare_loop.py URL PAGES CONCURRENCY
"""

import asyncio
import sys
from collections import deque
from urllib.parse import urldefrag, urljoin

from aiohttp import ClientSession, TCPConnector
from selectolax.lexbor import LexborHTMLParser

SEED, PAGES, CONCURRENCY = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


async def main() -> None:
    seen, waiting, fetched, in_flight = {SEED}, deque([SEED]), 0, 0

    async def work() -> None:
        nonlocal fetched, in_flight
        while fetched < PAGES and (waiting or in_flight):
            if not waiting:
                await asyncio.sleep(0.005)
                continue
            url, fetched, in_flight = waiting.popleft(), fetched + 1, in_flight + 1
            async with session.get(url) as response:
                body = await response.read()
            in_flight -= 1
            for node in LexborHTMLParser(body).tags("a"):
                target = urldefrag(urljoin(url, node.attributes.get("href") or "")).url
                if target.startswith("http") and target not in seen:
                    seen.add(target)
                    waiting.append(target)

    async with ClientSession(connector=TCPConnector(limit=CONCURRENCY), headers={"User-Agent": "bench"}) as session:
        await asyncio.gather(*(work() for _ in range(CONCURRENCY)))


asyncio.run(main())
