"""Topical crawl maps: what one crawl learns of where the pages of a topic are, for the next one to use.

`draw_map` ties the pages of a topic together, an `Atlas` keeps such maps in a file, a `CrawlMap` is what a crawl has of
one in memory, and a `CitationMatrix` tells which topics are related.
"""

from .atlas import Atlas, Sighting, merge_atlases
from .citations import OTHERS, CitationMatrix, cited
from .crawl_map import CrawlMap, crawl_map_of
from .drawing import REACHES, Reach, Similarity, TopicMap, draw_map
from .questions import TopicFacts
from .similarity import Resemblance, sketch_of

__all__ = [
    "OTHERS",
    "REACHES",
    "Atlas",
    "CitationMatrix",
    "CrawlMap",
    "Reach",
    "Resemblance",
    "Sighting",
    "Similarity",
    "TopicFacts",
    "TopicMap",
    "cited",
    "crawl_map_of",
    "draw_map",
    "merge_atlases",
    "sketch_of",
]
