"""Running out of file descriptors is our own fault: no host is blamed for it, and no URL lost."""

import asyncio
import errno
import socket
import sys
from functools import partial

import pytest

import lycosa.web.http
import lycosa.web.transfers
from crawling import apart, collection, done, rows
from lycosa.vocabulary.clock import WallClock
from lycosa.vocabulary.records import Outcome, Url
from lycosa.web.http import LiveWeb, max_fetches
from web.loopback import LoopbackServer, response

PAGE = response(b"<html><title>Bees</title>honey bee hive", Connection="close")


def test_a_socket_that_cannot_be_opened_postpones_the_fetch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lacked: list[bool] = []

    class NoSocket(socket.socket):
        def __init__(self, *_: object) -> None:
            raise OSError(errno.EMFILE, "Too many open files")

    async def ask(server: LoopbackServer) -> tuple[Outcome, float | None]:
        web = LiveWeb(
            user_agent="lycosa/1",
            clock=WallClock(),
            resolve=server.everything,
            on_out_of_files=lambda: lacked.append(True),
        )
        monkeypatch.setattr(lycosa.web.transfers.socket, "socket", NoSocket)
        fetch = await web.fetch(Url("http://a.example/"))
        monkeypatch.undo()
        await web.close()
        return fetch.outcome, fetch.host_not_before

    with LoopbackServer({"/": PAGE}) as server:
        outcome, not_before = asyncio.run(ask(server))
    assert outcome is Outcome.POSTPONED
    assert not_before is not None
    assert lacked == [True]
    assert "Traceback" not in capsys.readouterr().err


def test_as_many_fetches_at_a_time_as_files_may_be_open(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, fetches in ((256, 48), (1_024, 240), (70, 1), (10, 1)):
        monkeypatch.setattr("lycosa.web.http.max_open_files", lambda files=files: files)
        assert max_fetches() == fetches


def test_a_crawl_that_runs_out_of_files_goes_on_with_fewer_fetches(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second socket cannot be opened for a while."""
    opened, real = [0], socket.socket

    class ScarceSocket(real):
        def __init__(self, *arguments: object, **options: object) -> None:
            if options.get("fileno") is None and arguments:
                opened[0] += 1
                if opened[0] < 12 and opened[0] % 2:
                    raise OSError(errno.EMFILE, "Too many open files")
            super().__init__(*arguments, **options)

    with LoopbackServer({"/": PAGE, "/robots.txt": response(b"", "404 Not Found")}) as server:
        folder = collection(tmp_path / "c", [f"http://n{n}.example/" for n in range(10)])
        monkeypatch.setattr(lycosa.web.transfers, "socket", _with(socket, ScarceSocket))
        monkeypatch.setattr(lycosa.web.http, "_OUT_OF_FILES_DELAY", 0.02)
        said = done("crawl", folder, "--delay", 0, "--resolve", server.everything[0])
    assert rows(folder, "SELECT count(*) FROM pages") == [(10,)]
    assert rows(folder, "SELECT count(*) FROM fetches WHERE outcome != 'ok'") == [(0,)]
    assert said.err.count("ulimit -n") == 1
    assert "Traceback" not in said.err


def _with(module: object, scarce: type) -> object:
    """The module of sockets with another class of them."""

    class Sockets:
        def __getattr__(self, name: str) -> object:
            return scarce if name == "socket" else getattr(module, name)

    return Sockets()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs ulimit")
def test_a_process_that_may_open_few_files_loses_no_url(tmp_path) -> None:
    import resource

    hosts = 150
    with LoopbackServer({"/": PAGE, "/robots.txt": response(b"", "404 Not Found")}) as server:
        folder = collection(tmp_path / "c", [f"http://n{n}.example/" for n in range(hosts)])
        said = apart(
            *("crawl", folder, "--delay", 0, "--concurrency", 200, "--resolve", server.everything[0]),
            before=partial(resource.setrlimit, resource.RLIMIT_NOFILE, (100, 100)),
        )
    assert said.code == 0, said.err
    assert rows(folder, "SELECT count(*) FROM pages") == [(hosts,)]
    assert said.err.count("ulimit -n") == 1
    assert "Traceback" not in said.err
