"""Work on a collection: crawl it, refresh it, import into it, label in it, forget from it, rebuild it.

new             makes a collection: folder, recipe, examples, seeds
open            opens one for reading
session         opens one for writing and brings it up to the end of its archive, of which a kill may have left it
                short; it is the journal of its crawl
options         what a user may say of one run, by flags or keywords
topic           from the recipe's topic to a judge of relevance; labels
examples        example pages, fetched before the crawl
training        the models of relevance and standing, trained again as the collection grows
guides          a topical map or an access log that guides the strategy (topical_map, access_log)
live            learns the topic, learns standing, then builds and runs one complete crawl
crawl           the crawl: fetches in flight around `lycosa.loop`, within a budget
resumed         a few more pages of the URLs that wait, for `lycosa mcp`
refresh         the same with a lane of pages to fetch again; recrawl_memory compares them with what is held
export          which pages and which of their texts an export holds
imports         pages of WARC files and of peers
upkeep          rebuild, import, label, forget (forgotten remembers by keys)
atlas           draws topical maps from collections; taxonomies tells topics apart
"""
