"""The lab: strategies compared on fixed worlds, with measures, statistics, costs and figures.

A study (`study`) splits its work into jobs, runs them on every core and concludes with claims, tables and figures,
which `results` writes to disk. `studies` has one file or folder for each. In a folder, `shared` is what all jobs share,
`runs` does one job, `tables` and `figures` put the outcomes together, and `claims` computes what the paper claims.

A crawl in the lab is `simulation.crawl`, on pages that `page_cache` reads once; `measures` fold its steps,
`statistics` has the tests, and `tables` the rows and curves of means. `topics` chooses what to crawl for from a world's
directory, `comparison` compares any strategies, and `test_bed` and `crawl_tables` serve the three studies of topicality
and status.
"""
