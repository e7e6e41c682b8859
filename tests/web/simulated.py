"""A web of pages in memory."""

from collections.abc import Mapping

import xxhash
from msgspec import Struct

from lycosa.vocabulary.clock import Clock
from lycosa.vocabulary.records import Fetch, Outcome, PastFetch, Url
from lycosa.web.encodings import decoded
from lycosa.web.outcomes import Headers, classify, header, is_page_status


class Reply(Struct, frozen=True, gc=False):
    """A simulated response that is more than a page."""

    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b""


_NOT_FOUND = Reply(404, {"Content-Type": "text/plain"}, b"Not Found")
_REASONS = {200: "OK", 304: "Not Modified", 301: "Moved Permanently", 302: "Found", 404: "Not Found"}


class SimulatedWeb:
    """Serves a mapping of URLs to pages, with ETags; its latency passes on the given clock.

    With a simulated clock, or without latency, a fetch needs no event loop.
    """

    def __init__(
        self,
        pages: Mapping[Url, bytes | str | Reply],
        *,
        clock: Clock,
        latency: float = 0.0,  # seconds
        headers: Mapping[str, str] = {},
        max_body: int = 1_000_000,  # bytes
    ):
        self._pages = pages
        self._clock = clock
        self._latency = latency
        self._headers = tuple(headers.items())
        self._max_body = max_body

    async def fetch(self, url: Url, *, known: PastFetch | None = None) -> Fetch:
        return await self._answer(url, known, self._max_body, any_type=False)

    async def fetch_any_type(self, url: Url, *, limit: int = 512_000) -> Fetch:
        return await self._answer(url, None, limit, any_type=True)

    async def close(self) -> None:
        pass

    async def _answer(self, url: Url, known: PastFetch | None, limit: int, *, any_type: bool) -> Fetch:
        at = self._clock.now()
        if self._latency:
            await self._clock.sleep_until(at + self._latency)
        reply = _as_reply(self._pages.get(url, _NOT_FOUND))
        headers = (*reply.headers.items(), *self._headers)
        status, body = reply.status, reply.body
        if status == 200:
            etag = f'"{xxhash.xxh3_64_hexdigest(body)}"'
            headers = _with_etag(headers, etag)
            if known is not None and known.etag == header(headers, "etag"):
                status, body = 304, b""
        content, is_truncated = b"", len(body) > limit
        if is_page_status(status):
            content, is_content_truncated = decoded(body[:limit], header(headers, "content-encoding"), limit)
            is_truncated = is_truncated or is_content_truncated
        reason = _REASONS.get(status, "")
        classification = classify(url, status, reason, headers, now=self._clock.now(), start=content, any_type=any_type)
        wanted = classification.outcome is not Outcome.UNWANTED
        return Fetch(
            url,
            classification.outcome,
            at,
            status=status,
            reason=reason,
            headers=headers,
            body=body[:limit] if wanted else b"",
            content=content if wanted else b"",
            truncated="length" if is_truncated and wanted else "",
            elapsed=self._latency,
            location=classification.location,
            host_not_before=classification.host_not_before,
            detail=classification.detail,
        )


def _as_reply(page: bytes | str | Reply) -> Reply:
    if isinstance(page, Reply):
        return page
    if isinstance(page, str):
        return Reply(200, {"Content-Type": "text/html; charset=utf-8"}, page.encode())
    return Reply(200, {"Content-Type": "text/html"}, page)


def _with_etag(headers: Headers, etag: str) -> Headers:
    return headers if header(headers, "etag") else (*headers, ("ETag", etag))
