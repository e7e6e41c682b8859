"""Work on a collection: crawl it, refresh it, import into it, label in it, forget from it, rebuild it.

A `Session` opens the collection for writing and brings catalog, search index, frontier and strategy up to the end of
the archive, of which a kill may have left them short. `live.LiveRun` learns the topic, learns standing, and then builds
one complete `crawl.Crawl`; `refresh` is the same with a lane of pages to fetch again.
"""
