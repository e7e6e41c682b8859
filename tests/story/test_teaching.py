"""Teaching a collection: labels by the dozen, a review of pages, and a crawl that is steered while it runs."""

import json
import random
import socket
import stat
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import SimpleNamespace

import pytest

from crawling import PATIENCE, begin, copied, done, end, kill, listing, lycosa, pages, rows, skipped, wait_until
from lycosa.run.control import SOCKET_FILE, address_file
from lycosa_lab.worlds.practice_web import PracticeWeb
from lycosa_lab.worlds.server import WorldServer

pytestmark = pytest.mark.slow

WORLD = PracticeWeb(seed=9, hosts=10, pages=500)
GOOD = [url for url in WORLD.urls() if WORLD.topic(url) == WORLD.topics[0]]
HOST = GOOD[0].split("/")[2]


def made(place: Path) -> Path:
    listing(place / "good.txt", GOOD[:6])
    listing(place / "seeds.txt", [WORLD.front_page])
    done("new", place / "c", "--examples", place / "good.txt", "--seeds", place / "seeds.txt")
    return place / "c"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Nothing crawled yet."""
    return made(tmp_path)


@pytest.fixture
def served():
    with WorldServer(WORLD, latency=0.01) as server:
        yield server


@pytest.fixture(scope="module")
def crawled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = made(tmp_path_factory.mktemp("teaching"))
    with WorldServer(WORLD, latency=0.01) as served:
        done("crawl", folder, "--pages", 60, "--delay", 0, "--concurrency", 8, "--resolve", served.resolve)
    return folder


@pytest.fixture
def crawled(crawled_once: Path, tmp_path: Path) -> Path:
    return copied(crawled_once, tmp_path / "c")


def answered(monkeypatch: pytest.MonkeyPatch, *words: object, answers: str):
    """A command that is given these answers."""
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(answers.encode())))
    return done(*words)


def labels(folder: Path) -> dict[str, str]:
    path = folder / "labels.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    return {url: word for word, url in (line.split(" ") for line in lines)}


def test_many_labels_are_one_command_and_one_training(crawled, tmp_path, monkeypatch):
    good, bad = pages(crawled)[10:13], pages(crawled)[20:24]
    said = done("label", crawled, *good, "--good")
    assert said.out == "Saved 3 labels. Model retrained; 60 pages re-scored.\n"
    listing(tmp_path / "bad.txt", ["# far from the topic", *bad[:2]])
    assert done("label", crawled, "--bad", "--file", tmp_path / "bad.txt", "--json").json == {
        "labels": 2, "judged": 60, "missing": 0,
    }  # fmt: skip
    answered(monkeypatch, "label", crawled, "--file", "-", answers=f"bad {bad[2]}\n\n+ {bad[3]}\n")
    assert labels(crawled) == {**dict.fromkeys(good, "good"), **dict.fromkeys(bad[:3], "bad"), bad[3]: "good"}
    reasons = [json.loads(line) for (line,) in rows(crawled, "SELECT value FROM state WHERE key = 'recall_behind'")]
    assert reasons == [True], "the recall is estimated again when somebody asks"
    assert done("show", crawled, "--json").json["recall"] is not None


@pytest.mark.parametrize(
    ("words", "lines", "named"),
    [
        ([], [], "no URL to label"),
        (["--good", "--bad", GOOD[0]], [], "cannot be combined"),
        ([GOOD[0]], [], "either --good or --bad"),
        (["--good", "ftp://a.example/"], [], "not a URL"),
        (["--file", "labels"], ["http://a.example/"], "labels:1: write `good URL`"),
        (["--file", "labels"], ["good http://a.example/", "worse http://a.example/"], "labels:2: write `good URL`"),
        (["--good", "--file", "labels"], ["nonsense"], "labels:1: not a URL"),
        (["--good", "--file", "nowhere"], [], "cannot read nowhere"),
    ],
)
def test_labels_that_make_no_sense_are_refused_in_one_line(folder, tmp_path, monkeypatch, words, lines, named):
    monkeypatch.chdir(tmp_path)
    listing(tmp_path / "labels", lines)
    said = lycosa("label", folder, *words)
    assert (said.code, named in said.err, said.err.count("\n")) == (2, True, 1)
    assert labels(folder) == {}


def test_a_label_lands_in_a_crawl_that_runs(folder, served):
    process = begin("crawl", folder, "--pages", 400, "--delay", 0, "--resolve", served.resolve, "--concurrency", 4)
    wait_until(lambda: (folder / SOCKET_FILE).exists() and len(served.requests) > 40, process)
    assert stat.S_IMODE((folder / SOCKET_FILE).stat().st_mode) == 0o600
    before = dict(rows(folder, "SELECT url, relevance FROM pages"))
    url = max(before, key=before.__getitem__)
    said = done("label", folder, url, "--bad", "--json").json
    assert said["labels"] == 1 and said["judged"] > 10
    assert labels(folder) == {url: "bad"}
    assert done("control", folder, "budget", 90).out == "The crawl stops when the collection has 90 pages.\n"
    assert end(process).code == 0
    assert 90 <= len(pages(folder)) < 120
    assert not (folder / SOCKET_FILE).exists()
    [(relevance,)] = rows(folder, "SELECT relevance FROM pages WHERE url = ?", url)
    assert relevance < before[url]


def test_a_crawl_is_paused_steered_and_goes_on(folder, served):
    process = begin("crawl", folder, "--pages", 300, "--delay", 0, "--resolve", served.resolve, "--concurrency", 4)
    wait_until(lambda: (folder / SOCKET_FILE).exists() and len(served.requests) > 30, process)
    paused = done("control", folder, "pause").out
    assert paused.startswith("Paused.") and paused.endswith(f" control {folder} resume.\n")
    facts = done("control", folder, "status", "--json").json["status"]
    assert facts["paused"] and facts["budget"] == 300
    wait_until(lambda: done("control", folder, "status", "--json").json["status"]["waiting"] > 0, process)
    blocked = next(url.split("/")[2] for url in WORLD.urls() if url.split("/")[2] != HOST)
    assert "Blocked" in done("control", folder, "block", blocked).out
    asked = len(served.requests)
    boosted = next(url for url in WORLD.urls() if url not in served.requests and blocked not in url)
    assert "Boosted" in done("control", folder, "boost", boosted).out
    assert len(served.requests) <= asked + 4, "what was under way may land"
    asked = len(served.requests)
    done("control", folder, "resume")
    wait_until(lambda: len(served.requests) > asked + 20, process)
    done("control", folder, "budget", 1)
    assert end(process).code == 0
    after = served.requests[asked:]
    assert boosted in after[:8]
    assert not [url for url in after if f"//{blocked}/" in url]
    assert "scope: host blocked" in {why for why in skipped(folder).values() if "blocked" in why}
    again = done("crawl", folder, "--pages", 320, "--delay", 0, "--resolve", served.resolve, "--concurrency", 4)
    assert again.code == 0
    assert not [url for url in served.requests[asked:] if f"//{blocked}/" in url], "the next run knows it, too"
    assert done("control", folder, "undo").out == f"Undone: boost {boosted}.\n"
    assert done("control", folder, "undo").out == f"Undone: block {blocked}.\n"
    asked = len(served.requests)
    done("crawl", folder, "--pages", 420, "--delay", 0, "--resolve", served.resolve, "--concurrency", 4)
    assert [url for url in served.requests[asked:] if f"//{blocked}/" in url]


def test_an_acknowledged_label_survives_a_kill(folder, served):
    process = begin("crawl", folder, "--pages", 400, "--delay", 0, "--resolve", served.resolve, "--concurrency", 4)
    wait_until(lambda: (folder / SOCKET_FILE).exists() and len(served.requests) > 40, process)
    url = pages(folder)[2]
    done("label", folder, url, "--bad")
    kill(process)
    assert labels(folder) == {url: "bad"}
    assert (folder / SOCKET_FILE).exists(), "left behind by the kill"
    said = done("label", folder, url, "--good")
    assert "Model retrained" in said.out, "directly, as nobody answers there"
    done("crawl", folder, "--pages", len(pages(folder)) + 3, "--delay", 0, "--resolve", served.resolve)
    assert not (folder / SOCKET_FILE).exists()


def test_what_is_no_request_is_answered_in_one_line_and_harms_nothing(folder, served):
    process = begin("crawl", folder, "--pages", 150, "--delay", 0, "--resolve", served.resolve, "--concurrency", 4)
    wait_until(lambda: (folder / SOCKET_FILE).exists() and len(served.requests) > 10, process)
    chance = random.Random(1)
    junk = [b"", b"\n", b"{}\n", b'{"do":"fly"}\n', b'{"do":"budget","pages":-1}\n', b'{"do":"block","what":"a b"}\n',
            b'{"do":"label","labels":{"javascript:1":true}}\n', b"[" * 100_000 + b"\n", chance.randbytes(3000) + b"\n",
            b'{"do":"boost","what":"' + b"a" * 5000 + b'"}\n']  # fmt: skip
    for line in junk:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(30)
            connection.connect(str(folder / SOCKET_FILE))
            connection.sendall(line)
            connection.shutdown(socket.SHUT_WR)
            reply = connection.makefile("rb").readline()
        assert json.loads(reply)["error"], line
    assert end(process).code == 0
    assert len(pages(folder)) == 150
    assert labels(folder) == {} and not (folder / "steering.txt").exists()


def test_without_unix_sockets_a_token_that_only_the_owner_reads_opens_a_port(folder, served, monkeypatch):
    deep = folder.parent / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    folder = folder.rename(deep / "c")  # too long a path for a socket
    process = begin("crawl", folder, "--pages", 400, "--delay", 0, "--resolve", served.resolve, "--concurrency", 4)
    wait_until(lambda: address_file(folder).exists() and len(served.requests) > 20, process)
    assert stat.S_IMODE(address_file(folder).stat().st_mode) == 0o600
    address = json.loads(address_file(folder).read_text())
    with socket.create_connection(("127.0.0.1", address["port"]), timeout=PATIENCE) as connection:
        connection.sendall(b'{"do":"budget","pages":1,"token":"guessed"}\n')
        assert json.loads(connection.makefile("rb").readline()) == {"error": "the token is wrong"}
    assert done("control", folder, "status").out.startswith("running: ")
    done("control", folder, "budget", 60)
    assert end(process).code == 0
    assert not address_file(folder).exists()


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (["pause"], 1, "no crawl of"),
        (["budget", "5"], 1, "no crawl of"),
        (["budget", "five"], 2, "not a number of pages"),
        (["budget"], 2, "budget PAGES"),
        (["fly"], 2, "there are status, pause, resume, stop, undo"),
        (["block", "a b"], 2, "not a host"),
        (["boost", "ftp://a.example/"], 2, "not a URL"),
        (["pause", "now"], 2, "takes no argument"),
        (["undo"], 2, "nothing to undo"),
    ],
)
def test_control_that_makes_no_sense_is_refused_in_one_line(crawled, words, code, named):
    said = lycosa("control", crawled, *words)
    assert (said.code, named in said.err, said.err.count("\n")) == (code, True, 1)


def test_a_review_asks_labels_undoes_and_measures(crawled, monkeypatch):
    first = answered(
        monkeypatch, "review", crawled, "--batches", 1, "--seed", 1, answers="y\nn\nu\ny\ns\nwhat?\nn\nq\n"
    )
    assert first.out.count("On the topic?") == 7, "after undo, the one before again"
    assert "Saved. Model retrained; 60 pages re-scored." in first.out
    assert sorted(labels(crawled).values()) == ["bad", "good", "good"]
    asked = set(labels(crawled))
    for seed in range(2, 8):
        said = answered(monkeypatch, "review", crawled, "--batches", 1, "--seed", seed, "--json", answers="y\n" * 10)
        lines = [json.loads(line) for line in said.out.splitlines()]
        questions, result = lines[:-1], lines[-1]
        assert not asked & {each["url"] for each in questions}, "nothing is asked twice"
        asked |= {each["url"] for each in questions}
        assert {"random", "top", "uncertain"} >= {each["why"] for each in questions}
        if not questions:
            break
    assert result["sample"]["drawn"] >= 10
    shown = done("show", crawled, "--json").json
    assert shown["harvest_low"] <= shown["harvest_measured"] <= shown["harvest_high"]
    assert shown["sample"]["drawn"] == result["sample"]["drawn"]
    assert "measured on" in done("show", crawled).out
    done("control", crawled, "undo")
    assert sum(1 for _ in (crawled / "labels.txt").open()) == len(labels(crawled))


def test_an_interrupted_review_counts_the_labels_that_were_given(crawled, monkeypatch):
    answers = iter(["y\n", "s\n", "n\n", "y\n"])

    def readline(_: int) -> str:
        try:
            return next(answers)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False, readline=readline))
    result = json.loads(done("review", crawled, "--seed", 1, "--json").out.splitlines()[-1])
    assert (result["labels"], len(labels(crawled))) == (3, 3)


def test_a_review_of_a_rule_is_refused(crawled):
    recipe = crawled / "lycosa.toml"
    recipe.write_text(recipe.read_text().replace("[topic]", '[topic]\nkeywords = ["honey"]', 1))
    said = lycosa("review", crawled)
    assert (said.code, "change the rule" in said.err) == (2, True)
