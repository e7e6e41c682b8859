"""Scrapy as its documentation has it: link extractor, robots.txt, default scheduler and filter; bodies go to one file.

python benchmarks/scrapy_spider.py URL PAGES CONCURRENCY OUT
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

SEED, PAGES, CONCURRENCY, OUT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": CONCURRENCY,
    "CLOSESPIDER_PAGECOUNT": PAGES,
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "USER_AGENT": "benchmark",
}


class Everything(Spider):
    name = "everything"
    start_urls = (SEED,)
    links = LinkExtractor()

    def parse(self, response: Any) -> Iterator[Request]:
        bodies.write(response.body)
        for link in self.links.extract_links(response):
            yield Request(link.url, callback=self.parse)


with OUT.open("wb") as bodies:
    process = CrawlerProcess(SETTINGS)
    process.crawl(Everything)
    process.start()
