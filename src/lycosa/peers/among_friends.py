"""How peers behave that real people run: a few friends, who answer each other within two seconds."""

from .options import NodeOptions

OPTIONS = NodeOptions(
    walkers=8,
    ttl=16,  # friends are few
    downloads=False,  # the user takes what they want
    says_no=True,  # so that a search that is over is over before its deadline
    secret_walkers=True,
    demotes_unreachable=True,
    credited=3,
    checkpoint=60.0,
    capacity=400.0,
    capacity_per_peer=200.0,
    fetch_wait=20.0,  # a page of some megabytes over a slow line
    ping=30.0,  # keeps connections open, and finds those again that were gone
    most_hits=30,
    most_ttl=64,
    most_per_query=1024,
)
