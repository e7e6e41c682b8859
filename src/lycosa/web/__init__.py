"""Where pages come from. Each Web here has the same interface; wrappers take a Web and are one.

live        HTTP (`transfers` drives libcurl, `encodings` unpacks)
archived    WARC files
simulated   pages in memory
robots      wraps any of them: asks only what robots.txt allows
flaky       wraps any of them: loses some requests
remembered  wraps any of them: has some answers already
outcomes    what a response means, the same for all
asked       counts the requests of a run, and who answered
sitemaps    the URLs that sites list themselves
"""
