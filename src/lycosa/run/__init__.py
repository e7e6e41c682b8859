"""Work on a collection: crawl it, refresh it, import into it, label in it, forget from it, rebuild it.

new             makes a collection: folder, recipe, examples, seeds
open            opens one for reading
session         opens one for writing, and saves it at checkpoints: open, run, checkpoint
crawl_state     what a crawl continues with: settings of the last run, frontier, strategy, loop
run_settings    strategy, options, scope and quotas of a run; strategy_factory makes the strategy
archive_replay  catches up with the archive after a kill
crawl_journal   records events and skips; checkpoints decides when they are saved
reranker        re-ranks the frontier by the archive or by new scores
removal         removes what was forgotten from all files
stored_pages    pages and their terms, from the archive
options         the options of one run, as flags or keywords
topic           from the recipe's topic to a judge of relevance; labels
examples        example pages, fetched before the crawl
topic_training  the relevance model, trained again as the collection grows; standing_training likewise for standing
guides          a topical map or an access log that guides the strategy (topical_map, access_log)
live            learns the topic, learns standing, then builds and runs one complete crawl
crawl           the crawl: fetches in flight around `lycosa.loop`, within a budget
resumed         a crawl of a few more waiting URLs, for `lycosa mcp`
refresh         a crawl with a lane of stored pages to fetch again; recrawl_memory compares them with what is stored
export          which pages and which of their texts an export holds
imports         pages of WARC files and of peers
upkeep          rebuild, import, label, forget (forgotten keeps the keys of what was forgotten)
atlas           builds topical maps from collections; taxonomies classifies pages by topic
"""
