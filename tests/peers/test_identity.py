"""Who a peer is, and what its certificates are good for."""

import stat
from contextlib import suppress
from pathlib import Path

import pytest
from OpenSSL import SSL

from lycosa.vocabulary.errors import CollectionError, UsageError
from lycosa_peers.identity import Group, Identity, is_peer_name, peer_name_of
from lycosa_peers.peer_folder import PeerFolder


def shake_hands(one: Identity, other: Identity) -> tuple[SSL.Connection, SSL.Connection]:
    """A handshake in memory; raises SSL.Error where one side refuses."""
    client, server = SSL.Connection(one.context(), None), SSL.Connection(other.context(), None)
    client.set_connect_state()
    server.set_accept_state()
    for _ in range(6):
        for here, there in ((client, server), (server, client)):
            with suppress(SSL.WantReadError):
                here.do_handshake()
            with suppress(SSL.WantReadError):
                there.bio_write(here.bio_read(1 << 16))
    for here in (client, server):
        with pytest.raises(SSL.WantReadError):
            here.recv(1)
    return client, server


def test_both_sides_learn_the_name_of_the_other():
    one, other = Identity.new(), Identity.new()
    client, server = shake_hands(one, other)
    assert peer_name_of(client) == other.name
    assert peer_name_of(server) == one.name
    assert is_peer_name(one.name)
    assert client.get_protocol_version_name() == "TLSv1.3"


def test_members_of_a_group_meet():
    group = Group.new()
    one, other = Identity.new(group), Identity.new(Group.from_secret(group.secret))
    client, _ = shake_hands(one, other)
    assert peer_name_of(client) == other.name


@pytest.mark.parametrize("stranger", [None, Group.new()], ids=["no group", "another group"])
@pytest.mark.parametrize("calls", [True, False])
def test_nobody_else_gets_into_a_group(stranger, calls):
    member, outsider = Identity.new(Group.new()), Identity.new(stranger)
    with pytest.raises(SSL.Error):
        shake_hands(*((outsider, member) if calls else (member, outsider)))


def test_a_file_without_end_is_no_secret():
    with pytest.raises(UsageError, match="larger than"):
        Group.from_file(Path("/dev/zero"))


def test_a_member_cannot_take_the_name_of_another():
    group = Group.new()
    victim, member, third = (Identity.new(group) for _ in range(3))
    client, _ = shake_hands(third, member)
    assert peer_name_of(client) == member.name != victim.name


def test_an_identity_is_kept(tmp_path):
    first = Identity.load(PeerFolder(tmp_path))
    assert Identity.load(PeerFolder(tmp_path)).name == first.name
    assert stat.S_IMODE((tmp_path / "peer" / "key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "peer").stat().st_mode) == 0o700


def test_a_key_that_is_none_is_told(tmp_path):
    PeerFolder(tmp_path).write("key.pem", b"nonsense")
    with pytest.raises(CollectionError, match="no key of a peer"):
        Identity.load(PeerFolder(tmp_path))


@pytest.mark.parametrize("text", ["", "secret", "lycosa-group-1:", "lycosa-group-1:abc", "lycosa-group-2:" + "a" * 52])
def test_a_weak_or_damaged_secret_is_refused(tmp_path, text):
    (tmp_path / "secret").write_text(text)
    with pytest.raises(UsageError, match="not the secret of a group"):
        Group.from_file(tmp_path / "secret")
