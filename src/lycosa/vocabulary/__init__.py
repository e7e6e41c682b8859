"""What all other packages share: records, contracts, and functions for URLs, text and files; it imports none of them.
Read `records` and `contracts` first.

Glossary, in the order of a page's journey:

    topic         what a collection is about: examples, words, keywords, a rule, or a function
    seed          a URL from which a crawl starts
    candidate     a URL that may be fetched, with its priority and the reasons for it
    frontier      the waiting candidates, in a queue for each host
    host          a host name, with the port unless it is the default: the unit of delays, queues and robots.txt
    site          a registered domain with all its hosts
    slot          permission for one request at a time, to a host or to hosts that share a limit
    hold          a time before which a host gets no request: it asked for it, or its requests failed
    settled       said of a URL that was visited or skipped, and so is never queued again
    scope         which URLs a crawl may fetch
    quota         the most pages that may be stored of a host or a site
    skip          a candidate that was never fetched, and why
    fetch         the result of one request, with its outcome
    page          a parsed HTML page: title, text, words, links, language
    kept          said of a page that is stored; one that is left out was fetched and is not stored
    folded        said of text in lower case, with single blanks between words, as UTF-8
    code          a 64-bit hash of a word, which stands for it
    relevance     how well a page fits the topic, 0 to 1 (the papers' topicality); a page is relevant at 0.5 or more
    judge         gives pages their relevance: a trained model, a rule or a function
    standing      importance of a page on the Web, 0 to 1 (the papers' status, authority)
    reach         how many people visit a domain, by a table or lists of ranks; of a map, how near spokes are to portals
    visit         a candidate that was fetched, with its page and scores: what a strategy learns from
    strategy      decides what to fetch next by giving candidates their priorities
    harvest rate  share of the stored pages that are relevant
    collection    the folder of a crawl: archive (WARC), catalog (SQLite), search index, recipe
    session       a collection opened for writing by one process
    journal       writes the events of a crawl to archive and catalog
    upkeep journal  a file that says which rebuild or removal a kill has interrupted
    checkpoint    a moment at which all state is saved, so that after a kill only later events are read again
    run           one crawl or refresh of a session, from its start to its stop
    steering      commands of the user to a crawl: hosts to block, hosts and URLs to boost, labels
    forgotten     said of a URL or host that the user had removed, and that is never fetched again
    refresh       fetching pages of the collection again; its policy chooses which
    look          one fetch of a stored page, with what it found: unchanged, changed or vanished
    lane          one of two queues of a refresh: new links, and pages to fetch again
    guide         a map or a log that helps a strategy
    map           pages of earlier crawls on a topic, and the portals that lead to them; an atlas holds several
    portal        a page of a map from which many others are reached
    spoke         a page of a map that is tied to a portal, and is fetched after it
    log           an access log: which pages people have read, in which order
    readers       the people of an access log; the class Reader parses a fetch into a page
    peer          a running Lycosa that searches others' collections and answers for its own
    buddy         a peer that has answered well, and is asked first
    walker        one of the random walks that a query takes from peer to peer
    world         pages and links to crawl offline, with their true relevance; fixed by name, options and seed
    study         an experiment on worlds whose claims are computed from its runs
"""
