"""Requests to a crawl that runs; the story tests send them through the socket."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from crawling import collection, copied, listing, pages, site, waiting
from lycosa.run import control
from lycosa.run.control import MAX_LABELS, CrawlControl, CrawlReply, CrawlRequest, address_file, ask
from lycosa.run.topic import read_labels
from lycosa.run.topic_training import TopicTrainer
from lycosa.vocabulary.errors import UsageError
from sessions import crawl, opened
from worlds import html

SITES = {**site("honey.example", leaves=59), **site("ships.example", leaves=59, text="ship mast sail")}
FRONT = next(iter(SITES))
TWO_TOPICS = {**SITES, FRONT: html("Front", "Everything starts here.", list(SITES)[1:])}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = collection(tmp_path_factory.mktemp("control") / "c", [FRONT], topic='examples = "good.txt"')
    listing(folder / "good.txt", ["honey bees in their hive", "a hive of bees and its honey"])
    crawl(folder, TWO_TOPICS, 20, strategy="hunter")
    return folder


@pytest.fixture
def folder(crawled: Path, tmp_path: Path) -> Path:
    return copied(crawled, tmp_path / "c")


def answers(folder: Path, *requests: CrawlRequest) -> list[CrawlReply]:
    with opened(folder) as session:
        crawl_control = CrawlControl(session, TopicTrainer(session))
        return [crawl_control.answer(request) for request in requests]


@pytest.mark.slow
def test_labels_are_on_the_disk_and_learnt(folder: Path) -> None:
    url = pages(folder)[4]
    [reply] = answers(folder, CrawlRequest("label", labels={url: False}))
    assert read_labels(folder) == {url: False}
    assert reply.learnt is not None and (reply.learnt.judged, reply.learnt.missing) == (20, 0)
    [undone] = answers(folder, CrawlRequest("undo"))
    assert (undone.undone, read_labels(folder)) == ("label 1", {})
    with pytest.raises(UsageError, match="nothing to undo"):
        answers(folder, CrawlRequest("undo"))


def test_a_crawl_is_paused_and_its_budget_changed(folder: Path) -> None:
    with opened(folder) as session:
        crawl_control = CrawlControl(session, TopicTrainer(session))
        crawl_control.answer(CrawlRequest("pause"))
        crawl_control.answer(CrawlRequest("budget", pages=7))
        assert (session.status.is_paused, session.status.page_budget) == (True, 7)
        crawl_control.answer(CrawlRequest("resume"))
        facts = crawl_control.answer(CrawlRequest("status")).status
    assert facts == {
        "pages": 20, "relevant": facts["relevant"], "waiting": facts["waiting"], "paused": False, "budget": 7,
        "requests": 0, "holds": 0,
    }  # fmt: skip


def test_a_drop_says_how_many_urls_waited(folder: Path) -> None:
    before = waiting(folder)
    replies = answers(folder, *[CrawlRequest("drop", what="ships.example")] * 2, CrawlRequest("undo"))
    here = [url for url in before if url.startswith("http://ships.example/")]
    assert [reply.dropped for reply in replies] == [len(here), 0, 0]
    assert (len(here) > 0, replies[-1].undone) == (True, "drop ships.example")


@pytest.mark.parametrize("may_save", [True, False])
def test_who_looks_into_the_folder_of_a_running_crawl_sees_what_a_command_did(folder: Path, may_save: bool) -> None:
    before = waiting(folder)
    blocked = next(iter(before))
    with opened(folder) as session:
        control = CrawlControl(session, TopicTrainer(session), may_save=may_save)
        control.answer(CrawlRequest("block", what=blocked))
        assert waiting(folder).keys() == before.keys() - ({blocked} if may_save else set())
    assert waiting(folder).keys() == before.keys() - {blocked}


def test_a_crawl_is_stopped(folder: Path) -> None:
    with opened(folder) as session:
        CrawlControl(session, TopicTrainer(session)).answer(CrawlRequest("stop"))
        assert session.status.is_interrupted


def test_a_budget_without_pages_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="how many pages"):
        answers(folder, CrawlRequest("budget"))


@pytest.mark.parametrize(
    "plain",
    [
        {"do": "label", "labels": {"http://a.example/" + "a" * 3000: True}},
        {"do": "label", "labels": {str(number): True for number in range(MAX_LABELS + 1)}},
        {"do": "budget", "pages": 0},
        {"do": "block", "what": "a" * 3000},
        {"do": "eval"},
    ],
)
def test_requests_are_bounded(plain: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(plain, CrawlRequest)


def test_connections_of_others_that_ask_nothing_do_not_keep_the_owner_from_a_port(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "_socket_path", lambda folder: None)  # as where the path is too long for a socket

    async def run() -> CrawlReply | None:
        with opened(folder) as session:
            crawl_control = CrawlControl(session, TopicTrainer(session))
            await crawl_control.open()
            port = msgspec.json.decode(address_file(folder).read_bytes())["port"]
            held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(30)]
            reply = await asyncio.to_thread(ask, folder, CrawlRequest("status"))
            for _, writer in held:
                writer.close()
            await crawl_control.close()
            return reply

    reply = asyncio.run(run())
    assert reply is not None and reply.status


def test_nobody_answers_where_no_crawl_runs(tmp_path: Path) -> None:
    assert ask(tmp_path, CrawlRequest("status")) is None
    (tmp_path / "control.sock").write_text("")
    (tmp_path / "control.json").write_text('{"port": 1, "token": "x"}')
    assert ask(tmp_path, CrawlRequest("status")) is None
