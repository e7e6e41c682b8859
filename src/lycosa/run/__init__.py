"""Work on a collection: crawl it, refresh it, import into it, label in it, forget from it, rebuild it.

new             makes a collection: folder, recipe, examples, seeds
open            opens one for reading
session         opens one for writing and, after a kill, catches up with its archive; it is the journal of its crawl
options         the options of one run, as flags or keywords
topic           from the recipe's topic to a judge of relevance; labels
examples        example pages, fetched before the crawl
training        the models of relevance and standing, trained again as the collection grows
guides          a topical map or an access log that guides the strategy (topical_map, access_log)
live            learns the topic, learns standing, then builds and runs one complete crawl
crawl           the crawl: fetches in flight around `lycosa.loop`, within a budget
resumed         a crawl of a few more waiting URLs, for `lycosa mcp`
refresh         a crawl with a lane of stored pages to fetch again; recrawl_memory compares them with the stored
versions export          which pages and which of their texts an export holds
imports         pages of WARC files and of peers
upkeep          rebuild, import, label, forget (forgotten keeps the keys of what was forgotten)
atlas           builds topical maps from collections; taxonomies classifies pages by topic
"""
