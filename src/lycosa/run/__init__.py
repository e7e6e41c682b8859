"""Work on a collection: crawl it, refresh it, import into it, label in it, forget from it, rebuild it.

The folder:
new                makes a collection: folder, recipe, examples, seeds
seed_sources       finds seeds for a topic or a site
open               opens a collection for reading
trust              whether a collection may name code, outside files, proxies and headers
options            the options of one run, as flags or keywords

A session:
session            opens a collection for writing, and saves it at checkpoints: open, run, checkpoint
crawl_state        what a crawl continues with: settings of the last run, frontier, strategy, loop
run_settings       strategy, options, scope and quotas of a run
strategy_factory   makes the strategy of a run, and restores it
archive_replay     catches up with the archive after a kill
crawl_journal      records events and skips
checkpoints        decides when they are saved
stored_pages       pages and their terms, from the archive
first_visits       visits reduced to links and words, for re-ranking
reranker           re-ranks the frontier by the archive or by new scores
unanswered         queues once more what got no answer in earlier runs
forgotten          the names of what was forgotten
removal            removes what was forgotten from all files

What a crawl learns and is guided by:
topic              from the recipe's topic to a judge of relevance; labels and warnings about examples
examples           example pages, fetched before the crawl
topic_training     the relevance model, trained again as the collection grows
standing_training  the model of standing, likewise
guides             a topical map or an access log that guides the strategy
topical_map        opens the map of a run
access_log         opens the access log of a run

The run:
live               learns the topic, learns standing, then builds and runs one complete crawl
crawl              the crawl: fetches in flight around `lycosa.loop`, within a budget
host_slots         which hosts are free, for a web that serves several crawls
sitemaps           the URLs in sitemaps, fetched by a small crawl of their own
control            commands to a running crawl
steering           the user's blocks, boosts and labels, kept in the folder
recall             estimates how many of the relevant pages were found
waiting_crawl      a crawl of a few more waiting URLs, for `lycosa mcp`
refresh            a crawl with a lane of stored pages to fetch again
refresh_memory     compares these with what is stored
trial              what a crawl would make of one page

Afterwards:
overview           a collection in numbers
explanation        what is known of a URL
reasons            the reasons for fetching a URL, in words
omissions          what a crawl left out, in words
review             pages for the user to label
export             which pages and which of their texts an export holds
imports            pages of WARC files and of peers
upkeep             rebuild, import, label, undo, forget
atlas              builds topical maps from collections
taxonomies         classifies pages by topic
"""
