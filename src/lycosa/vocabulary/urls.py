"""Normalised URLs: absolute, http or https, in the form of the WHATWG standard, without fragment and credentials.

>>> join("http://example.org/a/b.html", "../c?q=1#top")
'http://example.org/c?q=1'
"""

import re
from functools import cache, lru_cache
from hashlib import blake2b

import ada_url
import xxhash
from publicsuffixlist import PublicSuffixList

from .errors import UsageError
from .networks import SITE, network_of
from .records import Host, Url
from .text import whole_number

# Most URLs are normalised already. These patterns recognise them without the parser, which is slower.
_SEGMENT = "[A-Za-z0-9_~-][A-Za-z0-9_.~-]*+"
_PATH = f"(?:{_SEGMENT}(?:/{_SEGMENT})*+/?+)?+"
_PLAIN_PATH = re.compile(f"(/|\\.\\./(?:\\.\\./)?+)?{_PATH}").fullmatch
_NAME = "(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\\.)+[a-z]{2,}"
_ADDRESS = "(?:OCTET\\.){3}OCTET".replace("OCTET", "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])")
_PLAIN_URL = re.compile(f"https?://(?:{_NAME}|{_ADDRESS})(?::(?:[1-9][0-9]{{3}}|[1-5][0-9]{{4}}))?/{_PATH}").fullmatch
_MAX_CACHED_HREF = 200  # characters
_MAX_HOST_TEXT = 300  # characters of a host that a user names
# Not right after an incomplete escape, which the decoded character could complete: "%2%65", "%%655".
_ESCAPE = re.compile(r"(?<!%)(?<!%[0-9A-Fa-f])%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


def normalise(text: str) -> Url | None:
    """The text as a normalised URL; None if it is not a URL that can be crawled."""
    try:
        return _cleaned(ada_url.normalize_url(text.strip()))
    except ValueError:
        return None


def checked_url(text: str) -> Url:
    """The URL that a user has given; raises UsageError if it cannot be crawled."""
    url = normalise(text)
    if url is None:
        raise UsageError(f"not a URL that can be crawled: {text!r}; write http://… or https://…")
    return url


def join(base: str, href: str) -> Url | None:
    """The URL of a link `href` on the page `base`; None if it cannot be crawled."""
    return Joiner(base)(href)


class Joiner:
    """Resolves the links of one page; faster than `join` for many links."""

    def __init__(self, base: str):
        self._base = base
        self._origin = origin_of(base)
        if self._origin.endswith(".") or ".:" in self._origin:  # as older versions stored it
            self._base = base = normalise(base) or base
            self._origin = origin_of(base)
        path = base[len(self._origin) :].partition("?")[0] or "/"
        directory = path[: path.rindex("/") + 1]
        parent = directory[: directory[:-1].rfind("/") + 1] or "/"
        grandparent = parent[: parent[:-1].rfind("/") + 1] or "/"
        folders = {"/": "/", "../": parent, "../../": grandparent, None: directory}
        self._folders = {prefix: self._origin + path for prefix, path in folders.items()}  # by the start of the link

    def __call__(self, href: str) -> Url | None:
        # Such links mean the same on every page of a site, and most of them occur on many of its pages.
        if href.startswith(("/", "http://", "https://")) and len(href) <= _MAX_CACHED_HREF:
            return _joined_to_origin(self._origin, href)
        plain = href.partition("#")[0]
        if plain and (match := _PLAIN_PATH(plain)):
            return Url(self._folders[match[1]] + plain[match.end(1) :] if match[1] else self._folders[None] + plain)
        return _joined(self._base, href)


@lru_cache(maxsize=10_000)
def _joined_to_origin(origin: str, href: str) -> Url | None:
    plain = href.partition("#")[0]
    if _PLAIN_PATH(plain):
        return Url(origin + plain)
    return Url(plain) if _PLAIN_URL(plain) else _joined(origin + "/", href)


def _joined(base: str, href: str) -> Url | None:
    try:
        return _cleaned(ada_url.join_url(base, href))
    except ValueError:
        return None


def _cleaned(url: str) -> Url | None:
    if not url.startswith(("http://", "https://")):
        return None
    url = url.partition("#")[0]
    scheme, _, rest = url.partition("://")
    authority, slash, tail = rest.partition("/")
    if "@" in authority:
        authority = authority.rpartition("@")[2]
        url = f"{scheme}://{authority}{slash}{tail}"
    if (name := without_final_dot(authority)) != authority:  # which means the same, and must not count as another host
        authority = name
        if authority.endswith(".") or ".:" in authority:  # several
            return None
        url = f"{scheme}://{authority}{slash}{tail}"
    if not authority or authority.startswith(":"):
        return None
    if "%" in tail:
        url = f"{scheme}://{authority}{slash}{_ESCAPE.sub(_normalise_escape, tail)}"
    return Url(url[:-1] if url.find("?") == len(url) - 1 else url)  # a query that is empty


def _normalise_escape(match: re.Match[str]) -> str:
    byte = int(match[1], 16)
    return chr(byte) if byte in _UNRESERVED else match[0].upper()


def origin_of(url: str) -> str:
    """Scheme and authority, without a trailing slash."""
    end = url.find("/", 8)
    return url if end < 0 else url[:end]


def host_of(url: str) -> Host:
    """Host name, with the port unless it is the scheme's default: the unit of delays, queues and robots.txt.

    >>> host_of("http://a.example:8080/bees")
    'a.example:8080'
    """
    host = url.split("/", 3)[2]
    return Host(without_final_dot(host) if host.endswith(".") or ".:" in host else host)


def without_final_dot(host: str) -> str:
    """A host name, with or without a port, without the dot after the last label.

    >>> without_final_dot("a.example."), without_final_dot("a.example.:8080"), without_final_dot("a.example")
    ('a.example', 'a.example:8080', 'a.example')
    """
    name, colon, port = host.partition(":")
    return f"{name.removesuffix('.')}{colon}{port}"


def host_spellings(host: str) -> tuple[str, ...]:
    """A host with and without its port, each also with the dot at the end of the name that older versions kept.

    In this order: as given, without port, as given with the dot, without port and with the dot. An IPv6 address has the
    first two only.
    """
    host = without_final_dot(host)
    if host.startswith("["):
        return host, hostname_of(f"http://{host}")
    name, colon, port = host.partition(":")
    return host, name, f"{name}.{colon}{port}", f"{name}."


def host_named(text: str) -> Host | None:
    """The host that a user named, as URLs have it; None if it is not one.

    >>> host_named("Bücher.example"), host_named("a.example:8080"), host_named("a.example/b")
    ('xn--bcher-kva.example', 'a.example:8080', None)
    """
    host = text.strip().lower().rstrip("/.")
    if not host or len(host) > _MAX_HOST_TEXT or set(host) & set("/\\@?# "):
        return None
    url = normalise(f"http://{host}/")
    named = None if url is None else host_of(url)
    return None if named is None or len(named) > _MAX_HOST_TEXT else named  # in Punycode, it may be longer


def url_and_host_spellings(url: str) -> tuple[str, ...]:
    """A URL and its host in all spellings that may have been stored for them; see `host_spellings`."""
    host = url.split("/", 3)[2]
    hosts = host_spellings(host)
    hosts_with_port = hosts[::2] if len(hosts) > 2 else hosts[:1]
    scheme, rest = url[: url.index("//") + 2], url[url.index("//") + 2 + len(host) :]
    return url, *(f"{scheme}{each}{rest}" for each in hosts_with_port), *hosts


def hostname_of(url: str) -> str:
    """Host name without the port, IPv6 addresses without brackets."""
    host = host_of(url)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def port_of(url: str) -> int | None:
    """The port, if the URL has one; default ports are not part of normalised URLs.

    >>> port_of("http://[::1]:8080/"), port_of("http://a.example/")
    (8080, None)
    """
    port = host_of(url).rpartition("]")[2].rpartition(":")[2]
    return whole_number(port, maximum=65_535) if ":" in host_of(url) else None


def path_of(url: str) -> str:
    """Path and query."""
    return url[len(origin_of(url)) :] or "/"


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@cache
def _known_suffixes() -> PublicSuffixList:
    return PublicSuffixList(accept_unknown=False)


@lru_cache(maxsize=16_384)
def site_of(url_or_host: str) -> str:
    """The registered domain; for an IP address, the address, or the IPv6 network that its owner has as a rule."""
    name = hostname_of(url_or_host) if "://" in url_or_host else hostname_of(f"http://{url_or_host}")
    if ":" in name:
        return network_of(name, SITE)
    if name.replace(".", "").isdigit():
        return name
    return _suffixes().privatesuffix(name) or name


def has_known_suffix(name: str) -> bool:
    """Whether a host name ends in an existing top-level domain.

    >>> has_known_suffix("example.org"), has_known_suffix("page.html")
    (True, False)
    """
    return _known_suffixes().privatesuffix(name) is not None


def is_node(url: str | int) -> bool:
    """Whether a "URL" is the number of a node in one of the lab's graphs, which has no host, path or words.

    Every function that takes URLs apart asks this first.
    """
    return not isinstance(url, str)


def key_of(url: str | int, seed: int = 0) -> int:
    """A 64-bit hash of a URL, signed to fit into SQLite; the number of a node is its own key.

    seed: keeps sites from computing URLs with the key of another, if it is random and kept to oneself.
    """
    if not isinstance(url, str):
        return url
    key: int = xxhash.xxh3_64_intdigest(url.encode(), seed)
    return key - (1 << 64) if key >= 1 << 63 else key


def secure_key_of(url: str | int) -> int:
    """A 64-bit hash for what must not be mistaken for another URL: what was visited is not followed again.

    For the hash of `key_of`, a site can compute a URL of its own that has the key of any other, within a minute.
    """
    if not isinstance(url, str):
        return url
    return int.from_bytes(blake2b(url.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little", signed=True)
