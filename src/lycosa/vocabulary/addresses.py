"""Which IP addresses a crawler of the public Web may connect to."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_CLOSED_V4 = tuple(
    (IPv4Network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared by a carrier (CGNAT)"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved for documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "reserved for benchmarks"),
        ("198.51.100.0/24", "reserved for documentation"),
        ("203.0.113.0/24", "reserved for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_CLOSED_V6 = tuple(
    (IPv6Network(network), kind)
    for network, kind in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private (unique local)"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private (site-local)"),
        ("ff00::/8", "multicast"),
        ("2001:db8::/32", "reserved for documentation"),
        ("3fff::/20", "reserved for documentation"),
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_PROTOCOLS_V6 = IPv6Network("2001::/23")  # IETF protocol assignments; Teredo is judged before
_COMPATIBLE = IPv6Network("::/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")


def why_refused(address: str) -> str | None:
    """What kind of address this is, where it is not a public one; None for an address that may be connected to."""
    try:
        ip = ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return "not an IP address"
    if isinstance(ip, IPv4Address):
        return _why_refused_v4(ip)
    for network, kind in _CLOSED_V6:
        if ip in network:
            return kind
    embedded = tuple(_embedded(ip))
    for inner in embedded:
        kind_inside = _why_refused_v4(inner)
        if kind_inside:
            return f"{kind_inside}, as it stands for {inner}"
    if embedded or (ip in _GLOBAL_V6 and ip not in _PROTOCOLS_V6):
        return None
    return "reserved"


def _why_refused_v4(ip: IPv4Address) -> str | None:
    return next((kind for network, kind in _CLOSED_V4 if ip in network), None)


def _embedded(ip: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that packets to an IPv6 address may end at."""
    number = int(ip)
    if ip.ipv4_mapped is not None:
        yield ip.ipv4_mapped
    elif ip in _COMPATIBLE or ip in _NAT64:
        yield IPv4Address(number & 0xFFFFFFFF)
    elif ip in _LOCAL_NAT64:  # RFC 6052 lets the network choose where in the address the IPv4 one is
        middle = (number >> 48) & 0xFFFF0000 | (number >> 40) & 0xFFFF
        low = number & 0xFFFFFFFF
        if middle or not low:
            yield IPv4Address(middle)
        if low:
            yield IPv4Address(low)
    elif ip.sixtofour is not None:
        yield ip.sixtofour
    elif ip.teredo is not None:
        yield from ip.teredo
