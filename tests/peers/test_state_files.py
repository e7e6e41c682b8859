"""What a peer finds of its contacts and indexes after a restart, also if a file of them is damaged."""

import pytest

from lycosa_peers.content import ItemSummary
from lycosa_peers.messages import Contact, Envelope, Index, IndexRequest
from lycosa_peers.node import Node
from lycosa_peers.peer_folder import PeerFolder
from lycosa_peers.state_files import INDEXES_FILE, StateFiles
from small_networks import friend, node


@pytest.fixture
def folder(tmp_path):
    return PeerFolder(tmp_path)


def holder(**options: object) -> Node:
    """A node that holds the index of its buddy b."""
    asker = node("a", **options)
    asker.buddies.answered(Contact("b"))
    asker.checkpoint()
    asker.checkpoint()
    asker.receive("b", Index(0, ItemSummary(frozenset([5])).packed()), 0.0)
    assert asker.held.names() == ["b"]
    return asker


def test_a_damaged_file_of_indexes_is_replaced_at_the_next_save(folder):
    folder.write(INDEXES_FILE, b"\xc1")
    files, peer = StateFiles(folder), friend("a")
    assert files.restore(peer) == [INDEXES_FILE]
    files.save(peer)
    assert StateFiles(folder).restore(friend("a")) == []


def test_indexes_that_are_dropped_before_the_first_save_are_not_there_after_the_next_restart(folder):
    StateFiles(folder).save(holder())
    files, peer = StateFiles(folder), node("a")
    files.restore(peer)
    peer.held.drop("b")
    files.save(peer)
    again = node("a")
    StateFiles(folder).restore(again)
    assert again.held.names() == []


def test_indexes_that_did_not_change_are_not_written_again(folder):
    StateFiles(folder).save(holder())
    files, peer = StateFiles(folder), node("a")
    files.restore(peer)
    assert peer.held.names() == ["b"]
    folder.remove(INDEXES_FILE)
    peer.checkpoint()
    files.save(peer)
    assert folder.read(INDEXES_FILE) is None


def test_a_peer_whose_index_was_wanted_at_the_last_checkpoint_is_asked_at_the_first_one_after_a_restart(folder):
    files, peer = StateFiles(folder), node("a")
    files.restore(peer)
    files.save(peer)
    peer.buddies.answered(Contact("b"))
    assert peer.checkpoint() == []
    files.save(peer)
    again = node("a")
    StateFiles(folder).restore(again)
    assert again.checkpoint() == [Envelope("b", IndexRequest())]


def test_checkpoints_between_two_refreshes_are_counted_over_a_restart(folder):
    peer = holder(refresh_checkpoints=4)
    files = StateFiles(folder)
    files.save(peer)
    assert peer.checkpoint() == []
    files.save(peer)
    again = node("a", refresh_checkpoints=4)
    StateFiles(folder).restore(again)
    assert again.checkpoint() == [Envelope("b", IndexRequest(0))]


def test_that_a_node_has_searched_is_known_after_a_restart(folder):
    peer = node("a", algorithm="walk+index")
    peer.connect(["b"])
    peer.ask(5, 0.0)
    StateFiles(folder).save(peer)
    again = node("a", algorithm="walk+index")
    StateFiles(folder).restore(again)
    assert again.index_owners() == peer.index_owners() == ["b"]
