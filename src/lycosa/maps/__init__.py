"""Topical crawl maps: the pages of a topic found by earlier crawls, for later crawls to use.

`draw_map` ties the pages of a topic together, an `Atlas` keeps such maps in a file, a `UrlMap` is a map in memory for a
crawl, and a `CitationMatrix` shows which topics are related.
"""

from .atlas import Atlas, Sighting, TopicFacts, merge_atlases
from .citations import OTHERS, CitationMatrix, count_citations
from .similarity import SketchSimilarity, text_sketch
from .topic_map import REACHES, Reach, Similarity, TopicMap, UrlMap, draw_map, url_map_of

__all__ = [
    "OTHERS",
    "REACHES",
    "Atlas",
    "CitationMatrix",
    "Reach",
    "Sighting",
    "Similarity",
    "SketchSimilarity",
    "TopicFacts",
    "TopicMap",
    "UrlMap",
    "count_citations",
    "draw_map",
    "merge_atlases",
    "text_sketch",
    "url_map_of",
]
