"""Exports as downloads, generated while they are sent, in constant memory."""

import io
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any

from anyio.to_thread import run_sync
from msgspec import Struct
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from lycosa.collection.export import exporter_for
from lycosa.collection.queries import Selection
from lycosa.run.export import ExportContent, labels_of, rows, selection_of
from lycosa.run.open import open_for_reading
from lycosa.vocabulary.errors import LycosaError, UsageError

from .fair_share import READER, ReaderSlots

FORMATS = {  # by name: title and media type; only formats that are written from beginning to end
    "jsonl": ("JSON, a page a line", "application/x-ndjson"),
    "csv": ("table for spreadsheets (CSV)", "text/csv; charset=utf-8"),
    "urls": ("URLs alone", "text/plain; charset=utf-8"),
}
CONTENTS = {  # by value of `ExportRequest.content`: its title
    "": "facts alone",
    "text": "with the text",
    "markdown": "with the text as Markdown",
}
MAX_PAGES = 1_000_000
MAX_CONCURRENT_EXPORTS = 8
MAX_EXPORTS_PER_READER = 2  # by one anonymous reader
_CHUNK_BYTES = 1 << 16
_MAX_QUEUED_CHUNKS = 8
_POLL_INTERVAL = 1.0  # seconds between checks whether the other side is still connected


class ExportRequest(Struct, frozen=True):
    """Which pages to export, and which of their contents."""

    format: str = "jsonl"
    content: str = ""  # one of CONTENTS
    max_pages: int | None = None  # the most relevant ones
    host: str = ""
    language: str = ""
    min_relevance: float | None = None
    label: str = ""  # good, bad, or empty for any
    since: str = ""  # a duration before now, such as 7d: pages fetched since then; empty for any time

    def check(self) -> None:
        if self.format not in FORMATS:
            raise UsageError(f"no such format here; there are {', '.join(FORMATS)}, and more by: lycosa export")
        if self.content not in CONTENTS:
            raise UsageError("an export has the facts alone, or with the text, or with it as Markdown")

    def selection(self, folder: Path) -> Selection:
        return selection_of(
            folder,
            hosts=(self.host,) if self.host else (),
            languages=(self.language,) if self.language else (),
            min_relevance=self.min_relevance,
            top=None if self.max_pages is None else max(1, min(self.max_pages, MAX_PAGES)),
            label=self.label or None,
            since=self.since or None,
            now=time.time(),
        )


class ExportView(Struct, frozen=True):
    """The screen on which an export is chosen."""

    asked: ExportRequest
    pages: int  # number of pages that are chosen
    total: int  # pages in the collection
    max_pages: int  # largest number of pages that are written


def export_view(folder: Path, request: ExportRequest) -> ExportView:
    request.check()
    with open_for_reading(folder) as collection:
        catalog = collection.catalog
        return ExportView(request, catalog.count_selected(request.selection(folder)), catalog.count(), MAX_PAGES)


class Exports:
    """Starts exports, with a limit of concurrent ones."""

    def __init__(self) -> None:
        self._slots = ReaderSlots(MAX_CONCURRENT_EXPORTS, per_reader=MAX_EXPORTS_PER_READER)

    def open(self, folder: Path, request: ExportRequest) -> "ExportStream":
        """Starts an export, which the caller must read or close; errors of the request are raised here."""
        request.check()
        selection = request.selection(folder)
        with open_for_reading(folder):
            pass  # a collection that cannot be opened is refused before anything is sent
        reader = READER.get()
        if not self._slots.take(reader):
            raise LycosaError("too many exports are being written already; try again when one is done")
        return ExportStream(partial(_write, folder, request, selection), partial(self._slots.release, reader))


class ExportStream:
    """The bytes of an export, written by a thread with back-pressure; `release` is called when it has ended."""

    def __init__(self, write: Callable[["_Pipe"], None], release: Callable[[], None]):
        self._pipe = _Pipe()
        self._write = write
        self._release = release
        self._failure: Exception | None = LycosaError("the export broke off")  # until it is complete
        self._thread = Thread(target=self._run, name="export", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with suppress(_DisconnectedError):
                self._write(self._pipe)
                self._failure = None
        except (LycosaError, OSError) as error:
            self._failure = error
        finally:  # also after a bug, whose traceback the thread prints
            with suppress(_DisconnectedError):
                self._pipe.end()
            self._release()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (chunk := await run_sync(self._pipe.chunk)) is not None:
            yield chunk
        if self._failure is not None:
            raise self._failure  # so that the connection breaks, and no part is taken for the whole

    def close(self) -> None:
        """Ends the thread, even if not everything was read."""
        self._pipe.is_disconnected.set()

    def join(self) -> None:
        """Waits until the thread has ended."""
        self._thread.join()


class ExportResponse(StreamingResponse):
    """Sends an export as a download, and closes it in any case."""

    def __init__(self, stream: ExportStream, name: str, request: ExportRequest):
        file_name = re.sub("[^A-Za-z0-9_-]", "_", name)[:60] or "pages"
        suffix = "txt" if request.format == "urls" else request.format
        headers = {"Content-Disposition": f'attachment; filename="{file_name}.{suffix}"'}
        super().__init__(aiter(stream), media_type=FORMATS[request.format][1], headers=headers)
        self._stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._stream.close()


class _DisconnectedError(Exception):
    """The reader has disconnected."""


class _Pipe(io.RawIOBase):
    """A bounded queue of chunks, as a file for an exporter: writing blocks while it is full."""

    def __init__(self) -> None:
        self.is_disconnected = Event()
        self._chunks: Queue[bytes | None] = Queue(_MAX_QUEUED_CHUNKS)
        self._buffer = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._buffer += data
        if len(self._buffer) >= _CHUNK_BYTES:
            self._put(bytes(self._buffer))
            self._buffer.clear()
        return len(data)

    def end(self) -> None:
        if self._buffer:
            self._put(bytes(self._buffer))
        self._put(None)

    def chunk(self) -> bytes | None:
        """The next chunk; None after the last."""
        while not self.is_disconnected.is_set():
            with suppress(Empty):
                return self._chunks.get(timeout=_POLL_INTERVAL)
        return None

    def _put(self, chunk: bytes | None) -> None:
        while not self.is_disconnected.is_set():
            with suppress(Full):
                self._chunks.put(chunk, timeout=_POLL_INTERVAL)
                return
        raise _DisconnectedError


def _write(folder: Path, request: ExportRequest, selection: Selection, out: _Pipe) -> None:
    content = ExportContent(text=request.content == "text", markdown=request.content == "markdown")
    with open_for_reading(folder) as collection:
        found = islice(rows(collection, selection, content, labels_of(folder)), MAX_PAGES)
        exporter_for(request.format, content.columns)(found, out)  # type: ignore[arg-type]  # it only writes
