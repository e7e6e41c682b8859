"""Fetching pages. Each Web has the same interface; a wrapper takes a Web and is one.

http        HTTP (`transfers` drives libcurl, `encodings` decodes bodies)
robots      wraps any Web: requests only what robots.txt allows
outcomes    which outcome a response has, and how many fetches a run made
sitemaps    the URLs that sites list themselves
"""
