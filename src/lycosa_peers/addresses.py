"""Addresses of peers: `HOST:PORT`, or `NAME@HOST:PORT` with the expected name of the peer."""

from ipaddress import ip_address
from typing import NamedTuple

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.hosts import NOT_A_HOST, is_private, why_not_public
from lycosa.vocabulary.networks import network_of
from lycosa.vocabulary.text import whole_number

from .identity import NAME_LENGTH, is_peer_name


class Endpoint(NamedTuple):
    """A host and a port to connect to."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_endpoint(text: str) -> Endpoint | None:
    """The endpoint that a text names; None if it is malformed, or a label of its host is empty or too long."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        return None
    number = whole_number(port, maximum=65_535)
    if not colon or not host or len(host) > 253 or number is None:
        return None
    if not all(letter.isalnum() or letter in ".-:" for letter in host) or not host.isascii():
        return None
    if not all(0 < len(label) < 64 for label in host.removesuffix(".").split(".")):
        return None
    return Endpoint(host, number)


def endpoint_argument(text: str, *, option: str) -> Endpoint:
    endpoint = parse_endpoint(text)
    if endpoint is None:
        raise UsageError(f"{option} {text!r} is not HOST:PORT, such as 192.0.2.7:7077 or [2001:db8::7]:7077")
    return endpoint


def join_argument(text: str) -> tuple[str, Endpoint]:
    """The expected name of the peer, empty if unknown, and its endpoint."""
    name, at, rest = text.rpartition("@")
    endpoint = endpoint_argument(rest, option="--join")
    if at and not is_peer_name(name):
        raise UsageError(f"--join {text!r}: {name!r} is no name of a peer, which has {NAME_LENGTH} letters and digits")
    if not endpoint.port:
        raise UsageError(f"--join {text!r}: port 0 cannot be connected to; give the port that the peer listens on")
    return name, endpoint


def is_unspecified(endpoint: Endpoint) -> bool:
    """Whether it is the wildcard address, such as 0.0.0.0, for all addresses of the machine."""
    try:
        return ip_address(endpoint.host).is_unspecified
    except ValueError:
        return False


def address_group(address: str) -> str:
    """The key by which connections from an IP address, or to the host of an endpoint, are counted: for IPv6 the /64
    network, which is what one customer gets, else the address itself, which an IPv6 address may only wrap."""
    return network_of(address.removeprefix("[").removesuffix("]"))


def is_local(endpoint: Endpoint) -> bool:
    """Whether it is on this machine or in a private network, by the text of its host."""
    return is_private(endpoint.host) and why_not_public(endpoint.host) != NOT_A_HOST
