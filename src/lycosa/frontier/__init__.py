"""The URLs that wait, and the hosts that must not be hurried.

A URL is *unknown* until it is put, then *waiting*, *in flight* once taken, and *settled* when visited or skipped;
a settled URL is never queued again. A fetch worth another try goes from in flight back to waiting.

A host is *idle* when it may be asked, *busy* while one of its URLs is in flight, and *resting* until its delay has
passed. There is one URL in flight per host, so a slow host delays only itself.

Memory is bounded: past `limit` waiting URLs, those of the lowest priority are evicted. An evicted URL is unknown
again; it comes back when somebody links to it once more.
"""
