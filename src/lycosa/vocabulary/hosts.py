"""Which hosts are public: the one rule for contacts, maps, proxies, sockets and peers.

A host is an IP address or a name, in any spelling that a URL parser accepts. An address is public if it is in none of
the blocks of IANA's special-purpose registries; an IPv6 address that embeds an IPv4 address (mapped, compatible, NAT64,
6to4, Teredo) is as public as the embedded one, and one whose second half is that of a tunnel (ISATAP) is not public if
the embedded one is not. A name is judged by its spelling alone; the address it resolves to is checked again when a
socket is opened.

>>> why_not_public("0x7f.1"), why_not_public("printer.lan."), why_not_public("www.python.org")
('loopback', 'a name of a local network', None)
"""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from .networks import embedded_addresses
from .urls import hostname_of, normalise, url_and_host_spellings

MAX_URL_LENGTH = 2048  # characters of a URL received from others

_SPECIAL_PURPOSE_V4 = tuple(
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
        ("192.31.196.0/24", "reserved"),  # AS112, which answers for private addresses
        ("192.52.193.0/24", "reserved"),  # tunnels for multicast (AMT)
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "reserved"),  # AS112
        ("198.18.0.0/15", "reserved for benchmarks"),
        ("198.51.100.0/24", "reserved for documentation"),
        ("203.0.113.0/24", "reserved for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)
_SPECIAL_PURPOSE_V6 = tuple(
    (IPv6Network(network), kind)
    for network, kind in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private (unique local)"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private (site-local)"),
        ("ff00::/8", "multicast"),
        ("64:ff9b:1::/48", "private (NAT64 of a local network)"),  # which chooses where the IPv4 address stands
        ("2620:4f:8000::/48", "reserved"),  # AS112
        ("2001:db8::/32", "reserved for documentation"),
        ("3fff::/20", "reserved for documentation"),
    )
)
_GLOBAL_V6 = IPv6Network("2000::/3")
_PROTOCOLS_V6 = IPv6Network("2001::/23")  # IETF protocol assignments; Teredo is checked first
_ISATAP = 0x00005EFE  # third quarter of an address, apart from two bits; the fourth is an IPv4 address
_ISATAP_MASK = 0xFCFFFFFF

NOT_A_HOST = "not the name of a host"
_LOCAL_NAMES = (".local", ".internal", ".home.arpa", ".lan")
_RESERVED_NAMES = (".example", ".invalid", ".test")  # RFC 6761: they lead nowhere
_RESERVED = "reserved for documentation and tests"


@lru_cache(maxsize=10_000)
def why_not_public(host: str) -> str | None:
    """The kind of host, if it is not public; None for a public host.

    host: a name or an IP address, with or without brackets, scope and trailing dot.
    """
    name = _canonical(host)
    if name is None:
        return NOT_A_HOST
    if ":" in name or name.rpartition(".")[2].isdigit():
        return why_not_public_address(name)
    if f".{name}".endswith(".localhost"):
        return "loopback"
    if f".{name}".endswith(_RESERVED_NAMES):
        return _RESERVED
    if "." not in name or f".{name}".endswith(_LOCAL_NAMES):
        return "a name of a local network"
    return None


def is_public(host: str) -> bool:
    """Whether a host is on the public Internet, judged by its spelling."""
    return why_not_public(host) is None


def is_private(host: str) -> bool:
    """Whether a host is refused without `--allow-private`: it is not public, and not a name that leads nowhere.

    Names under `.example`, `.invalid` and `.test` are neither public nor private.
    """
    return why_not_public(host) not in (None, _RESERVED)


def is_reserved(host: str) -> bool:
    """Whether a host has a name that is reserved for documentation and tests."""
    return why_not_public(host) == _RESERVED


def _canonical(host: str) -> str | None:
    """A host in the spelling of normalised URLs: lower case, Punycode, IPv4 addresses as four decimal numbers."""
    bare = host.strip("[]").partition("%")[0]
    if any(mark in bare for mark in "/\\?#@"):  # a URL parser would take them for delimiters of the host
        return None
    try:
        url = normalise(f"http://[{bare}]/" if ":" in bare else f"http://{bare}/")
    except UnicodeEncodeError:
        return None
    name = hostname_of(url).removesuffix(".") if url else ""
    return None if "" in name.split(".") else name


def why_not_public_address(address: str) -> str | None:
    """The kind of IP address, if it is not public; None for a public one, which may be connected to.

    Names are refused, whatever they resolve to.
    """
    try:
        ip = ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return "not an IP address"
    if isinstance(ip, IPv4Address):
        return _why_not_public_v4(ip)
    for network, kind in _SPECIAL_PURPOSE_V6:
        if ip in network:
            return kind
    embedded = tuple(embedded_addresses(ip))
    for inner in (*embedded, *_at_end_of_tunnel(ip)):
        kind_inside = _why_not_public_v4(inner)
        if kind_inside:
            return f"{kind_inside}, as it stands for {inner}"
    if embedded or (ip in _GLOBAL_V6 and ip not in _PROTOCOLS_V6):
        return None
    return "reserved"


def _why_not_public_v4(ip: IPv4Address) -> str | None:
    return next((kind for network, kind in _SPECIAL_PURPOSE_V4 if ip in network), None)


def _at_end_of_tunnel(ip: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 address to which a router delivers what is sent to an IPv6 address in the form of ISATAP (RFC 5214)."""
    number = int(ip)
    if (number >> 32) & _ISATAP_MASK == _ISATAP:
        yield IPv4Address(number & 0xFFFFFFFF)


def why_url_refused(url: object, *, allow_private: bool = False) -> str | None:
    """Why a URL received from others (a map, a peer) may not be crawled, judged by its spelling; None if it may."""
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return "not http or https"
    if len(url) > MAX_URL_LENGTH:
        return f"longer than {MAX_URL_LENGTH} characters"
    try:
        if normalise(url) not in url_and_host_spellings(
            url
        ):  # the URL itself, or the same without the final dot of its host
            return "not spelt as a URL"
    except UnicodeEncodeError:
        return "not spelt as a URL"
    name = hostname_of(url).removesuffix(".")
    if "" in name.split("."):
        return "not spelt as a URL"
    return None if allow_private or not is_private(name) else "a private address"
