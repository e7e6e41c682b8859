"""The one rule for "is this host public?", on addresses, on names, and where each part of the program uses it."""

from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.hosts import is_private, is_public, why_not_public, why_not_public_address, why_url_refused
from lycosa_peers.addresses import Endpoint, is_local


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("169.254.169.254", "link-local"),
        ("100.64.0.1", "CGNAT"),
        ("100.127.255.255", "CGNAT"),
        ("192.0.0.8", "reserved"),
        ("192.0.2.1", "reserved"),
        ("198.18.0.1", "reserved"),
        ("198.51.100.7", "reserved"),
        ("203.0.113.9", "reserved"),
        ("224.0.0.1", "multicast"),
        ("239.255.255.255", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("[::1]", "loopback"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("fec0::1", "site-local"),
        ("fc00::1", "unique local"),
        ("fd12:3456::1", "unique local"),
        ("ff02::1", "multicast"),
        ("2001:db8::1", "reserved"),
        ("100::1", "reserved"),
        ("4000::1", "reserved"),
        ("2001:10::1", "reserved"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:10.1.2.3", "private"),
        ("::127.0.0.1", "loopback"),
        ("64:ff9b::127.0.0.1", "loopback"),
        ("64:ff9b::a9fe:a9fe", "link-local"),
        ("64:ff9b:1::10.0.0.1", "private"),
        ("64:ff9b:1:7f00:0:100::", "private"),
        ("64:ff9b:1:abcd::192.168.0.1", "private"),
        ("64:ff9b:1::", "private"),
        ("64:ff9b:1:7f:0:1::", "private"),  # 127.0.0.1 behind 56 bits
        ("64:ff9b:1:0:7f::100:0", "private"),  # and behind 64
        ("64:ff9b:1::8.8.8.8", "private"),
        ("2606:4700::5efe:10.0.0.1", "private"),  # ISATAP
        ("2606:4700::200:5efe:127.0.0.1", "loopback"),
        ("2002:7f00:1::", "loopback"),
        ("2002:c0a8:101::1", "private"),
        ("2001:0:808:808:0:0:80ff:fffe", "loopback"),  # Teredo: the client's address is inverted
        ("2001:0:a00:1:0:0:f7f7:f7f7", "private"),  # Teredo: the server's
        ("::ffff:0:127.0.0.1", "reserved"),
        ("", "not an IP address"),
        ("localhost", "not an IP address"),
        ("2130706433", "not an IP address"),
    ],
)
def test_what_is_not_public_is_refused_with_its_kind(address: str, kind: str) -> None:
    assert kind in (why_not_public_address(address) or "")


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "1.1.1.1",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "169.253.255.255",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2a00:1450:4001::200e",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "2606:4700::5efe:8.8.8.8",
        "2002:808:808::1",
        "2001:0:808:808:0:0:f7f7:f7f7",
    ],
)
def test_a_public_address_may_be_connected_to(address: str) -> None:
    assert why_not_public_address(address) is None


# The blocks of https://www.iana.org/assignments/iana-ipv4-special-registry and of iana-ipv6-special-registry, without
# those that embed an IPv4 address; and multicast.
SPECIAL = """
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29 192.0.0.8/32
192.0.0.9/32 192.0.0.10/32 192.0.0.170/31 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16
192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 255.255.255.255/32
::1/128 ::/128 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:2::/48 2001:3::/32
2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7
fe80::/10 ff00::/8
"""


@pytest.mark.parametrize("block", SPECIAL.split())
def test_every_block_of_the_registries_is_refused_from_end_to_end(block: str) -> None:
    network = ip_network(block)
    for address in (network[0], network[network.num_addresses // 2], network[-1]):
        assert why_not_public_address(str(address)), address


@given(st.integers(0, 2**32 - 1))
def test_what_the_standard_library_calls_private_is_refused_in_every_disguise(number: int) -> None:
    ip = IPv4Address(number)
    if not ip.is_global or ip.is_multicast:
        disguises = [
            0xFFFF << 32 | number,
            0x64FF9B << 96 | number,
            0x2002 << 112 | number << 80,
            0x2606_4700 << 96 | 0x5EFE << 32 | number,
            0x2606_4700 << 96 | 0x300_5EFE << 32 | number,
        ]
        for address in [str(ip), *(str(IPv6Address(disguise)) for disguise in disguises)]:
            assert why_not_public_address(address)


@given(st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    why_not_public_address(text)
    assert is_public(text) <= (not is_private(text))


LOCAL = "a name of a local network"


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("localhost", "loopback"),
        ("LOCALHOST.", "loopback"),
        ("deep.localhost", "loopback"),
        ("ｌｏｃａｌｈｏｓｔ", "loopback"),  # full width
        ("127.1", "loopback"),
        ("2130706433", "loopback"),  # 127.0.0.1 as one number,
        ("0x7f000001", "loopback"),
        ("017700000001", "loopback"),  # in octal,
        ("0177.0.0.1", "loopback"),
        ("0x7f.0.0.01.", "loopback"),  # and mixed
        ("127。0。0。1", "loopback"),  # ideographic full stops
        ("[::1]", "loopback"),
        ("0:0:0:0:0:0:0:1", "loopback"),
        ("fe80::1%25eth0", "link-local"),
        ("[fe80::1%eth0]", "link-local"),
        ("::ffff:10.0.0.1", "private"),
        ("::ffff:a00:1", "private"),
        ("2002:c0a8:101::1", "private"),
        ("64:ff9b::7f00:1", "loopback"),
        ("3232235777", "private"),
        ("192.0.2.7", "documentation"),
        ("printer.local", LOCAL),
        ("Printer.Lan.", LOCAL),
        ("db.internal", LOCAL),
        ("internal.", LOCAL),
        ("nas.home.arpa", LOCAL),
        ("home.arpa", LOCAL),
        ("intranet", LOCAL),
        ("intranet.", LOCAL),
        ("", "not the name"),
        (".", "not the name"),
        ("a..b", "not the name"),
        ("site.org..", "not the name"),
        ("1.2.3.4.5", "not the name"),
        ("256.1.1.1", "not the name"),
        ("a b.org", "not the name"),
        ("localhost:80", "not the name"),
        ("me@8.8.8.8", "not the name"),
        ("site.org/x", "not the name"),
        ("\ud800.org", "not the name"),
    ],
)
def test_a_private_host_is_known_in_every_spelling(host: str, kind: str) -> None:
    assert kind in (why_not_public(host) or "")
    assert is_private(host)
    assert not is_public(host)


@pytest.mark.parametrize(
    "host",
    [
        "example.org",
        "Www.Example.Org.",
        "mylocalhost.org",
        "local.org",
        "internal.example.org",
        "a.b2",
        "xn--bcher-kva.de",
        "bücher.de",
        "under_score.org",
        "8.8.8.8",
        "134744072",
        "0x8.8.8.8",
        "[2606:4700:4700::1111]",
        "2606:4700:4700::1111%1",
        "64:ff9b::8.8.8.8",
    ],
)
def test_a_public_host_is_public_in_every_spelling(host: str) -> None:
    assert why_not_public(host) is None
    assert is_public(host)
    assert not is_private(host)


@pytest.mark.parametrize("host", ["site.example", "example", "a.test.", "nowhere.invalid", "X.EXAMPLE"])
def test_a_reserved_name_is_neither_public_nor_private(host: str) -> None:
    assert not is_public(host)
    assert not is_private(host)


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_is_the_same_host_in_all_its_spellings(number: int) -> None:
    address = str(IPv4Address(number))
    a, b, c, d = address.split(".")
    spellings = [str(number), hex(number), f"0{number:o}", f"{a}.{b}.{int(c) * 256 + int(d)}", f"{address}."]
    assert {why_not_public(spelling) for spelling in spellings} == {why_not_public_address(address)}


@given(st.integers(0, 2**128 - 1))
def test_a_host_that_is_an_address_is_judged_as_the_address(number: int) -> None:
    for address in (IPv4Address(number % 2**32), IPv6Address(number)):
        assert why_not_public(str(address)) == why_not_public_address(str(address))


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "printer.local", "intranet", "site.example", "site.org", "8.8.8.8", "10.0.0.1"]
)
def test_maps_peers_and_the_rule_agree(host: str) -> None:
    assert (why_url_refused(f"http://{host}/") is None) == (not is_private(host))
    assert why_url_refused(f"http://{host}/", allow_private=True) is None
    assert is_local(Endpoint(host, 80)) == is_private(host)


@pytest.mark.parametrize("host", ["256.1.1.1", "1.2.3.4.5", "a..b"])
def test_what_is_no_host_is_not_local(host: str) -> None:
    assert is_private(host)
    assert not is_local(Endpoint(host, 80))
