"""The frontier: waiting URLs, and the hosts that must not be requested too often.

A URL is *unknown* until it is put, then *waiting*, *in flight* once taken, and *settled* when visited or skipped;
a settled URL is never queued again. A fetch that is to be retried goes from in flight back to waiting.

A host is *idle* when it may be requested, *busy* while one of its URLs is in flight, and *resting* until its delay has
passed. There is one URL in flight per host, so that a slow host delays only itself. A host is forgotten when none of
its URLs waits and it is neither busy nor resting, so that memory does not grow with the hosts ever seen. Hosts on one
address, or of one registered domain, share a limit; an idle host whose limit is full is *parked* until a slot is free.

The queue is bounded: beyond `limit` URLs, those of the lowest priority are evicted. An evicted URL is unknown again and
may be queued when another page links to it. The latest refused URLs are remembered, so that each is skipped once; a URL
refused long ago may be refused again. Visited URLs are never forgotten: they take some 12 bytes for each URL, each
host, each site and each path with a query.

The frontier of a live crawl keeps the best waiting URLs, about 30 000, in memory. The others are *spilled* to disk. A
host without URLs in memory is *dormant*: only the rank of its best URL is known, and it wakes when that is the best of
all. Of any other host, the best URLs are in memory. Spilling does not change the order in which URLs are taken.

admission     which URLs may wait
quotas        how many pages of one host, or of one site, there may be
host_queues   which URL is next, among the hosts that may be requested now
spilled       the waiting URLs that are not in memory
shared_limits limits shared by hosts on one address, of one registered domain, and by slow hosts
memory        a frontier in memory
durable       the frontier of a live crawl: the same, with its candidates in SQLite
lanes         the frontier of a refresh: links and pages to fetch again
wrapper       a frontier around another one
waiting_only  the frontier of a crawl of waiting URLs only
sequential    the frontier of simulated crawls
"""
