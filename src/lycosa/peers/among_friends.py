"""How peers behave that real people run: a few friends, who answer each other within two seconds."""

from .options import NodeOptions

OPTIONS = NodeOptions(
    walkers=8,
    ttl=16,  # friends are few
    downloads=False,  # the user takes what they want
    says_no=True,  # so that a search that is over is over before its deadline
    demotes_unreachable=True,
    credited=3,
    checkpoint=60.0,
    capacity=400.0,
    capacity_per_peer=200.0,
    fetch_wait=5.0,
    most_ttl=64,
    most_per_query=1024,
)
