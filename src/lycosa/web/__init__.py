"""Fetching pages. Each Web has the same interface; a wrapper takes a Web and is one.

live        HTTP (`transfers` drives libcurl, `encodings` decodes bodies)
simulated   pages in memory
robots      wraps any of them: requests only what robots.txt allows
prefetched  wraps any of them: has some fetches already
outcomes    what a response means, the same for all, and how many fetches a run made
sitemaps    the URLs that sites list themselves
"""
