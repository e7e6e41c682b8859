"""The lab: strategies compared on fixed worlds, with measures, statistics, costs and figures.

A study (`study`) splits its work into jobs, runs them on every core and computes claims, tables and figures, which
`results` writes to disk. `studies` has one file or folder for each. In a folder, `shared` has the inputs of all jobs,
`runs` does one job, `tables` and `figures` combine the outcomes, and `claims` computes the claims of the paper.

A crawl in the lab is `simulation.crawl`, on pages cached by `page_cache`; `measures` fold its steps, `statistics` has
the tests, and `tables` the rows and curves of means. `topics` chooses topics from a world's directory (a list of pages
by category, like the Open Directory), `comparison` compares any strategies, and `test_bed` and `crawl_tables` are
shared by the three studies of topicality (share of pages on the topic) and status (their in-links).
"""
