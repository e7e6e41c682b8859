"""The log of pages that a crawl writes beside its messages."""

import asyncio
from pathlib import Path

import pytest

from collection.samples import HOME, visit
from lycosa.cli.crawl_display import log_pages, watch
from lycosa.run.crawl import Status
from lycosa.vocabulary.errors import LycosaError


class _Session:
    status = Status()


class _Visits:
    """One visit."""

    async def __aenter__(self):
        return self._visits()

    async def __aexit__(self, *exc_info):
        pass

    async def _visits(self):
        yield visit(HOME)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_log_on_a_full_disk_is_one_line(capfd):
    with (
        pytest.raises(LycosaError, match="cannot write the log /dev/full: No space left"),
        log_pages(Path("/dev/full"), verbose=False),
    ):
        asyncio.run(watch(_Session(), _Visits(), lambda visit: None))
    assert capfd.readouterr().err == ""
