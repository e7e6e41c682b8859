"""The whole study, with three processes on loopback."""

import asyncio
import errno
import json
import subprocess
import sys
from typing import ClassVar

import msgspec
import pytest

from lycosa_lab.peers import processes
from lycosa_lab.peers.processes import LoopbackUnavailableError, PeerProcessError, PeerProcesses, free_addresses
from lycosa_lab.studies.peer_search import PeerSearch
from lycosa_lab.study import run
from lycosa_lab.worlds.synthetic import SyntheticWorld


class Tiny(PeerSearch):
    scales: ClassVar = {
        "small": {
            **{"peers": 4, "topics": 2, "pages": 10, "runs": 1, "queries": 20, "limit": 30, "world_pages": 400},
            **{"processes": 3, "real_queries": 8, "practice": 30},
        }
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    world = SyntheticWorld(pages=400, topics=2, seed=5)
    folder = tmp_path_factory.mktemp("study")
    results = run(Tiny(), world, scale="small", seed=5, out=folder, workers=1, progress=lambda done, total: None)
    return json.loads(msgspec.json.encode(results))


def test_processes_find_what_simulated_nodes_find(results):
    claim = next(claim for claim in results["claims"] if claim["id"] == "peer-search.simulation-agrees")
    if claim["holds"] is None:
        pytest.skip(claim["reason"])
    assert [row["round"] for row in results["tables"]["reality"]] == ["from nothing", "practised"]
    for row in results["tables"]["reality"]:
        assert row["queries"] == 8
        assert row["overlap"] >= 0.9
        assert row["messages_real"] > 0


def test_both_claims_are_made_and_everything_is_drawn(results):
    assert [claim["id"] for claim in results["claims"]] == ["peer-search.recall", "peer-search.simulation-agrees"]
    assert {claim["kind"] for claim in results["claims"]} == {"beyond"}
    assert {"searches", "windows", "reality", "collections", "peers"} == results["tables"].keys()


def test_a_process_that_does_not_begin_is_told_with_its_last_words(tmp_path):
    with pytest.raises(PeerProcessError, match="did not start"), PeerProcesses([tmp_path / "none"], free_addresses(1)):
        pass


def test_where_one_process_cannot_start_the_others_are_ended(tmp_path, monkeypatch):
    started = []

    def start(*_):
        if started:
            raise OSError(errno.EAGAIN, "too many processes")
        started.append(subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE, text=True))
        return started[0]

    monkeypatch.setattr(processes, "_start", start)
    with pytest.raises(LoopbackUnavailableError, match="cannot start peers: too many processes"):
        PeerProcesses([tmp_path, tmp_path], ["127.0.0.1:1", "127.0.0.1:2"]).__enter__()
    with started[0] as process:
        is_ended = process.poll() is not None
        process.kill()
    assert is_ended


def test_a_peer_that_crashes_at_its_start_fails_the_comparison(tmp_path, monkeypatch):
    """It is not taken for a machine without loopback, where there is none."""

    def crash(*_):
        return subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.exit('out of honey')"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    monkeypatch.setattr(processes, "_start", crash)
    with pytest.raises(PeerProcessError, match="did not start: out of honey"):
        PeerProcesses([tmp_path], ["127.0.0.1:1"]).__enter__()


def test_a_search_without_a_reply_is_told(tmp_path, monkeypatch):
    async def no_replies(*_):
        return []

    monkeypatch.setattr(PeerProcesses, "_replies", no_replies)
    peers = PeerProcesses([tmp_path], ["127.0.0.1:1"])
    with pytest.raises(PeerProcessError, match="ended before its search for 'honey' did"):
        asyncio.run(peers.search(0, "honey", limit=1, timeout=1.0))
    with pytest.raises(PeerProcessError, match="ended before it showed its counts"):
        asyncio.run(peers.counts())
