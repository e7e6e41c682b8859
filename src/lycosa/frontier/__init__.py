"""The URLs that wait, and the hosts that must be left in peace between requests.

A URL is *unknown* until it is put, then *waiting*, *in flight* once taken, and *settled* when visited or skipped;
a settled URL is never queued again. A fetch worth another try goes from in flight back to waiting.

A host is *idle* when it may be asked, *busy* while one of its URLs is in flight, and *resting* until its delay has
passed. There is one URL in flight per host, so a slow host delays only itself. A host is forgotten when none of its
URLs waits and it is neither busy nor resting, so that memory does not grow with the hosts ever seen. Hosts on one
address, or of one registered domain, share a limit; an idle one that finds it full is *parked* until a slot is free.

What waits is bounded: past `limit` URLs, those of the lowest priority are evicted. An evicted URL is unknown again; it
comes back when a page links to it once more. Of the URLs that were refused, the latest are remembered, so that each
is skipped once; one refused long ago and linked to again is refused again. What was visited is never forgotten: memory
grows with it, by some 12 bytes for each URL, for each host, for each site and for each path that had a query.

The frontier of a live crawl has the best of what waits in memory, about 100 000 URLs. The others are *spilled*: a host
of which nothing is in memory is *dormant*, and known by the rank of its best URL; it wakes when that is the best there
is. Of a host that is not dormant the best URLs are in memory, and what is spilled comes after them. Which URLs are
spilled changes nothing in the order in which they are taken.

admission     which URLs may wait
quotas        how many pages of one host, or of one site, there may be
host_queues   which URL is next, among the hosts that may be asked now
spilled       the URLs that wait and are not in memory
shared_limits what hosts on one address, of one registered domain, and those that are slow to answer share
memory        a frontier in memory
durable       the frontier of a live crawl: the same, with its candidates in SQLite
lanes         the frontier of a refresh: links and pages to fetch again
waiting_only  the frontier of a crawl that goes no further than what waits
sequential    the frontier of simulated crawls
"""
