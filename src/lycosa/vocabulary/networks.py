"""Which IP addresses belong together: those that lead to one machine, and the networks that one owner is given.

Whoever has one IPv6 address usually has a network of 2^64 of them or more, and can give each a name of its own.
"""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_COMPATIBLE = IPv6Network("::/96")
_NAT64 = IPv6Network("64:ff9b::/96")
SUBNET, SITE = 64, 48  # bits of the IPv6 network of one link, and of what one owner is given at most as a rule


def embedded_addresses(ip: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses to which packets for an IPv6 address may be delivered."""
    number = int(ip)
    if ip.ipv4_mapped is not None:
        yield ip.ipv4_mapped
    elif ip in _COMPATIBLE or ip in _NAT64:
        yield IPv4Address(number & 0xFFFFFFFF)
    elif ip.sixtofour is not None:
        yield ip.sixtofour
    elif ip.teredo is not None:
        yield from ip.teredo


@lru_cache(maxsize=100_000)
def machine_at(address: str) -> str:
    """An IP address, or the IPv4 address to which packets for it are delivered; other text as it is.

    >>> machine_at("::ffff:1.2.3.4"), machine_at("2002:102:304::7"), machine_at("2a00::1")
    ('1.2.3.4', '1.2.3.4', '2a00::1')
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    *_, innermost = (ip, *embedded_addresses(ip)) if isinstance(ip, IPv6Address) else (ip,)
    return str(innermost)


@lru_cache(maxsize=100_000)
def network_of(address: str, bits: int = SUBNET) -> str:
    """The network of an IPv6 address; of any other address, and of an embedded one, the address itself.

    >>> network_of("2a00:0:0:1::1"), network_of("2a00:0:0:1::1", SITE), network_of("64:ff9b::1.2.3.4")
    ('2a00:0:0:1::/64', '2a00::/48', '1.2.3.4')
    """
    machine = machine_at(address)
    return str(IPv6Network((machine, bits), strict=False)) if ":" in machine and is_address(machine) else machine


def is_address(text: str) -> bool:
    """Whether a text is an IP address, and not a name."""
    try:
        return bool(ip_address(text))
    except ValueError:
        return False
