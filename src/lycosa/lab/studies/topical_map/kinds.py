"""The names of the crawls that are compared, as tables and pictures show them."""

from typing import Final

FIRST: Final = "first crawl"  # by the baseline, from the first seeds; maps are drawn from it
AGAIN: Final = "map, same seeds"  # from the seeds of the first crawl, as in the paper
BASELINE: Final = "baseline"  # this and all below from the other seeds
MAPPED: Final = "map"
URLS: Final = "URLs cached"  # the good pages of the first crawl are seeds
CONTENT: Final = "content cached"  # a page of the first crawl is not downloaded again
KEEN: Final = "map at 0.8"  # its links worth more than those of any page
SHY: Final = "map at 0.4"  # worth less than those of good pages
NEAR: Final = "map, near"
FAR: Final = "map, far"
ALIKE: Final = "map, by text"
RELATED: Final = "related map"  # a small one, from a crawl of a related topic
BOTH: Final = "both kinds"  # the map of pages of both crawls, and the portals also from pages of the related topic

BASELINE_LATER: Final = "baseline, later"  # these in the world as it is half a year after the first crawl
MAPPED_LATER: Final = "map, later"
URLS_LATER: Final = "URLs cached, later"
CONTENT_LATER: Final = "content cached, later"

LATER: Final = (BASELINE_LATER, MAPPED_LATER, URLS_LATER, CONTENT_LATER)
