"""A crawl by several processes of this machine, its workers.

    crawl        `ParallelCrawl` begins as any crawl, until URLs of several registered domains wait and the topic is
                 known; then it makes a shard for each worker, and gathers them at the end
    coordinator  `Coordinator` starts the workers, hands out pages of the budget, passes on what they send each other,
                 and knows when nothing is left
    worker       a process that crawls one shard
    outbox       the frontier of a worker, which sends the URLs of other shards, and keeps them until they have arrived
    messages     what coordinator and workers send each other

A registered domain belongs to one shard, by the hash of its name, so that each worker alone keeps the delays of its
hosts.
"""
