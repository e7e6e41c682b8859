"""Compliance with robots.txt (RFC 9309)."""

import asyncio
import gc
import re
from collections import Counter, OrderedDict
from itertools import islice
from typing import NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace
from protego import Protego

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.contracts import HostSlots, Web
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
from lycosa.vocabulary.urls import host_of, join, origin_of, path_of, site_of

from .encodings import decode_body
from .outcomes import robots_unreachable_detail

MAX_CRAWL_DELAY = 30.0  # seconds; a longer Crawl-delay is reduced to this
_MAX_BYTES = 512_000  # of a robots.txt: 500 KiB, as RFC 9309 requires
_MAX_HOPS = 5  # redirects
_EMPTY_STATUSES = frozenset((204, 205))  # a robots.txt without a rule
_MAX_NEXT_HOPS = 10_000  # hosts whose robots.txt redirects and is still being followed
_LIFETIME = 86_400.0  # seconds for which a robots.txt is valid
_FIRST_WAIT = 60.0  # seconds until an unreachable robots.txt is requested again; doubles
_FIRST_WAIT_UNANSWERED = 5.0  # the same without any response: DNS, TLS or connection failure
_MAX_WAIT = 3_600.0
_MAX_HOSTS = 10_000
_MAX_CACHED_BYTES = 64_000_000  # bytes of parsed robots.txt, estimated, over all hosts
_BYTES_PER_RULE = 600  # of memory, once parsed
_BYTES_PER_OTHER_LINE = 100  # the same, of a line that is not a rule
_MAX_OTHER_LINES = 10_000  # lines that are not rules, such as the names of sitemaps
_MAX_DECISIONS = 10_000
_MAX_SITEMAPS_KEPT = 1_000  # of a robots.txt that was dropped
_MAX_WILDCARDS = 1_000  # rules with `*` or `$` for one robot
_MAX_RULES = 10_000  # for one robot
_AGENT_LINE = re.compile(r"\s*user[-\s]?\s*agent[\s:]+([^#]*)", re.IGNORECASE)
_RULE_LINE = re.compile(r"\s*+(allow|dis{1,2}al{1,2}[oa]w|diasllow)[\s:]++(.*)", re.IGNORECASE)
_DELAY_LINE = re.compile(r"crawl[-\s]\s*+delay", re.IGNORECASE)
_ORIGIN = re.compile(r"https?://[^/]*+", re.IGNORECASE)
_WILDCARD = re.compile(r"[*$]")
_PRODUCT_TOKEN = re.compile(r"[a-z_-]*", re.IGNORECASE)


class TextWeb(Web, Protocol):
    """A Web that also fetches what is not HTML: robots.txt and sitemaps."""

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        """One request for content of any type, of which at most `limit` bytes are read."""
        ...


class _Policy(Struct, frozen=True):
    """What the robots.txt of an origin (scheme, host and port) allows, valid until `until`."""

    until: float
    rules: Protego | None = None  # None: everything is allowed
    crawl_delay: float = 0.0  # seconds
    size: int = 0  # bytes, estimated
    outcome_of_all: Outcome | None = None  # of every page of the origin, if robots.txt could not be fetched
    detail: str = ""
    wait: float = 0.0  # seconds until robots.txt is requested again

    def forbids(self, url: Url, token: str) -> bool:
        return self.rules is not None and not self.rules.can_fetch("http://host" + path_of(url), token)


class _NextHop(Struct, frozen=True, gc=False):
    """The next URL to request for the robots.txt of an origin."""

    url: Url
    hops: int = 0  # redirects that led there
    not_before: float | None = None


class RobotsWeb:
    """Requests nothing that the robots.txt of a host forbids, and nothing at all while robots.txt is unreachable.

    A request for robots.txt counts like any other: if there is a delay between requests, the fetch is postponed after
    it, so that the next request (a redirect, the page) waits for the delay. A redirect to another host waits for a slot
    of that host.

    The rules of hosts are cached up to a size. Beyond it, those of the registered domain with the largest ones are
    dropped, so that no site can displace those of others; what they say of the URL that was postponed is kept.

    slots: limits requests to one at a time per host; None if no request is to wait.
    """

    def __init__(self, web: TextWeb, *, user_agent: str, clock: Clock, slots: HostSlots | None = None):
        self._web = web
        self._clock = clock
        self._slots = slots
        self._next_hops: OrderedDict[str, _NextHop] = OrderedDict()  # by origin
        token = _PRODUCT_TOKEN.match(user_agent)
        self._token = token[0].lower() if token else ""
        self._policies: OrderedDict[str, _Policy] = OrderedDict()  # by origin, least recently used first
        self._cached_bytes: Counter[str] = Counter()  # by registered domain
        self._dropped_bytes = 0  # since what was dropped has been freed
        self._postponed_urls: dict[str, Url] = {}  # by origin, whose policy is in `_policies` but was not used yet
        self._decisions: OrderedDict[Url, _Policy] = OrderedDict()  # for postponed URLs whose policy was dropped
        # Requests for robots.txt in flight, by origin, with the futures of those who wait for them.
        self._downloads: dict[str, list[asyncio.Future[None]]] = {}

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        """The page, or why it was not requested; with the time from which the host may be requested again."""
        policy = await self._policy_for(url)
        if not isinstance(policy, _Policy):
            return policy
        return self._refusal(url, policy) or self._delayed(await self._web.fetch(url, known=known), policy)

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        policy = await self._policy_for(url)
        if not isinstance(policy, _Policy):
            return policy
        return self._refusal(url, policy) or self._delayed(await self._web.fetch_any_type(url, limit=limit), policy)

    async def sitemaps(self, url: Url) -> "list[Url] | Fetch":
        """The sitemaps listed in the robots.txt of this URL's host; or a postponed fetch."""
        policy = await self._policy_for(url)
        if not isinstance(policy, _Policy):
            return policy
        if policy.rules is None:
            return []
        targets = (join(origin_of(url) + "/", target) for target in policy.rules.sitemaps)
        return list(dict.fromkeys(target for target in targets if target is not None))

    async def close(self) -> None:
        await self._web.close()

    def _refusal(self, url: Url, policy: _Policy) -> Fetch | None:
        now = self._clock.now()
        if policy.outcome_of_all is not None:
            not_before = policy.until if policy.outcome_of_all is Outcome.BUSY else None
            return Fetch(url, policy.outcome_of_all, now, host_not_before=not_before, detail=policy.detail)
        if policy.forbids(url, self._token):
            return Fetch(url, Outcome.FORBIDDEN, now, detail="robots.txt forbids it")
        return None

    def _delayed(self, fetch: Fetch, policy: _Policy) -> Fetch:
        if not policy.crawl_delay:
            return fetch
        return replace(fetch, host_not_before=max(fetch.host_not_before or 0.0, self._clock.now() + policy.crawl_delay))

    async def _policy_for(self, url: Url) -> _Policy | Fetch:
        """The policy for a URL; or a postponed fetch of it, if robots.txt had to be requested first."""
        origin = origin_of(url)
        while True:
            policy = self._policies.get(origin)
            if policy is not None and self._clock.now() < policy.until:
                self._policies.move_to_end(origin)
                self._postponed_urls.pop(origin, None)
                return policy
            if origin not in self._downloads:
                break
            waiter = asyncio.get_running_loop().create_future()
            self._downloads[origin].append(waiter)
            await waiter
        decision = self._decisions.pop(url, None)
        if decision is not None and self._clock.now() < decision.until:
            return decision
        self._downloads[origin] = []
        try:
            result = await self._download(origin, earlier=policy)
        finally:
            for waiter in self._downloads.pop(origin):
                if not waiter.done():
                    waiter.set_result(None)
        if isinstance(result, _NextHop):
            if len(self._next_hops) >= _MAX_NEXT_HOPS:
                self._next_hops.popitem(last=False)
            self._next_hops[origin] = result
            return self._postponed(url, result.not_before)
        is_postponed = self._slots is not None and self._slots.has_delay and result.outcome_of_all is None
        if is_postponed:
            self._postponed_urls[origin] = url
        self._cache(origin, result)
        if not is_postponed:
            return result
        return self._postponed(url, self._clock.now() + result.crawl_delay if result.crawl_delay else None)

    def _postponed(self, url: Url, not_before: float | None) -> Fetch:
        now = self._clock.now()
        return Fetch(url, Outcome.POSTPONED, now, host_not_before=not_before, detail="robots.txt is requested first")

    async def _download(self, origin: str, *, earlier: _Policy | None) -> _Policy | _NextHop:
        hop = self._next_hops.pop(origin, None) or _NextHop(Url(f"{origin}/robots.txt"))
        while True:
            fetch = await self._fetch_hop(hop, origin)
            if fetch.outcome is Outcome.POSTPONED:
                return replace(hop, not_before=fetch.host_not_before)
            if fetch.outcome is not Outcome.MOVED or fetch.location is None or hop.hops >= _MAX_HOPS:
                return self._policy_after(fetch, hop.hops, earlier)
            hop = _NextHop(fetch.location, hop.hops + 1)
            if self._slots is not None and self._slots.has_delay:
                return hop

    async def _fetch_hop(self, hop: _NextHop, origin: str) -> Fetch:
        """Requests the robots.txt of an origin; after a redirect to another host, when that host has a free slot."""
        slots = self._slots
        if slots is None or not hop.hops or host_of(hop.url) == host_of(origin):
            return await self._web.fetch_any_type(hop.url, limit=_MAX_BYTES)
        host = host_of(hop.url)
        if (retry_at := slots.acquire_or_retry_at(host, self._clock.now())) is not None:
            return Fetch(hop.url, Outcome.POSTPONED, self._clock.now(), host_not_before=retry_at)
        try:
            fetch = await self._web.fetch_any_type(hop.url, limit=_MAX_BYTES)
            if fetch.host_not_before is not None:
                slots.hold(host, fetch.host_not_before)
            return fetch
        finally:
            slots.release(host, self._clock.now())

    def _policy_after(self, fetch: Fetch, hops: int, earlier: _Policy | None) -> _Policy:
        now = self._clock.now()
        is_damaged = fetch.outcome is Outcome.OK and _is_damaged(fetch)
        if fetch.outcome is Outcome.OK and fetch.truncated != "time" and not is_damaged:
            return self._parse_policy(fetch.content, now + _LIFETIME, is_truncated=fetch.truncated != "")
        # The address of the host may not be connected to; after a redirect, that says nothing about the host.
        if fetch.outcome is Outcome.REFUSED and not hops:
            return _Policy(now, outcome_of_all=Outcome.REFUSED, detail=fetch.detail)
        is_empty = fetch.outcome is Outcome.UNWANTED and fetch.status in _EMPTY_STATUSES
        # GONE is every 4xx but 429, MOVED a redirect after too many others: RFC 9309, 2.3.1.2 and 2.3.1.3.
        if is_empty or fetch.outcome in (Outcome.GONE, Outcome.MOVED):
            return _Policy(now + _LIFETIME)
        first_wait = _FIRST_WAIT if fetch.status else _FIRST_WAIT_UNANSWERED
        wait = min(earlier.wait * 2 or first_wait, _MAX_WAIT) if earlier else first_wait
        until = max(now + wait, fetch.host_not_before or 0.0)
        why = "it is damaged" if is_damaged else "it did not come in time"  # what is missing could forbid more
        detail = robots_unreachable_detail(fetch.detail or why)
        return _Policy(until, outcome_of_all=Outcome.BUSY, detail=detail, wait=wait)

    def _parse_policy(self, content: bytes, until: float, *, is_truncated: bool) -> _Policy:
        text = _text_of(content[:_MAX_BYTES])
        if is_truncated or len(content) > _MAX_BYTES:  # part of a line could allow more than the line
            text = "".join(text.splitlines(keepends=True)[:-1])
        reduced = _rules_for(text, self._token)
        rules = Protego.parse(reduced.text)
        delay = min(rules.crawl_delay(self._token) or 0.0, MAX_CRAWL_DELAY)
        return _Policy(until, rules=rules, crawl_delay=delay, size=reduced.size)

    def _cache(self, origin: str, policy: _Policy) -> None:
        replaced = self._policies.pop(origin, None)
        self._cached_bytes[site_of(origin)] += policy.size - (replaced.size if replaced else 0)
        self._policies[origin] = policy
        while len(self._policies) > _MAX_HOSTS:
            self._drop(next(iter(self._policies)))
        while self._cached_bytes.total() > _MAX_CACHED_BYTES:
            largest = max(self._cached_bytes, key=self._cached_bytes.__getitem__)
            self._drop(next(each for each, kept in self._policies.items() if kept.size and site_of(each) == largest))

    def _drop(self, origin: str) -> None:
        """Drops a policy from the cache, but keeps what it says of the URL that was postponed for it: the rules of many
        hosts could otherwise displace each other for ever before any was used."""
        policy, site = self._policies.pop(origin), site_of(origin)
        self._cached_bytes[site] -= policy.size
        if not self._cached_bytes[site]:
            del self._cached_bytes[site]
        url = self._postponed_urls.pop(origin, None)
        if url is not None:
            self._decisions[url] = _only_about(url, policy, self._token)
            if len(self._decisions) > _MAX_DECISIONS:
                self._decisions.popitem(last=False)
        self._dropped_bytes += policy.size
        if (
            self._dropped_bytes > _MAX_CACHED_BYTES
        ):  # rules refer to each other in cycles, which nothing else would free
            gc.collect()
            self._dropped_bytes = 0


def _only_about(url: Url, policy: _Policy, token: str) -> _Policy:
    """What a policy says of one URL, in little memory; of robots.txt, its sitemaps."""
    lines = ["User-agent: *", "Disallow: /"] if policy.forbids(url, token) else []
    if policy.rules is not None and path_of(url) == "/robots.txt":
        lines += [f"Sitemap: {target}" for target in islice(policy.rules.sitemaps, _MAX_SITEMAPS_KEPT)]
    return replace(policy, rules=Protego.parse("\n".join(lines)), size=0)


def _is_damaged(fetch: Fetch) -> bool:
    """Whether a robots.txt could not be decoded as a whole."""
    if fetch.truncated:
        return fetch.truncated == "length" and len(fetch.content) < _MAX_BYTES
    if fetch.content.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):  # gzip or zstd, though no header says so
        return True
    return decode_body(fetch.body, fetch.header("content-encoding") or "", _MAX_BYTES).is_damaged


def _text_of(content: bytes) -> str:
    """The text of a robots.txt: UTF-8, unless a byte order mark or a zero byte says UTF-16."""
    encoding = "utf-8"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif content[1:2] == b"\0" or content[:1] == b"\0":
        encoding = "utf-16-le" if content[1:2] == b"\0" else "utf-16-be"
    return content.decode(encoding, "replace").lstrip("\ufeff").replace("\0", "")


class _Reduced(NamedTuple):
    """A robots.txt without what does not matter to one robot."""

    text: str
    size: int  # bytes of memory once parsed, estimated


def _rules_for(text: str, token: str) -> _Reduced:
    """The rules for one robot, limited in number.

    All other robots are reduced to one name and one rule, because parsing takes time proportional to robots times
    rules. Beyond `_MAX_WILDCARDS` rules with wildcards, which must be matched one by one, each forbids its prefix
    before the wildcard; beyond `_MAX_RULES` in all, everything that is not explicitly allowed is forbidden. Of lines
    that are not rules, the first `_MAX_OTHER_LINES` count, and all that set a delay.
    """
    lines: list[str] = []
    forbidden_prefixes: set[str] = set()
    rule_count = wildcard_count = 0  # of all rules for this robot, and of those with a wildcard
    other_lines = 0  # that are kept
    is_for_us = follows_agent_line = robot_was_named = False
    for line in text.splitlines():
        if agent := _AGENT_LINE.match(line):
            name = _agent_of(agent[1], token)
            is_for_us = (follows_agent_line and is_for_us) or name in ("*", token)
            follows_agent_line = robot_was_named = True
            line = f"User-agent: {name}"
            if not lines or lines[-1] != line:
                lines.append(line)
            continue
        rule = _RULE_LINE.match(line)
        if rule is None:
            line = line.partition("#")[0].strip()
            if line and (other_lines < _MAX_OTHER_LINES or _DELAY_LINE.match(line)):
                lines.append(line)
                other_lines += 1
            continue
        is_first_rule, follows_agent_line = follows_agent_line, False
        if not robot_was_named:  # a rule before any robot is named is for all
            lines.append("User-agent: *")
            robot_was_named = is_for_us = True
        if not is_for_us:
            if is_first_rule:  # the first rule ends the user agents of the group
                lines.append(line)
            continue
        value = rule[2].partition("#")[0].strip()
        if value and value[0] not in "/*" and rule[1].lower() != "allow":
            value = _path_forbidden_by(value)
            line = f"Disallow: {value}"
        before_wildcard = _WILDCARD.split(value, maxsplit=1)[0]
        has_wildcard = before_wildcard != value
        rule_count += 1
        wildcard_count += has_wildcard
        if rule_count <= _MAX_RULES and (wildcard_count <= _MAX_WILDCARDS or not has_wildcard):
            lines.append(line)
        elif rule[1].lower() != "allow" and value:
            prefix = before_wildcard if before_wildcard and rule_count <= _MAX_RULES else "/"
            if prefix not in forbidden_prefixes:
                forbidden_prefixes.add(prefix)
                lines.append(f"Disallow: {prefix}")
    reduced = "\n".join(lines)
    rules = len(lines) - other_lines
    return _Reduced(reduced, len(reduced) + _BYTES_PER_RULE * rules + _BYTES_PER_OTHER_LINE * other_lines)


def _agent_of(value: str, token: str) -> str:
    """For which robots a group is: `*`, the token, or a name that stands for all others."""
    names = [name.strip(" \t\"'") for name in value.split(",")]  # a list is not allowed, but what it means is clear
    if any(name[:1] == "*" and not name[1:2].strip() for name in names):
        return "*"
    tokens = (_PRODUCT_TOKEN.match(name) for name in names)
    return token if any(match and match[0].lower() == token for match in tokens) else "another.robot"


def _path_forbidden_by(value: str) -> str:
    """What a rule forbids that is not a path, but a URL, or has quotes or no slash."""
    path = _ORIGIN.sub("", value.strip("\"'"), count=1)
    return path if path.startswith(("/", "*")) else f"/{path}"
