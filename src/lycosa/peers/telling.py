"""Who a running peer is, for its owner."""

from lycosa.vocabulary.records import Plain

from .serving import Peer


def told_of(peer: Peer) -> Plain:
    """Who a running peer is, whom it knows, what happened; for `peer show`."""
    node = peer.node
    return {
        "name": peer.identity.name,
        "address": node.me.address,
        "group": peer.identity.group.name if peer.identity.group else None,
        "pages": peer.content.pages,
        "connected": peer.wire.peers,
        "buddies": [
            {"name": each.contact.name, "address": each.contact.address, "count": each.count} for each in node.buddies
        ],
        "neighbours": [
            {"name": name, "address": node.neighbours.address(name), "is_down": name in node.neighbours.down}
            for name in node.neighbours.names
        ],
        "indexes": [
            {"name": name, "version": held.version, "bytes": len(held.packed())}
            for name, held in ((name, node.held.get(name)) for name in node.held.names())
            if held is not None
        ],
        "counts": dict(sorted((node.counts + peer.counts + peer.wire.counts + peer.content.counts).items())),
    }
