"""Peers that search each other's collections, and learn whom to ask.

The protocol, without sockets and clocks:
    messages    what peers send each other, and its encoding
    content     what a peer shares: `shared_collection`, with its `summary` for others
    routing     how a query travels: walks and floods
    node        one peer, made of `searches`, `replies`, `fetches`, `answering`, `forwarding`, `buddy_policy` and
                `membership` around their common `state`

Running it:
    peer        a node over TCP: `node_runner` on top of `wire`, `channel` and `dialer`, with its `identity`
    control     commands to the running peer
    simulation  many nodes with simulated time and messages
"""
