"""Work on a collection: crawl it, rebuild it, import into it, label in it, forget from it.

A session opens the collection for writing, brings catalog, search index and frontier up to the end of the archive
(a kill may have left them behind), and puts the parts of a crawl together around it.
"""
