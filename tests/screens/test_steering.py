"""What the screens change: crawls, labels, hosts, new collections."""

import json
import sys
import time
from html import escape
from pathlib import Path
from random import Random
from shutil import copytree

import pytest

from crawling import collection, wait_until, waiting
from lycosa.recipe import load_recipe
from lycosa.relevance.harvest import wilson_interval
from lycosa.run import control, steering
from lycosa.run.control import CrawlReply
from lycosa.run.open import open_for_reading
from lycosa.run.review import read_sample
from lycosa.run.steering import read_steering
from lycosa.run.topic import read_labels
from lycosa.run.topic_training import LearntLabels
from lycosa.run.trust import is_made_here
from lycosa.screens import learning, teaching
from lycosa.screens.frontier import frontier_view
from lycosa.screens.learning import Learnt, learn
from lycosa.screens.teaching import BATCH, TeachingQueue
from lycosa.vocabulary.errors import CollectionError, LycosaError, RecipeError, UsageError
from lycosa.vocabulary.records import Host, Url
from screens.serving import Browser
from sessions import crawl, opened
from story.test_hostile_text import HOME
from worlds import html


@pytest.fixture
def copied(root, tmp_path):
    return Path(copytree(root, tmp_path / "copy"))


# ---------------------------------------------------------------- crawls


def test_a_crawl_is_a_process_of_its_own_with_nothing_but_its_pages(root):
    browser = Browser(root)
    assert browser.post("/c/bees/crawl", {"action": "start", "pages": "50"}).headers["location"] == "/c/bees/crawl"
    [[_, *words]] = browser.launched
    assert words == ["-P", "-m", "lycosa", "crawl", str(root / "bees"), "--pages", "50", "--quiet"]
    wait_until(lambda: "no page was stored" in browser.get("/c/bees/crawl").text)


def test_what_needs_a_crawl_says_so_where_none_runs(root):
    browser = Browser(root)
    for action in ("pause", "resume"):
        answer = browser.post("/c/bees/crawl", {"action": action})
        assert answer.status_code == 503
        assert "no crawl of bees is running" in answer.text


def test_a_crawl_that_has_just_ended_by_itself_can_be_stopped(root):
    answer = Browser(root).post("/c/bees/crawl", {"action": "stop"})
    assert answer.status_code == 303


def test_the_events_are_the_moving_part_of_the_screen(browser):
    answer = browser.get("/c/bees/events?once=1")
    assert answer.headers["content-type"].startswith("text/event-stream")
    line = answer.text.strip()
    assert line.startswith("data: ")
    html = json.loads(line.removeprefix("data: "))
    assert "no crawl runs" in html
    assert "<html" not in html


def test_a_collection_without_pages_can_be_crawled(browser):
    assert 'value="start"' in browser.get("/c/new/crawl").text


# ---------------------------------------------------------------- hosts


def test_hosts_are_blocked_and_preferred_for_the_next_crawl_and_that_is_undone(copied):
    browser = Browser(copied)
    for action, what in (("block", "ads.example"), ("boost", "text.example")):
        assert browser.post("/c/bees/steer", {"action": action, "what": what}).status_code == 303
    steered = read_steering(copied / "bees")
    assert (steered.blocked, steered.boosted) == (("ads.example",), ("text.example",))
    assert "ads.example" in browser.get("/c/bees/frontier").text
    assert browser.post("/c/bees/steer", {"action": "undo"}).status_code == 303
    assert read_steering(copied / "bees").boosted == ()


def test_urls_of_a_pattern_are_blocked(copied):
    browser, before = Browser(copied), waiting(copied / "bees")
    ads = next(iter(before))
    assert browser.post("/c/bees/steer", {"action": "block", "what": f"{ads[:-1]}*"}).status_code == 303
    assert waiting(copied / "bees").keys() == {url for url in before if not url.startswith(ads[:-1])}
    assert escape(f"{ads[:-1]}*") in browser.get("/c/bees/frontier").text


@pytest.mark.parametrize("action", ["block", "boost", "drop"])
@pytest.mark.parametrize("what", ["", "http://", "http://text.example/" + "a" * 2_000, "*://*/" + "a" * 2_000 + "*"])
def test_a_name_that_is_none_or_too_long_is_refused_and_not_cut(copied, action, what):
    answer = Browser(copied).post("/c/bees/steer", {"action": action, "what": what})
    assert (answer.status_code, read_steering(copied / "bees")) == (400, steering.Steering())


@pytest.mark.parametrize("action", ["block", "drop"])
def test_what_is_blocked_or_dropped_waits_no_longer_and_an_undo_brings_it_back_as_the_screen_says(copied, action):
    browser, before = Browser(copied), waiting(copied / "bees")
    said = " ".join(browser.get("/c/bees/frontier").text.split())
    assert "Blocking drops what waits there and keeps out what is found there later;" in said
    assert "dropping removes only what waits now. Undoing either brings that back when the next crawl begins." in said
    assert browser.post("/c/bees/steer", {"action": action, "what": "text.example"}).status_code == 303
    assert browser.get("/api/collections/bees/frontier").json()["total"] == 0
    said = " ".join(browser.get("/c/bees/frontier").text.split())
    assert {"block": "blocked: text.example.", "drop": f"dropped: {len(before)} URL"}[action] in said
    assert browser.post("/c/bees/steer", {"action": "undo"}).status_code == 303
    with opened(copied / "bees"):  # as the next crawl does
        pass
    assert waiting(copied / "bees").keys() == before.keys() != set()


def test_hosts_on_hold_are_shown_until_their_holds_end(copied):
    folder, browser = copied / "bees", Browser(copied)
    with opened(folder, now=time.time()) as session:
        session.state.hold(Host("slow.example"), time.time() + 7_200)
        session.state.hold(Host("soon.example"), time.time() + 3_600)
    held = browser.get("/api/collections/bees/frontier").json()["held"]
    assert [each["host"] for each in held] == ["soon.example", "slow.example"]
    assert "slow.example" in browser.get("/c/bees/frontier").text
    assert frontier_view(folder, now=time.time() + 5_000).held_total == 1


# ---------------------------------------------------------------- teaching


def test_ten_answers_are_learnt_and_what_they_changed_is_shown(copied):
    queue = TeachingQueue(copied / "bees", random=Random(0))
    first = queue.view()
    assert (first.number, first.batch_size, first.change, first.can_undo) == (1, first.batch_size, None, False)
    assert 2 < first.batch_size <= BATCH
    queue.answer(first.page.url, "yes")
    queue.answer(first.page.url, "no")  # a second click
    assert read_labels(copied / "bees") == {first.page.url: True}
    queue.answer("", "undo")
    assert read_labels(copied / "bees") == {}
    for number in range(first.batch_size):
        assert queue.view().number == number + 1
        queue.answer(queue.view().page.url, "skip" if number == 0 else "yes" if number % 2 else "no")
    after = queue.view()
    assert len(read_labels(copied / "bees")) == first.batch_size - 1 == after.labelled
    assert after.change.labels == first.batch_size - 1
    assert after.change.judged is not None
    assert (after.change.waiting, after.change.next_crawl_ranks) == (len(waiting(copied / "bees")), False)
    drawn = read_sample(copied / "bees")
    if drawn:
        good = sum(each.good for each in drawn)
        assert (after.sample.drawn, after.sample.good) == (len(drawn), good)
        assert (after.sample.low, after.sample.high) == wilson_interval(good, len(drawn))


def test_waiting_links_that_changed_sides_are_counted_as_the_catalog_has_them(tmp_path):
    """The recipe asks for ships; the answers say that bees are wanted."""
    world = {
        Url(f"http://{word}.example/{number}"): html(
            f"{word} {number}",
            f"a {word} and {word}s by the {number} of a {word}",
            [f"http://{word}.example/{number}/{link}" for link in "abc"],
        )
        for word in ("bee", "ship")
        for number in range(8)
    }
    folder = collection(tmp_path / "mixed", list(world), topic='text = "ship"')
    crawl(folder, world, len(world))
    before, queue = waiting(folder), TeachingQueue(folder, random=Random(0))
    while (shown := queue.view()).change is None:
        queue.answer(shown.page.url, "yes" if "bee." in shown.page.url else "no")
    after, change = waiting(folder), shown.change
    both = before.keys() & after.keys()
    assert (change.waiting, change.next_crawl_ranks) == (len(both), False)
    assert change.waiting_now_above == sum(before[url] < 0.5 <= after[url] for url in both)
    assert change.waiting_now_below == sum(after[url] < 0.5 <= before[url] for url in both)
    assert change.waiting_now_above + change.waiting_now_below > 0


def test_the_server_does_not_read_the_waiting_links_to_compare_them(copied, monkeypatch):
    monkeypatch.setattr(teaching, "learn", lambda *args, **options: Learnt(9, 7, 2, 1))
    queue = TeachingQueue(copied / "bees", random=Random(0))
    while (shown := queue.view()).change is None:
        queue.answer(shown.page.url, "yes")
    assert (shown.change.waiting, shown.change.waiting_now_above, shown.change.waiting_now_below) == (7, 2, 1)


def test_why_nothing_could_be_learnt_is_said(copied, monkeypatch):
    recipe = copied / "bees" / "lycosa.toml"
    recipe.write_text(recipe.read_text().replace("examples =", 'keywords = ["hive"]\n# examples ='))
    with pytest.raises(UsageError, match="the recipe's topic is a rule"):
        learn(copied / "bees", {Url(HOME): True})
    with pytest.raises(LycosaError, match="missing"):
        learn(copied / "missing", {})
    monkeypatch.setattr(learning, "__name__", "no_such_module")
    with pytest.raises(LycosaError, match=r"the model could not be trained: .*No module named no_such_module"):
        learn(copied / "bees", {})


def test_errors_of_learning_keep_their_class(copied):
    with opened(copied / "bees"), pytest.raises(CollectionError, match="another process is writing"):
        learn(copied / "bees", {Url(HOME): True})
    (copied / "bees" / "lycosa.toml").write_text("nothing = 1")
    with pytest.raises(RecipeError, match="no key 'nothing'"):
        learn(copied / "bees", {Url(HOME): True})


def test_what_is_printed_while_learning_is_no_part_of_the_answer(copied, monkeypatch):
    (copied / "printing.py").write_text(
        "from lycosa.screens import learning\n"
        "label_pages = learning.label_pages\n"
        "def printing(*args, **options):\n"
        "    print('trained', flush=True)\n"
        "    return label_pages(*args, **options)\n"
        "learning.label_pages = printing\n"
        "learning.main()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(copied))
    monkeypatch.setattr(learning, "__name__", "printing")
    assert learn(copied / "bees", {Url(HOME): True}).judged is not None


def test_a_running_crawl_learns_a_label_without_another_process(copied, monkeypatch):
    monkeypatch.setattr(control, "ask", lambda folder, request: CrawlReply(learnt=LearntLabels(7, 0)))
    monkeypatch.setattr(sys, "executable", "missing")
    assert learn(copied / "bees", {Url(HOME): True}) == Learnt(7)


def test_undoing_an_answer_leaves_what_was_blocked_since(copied):
    folder = copied / "bees"
    queue = TeachingQueue(folder, random=Random(0))
    url = queue.view().page.url
    queue.answer(url, "yes")
    steering.block(folder, "ads.example")
    queue.answer("", "undo")
    assert (read_labels(folder), read_steering(folder).blocked) == ({}, ("ads.example",))
    assert queue.view().page.url == url
    queue.answer(url, "yes")
    steering.label(folder, {Url("http://elsewhere.example/"): False})
    with pytest.raises(UsageError, match="no longer the page that was labelled last"):
        queue.answer("", "undo")
    assert len(read_labels(folder)) == 2
    assert (queue.view().labelled, queue.view().number) == (1, 2)


def test_random_pages_that_were_labelled_before_join_the_sample_with_the_first_answer(copied):
    folder = copied / "bees"
    with open_for_reading(folder) as collection:
        labelled = {page.url: True for page in list(collection.catalog.page_scores())[:2]}
    steering.label(folder, labelled)

    class LabelledFirst(Random):
        def sample(self, population, k, **_):
            return sorted(population, key=lambda page: page.url not in labelled)[:k]

    queue = TeachingQueue(folder, random=LabelledFirst(0))
    first = queue.view().page
    assert read_sample(folder) == []  # looking at the screen changes nothing
    queue.answer(first.url, "yes")
    second = queue.view().page
    queue.answer(second.url, "no")
    assert {page.url for page in read_sample(folder)} == set(labelled)
    assert read_labels(folder) == {**labelled, first.url: True, second.url: False}


def test_the_screen_takes_answers(copied):
    browser = Browser(copied)
    text = browser.get("/c/bees/teach").text
    url = text.partition('name="url" value="')[2].partition('"')[0]
    assert browser.post("/c/bees/teach", {"url": url, "answer": "no"}).headers["location"] == "/c/bees/teach"
    assert list(read_labels(copied / "bees").values()) == [False]
    assert 'value="undo"' in browser.get("/c/bees/teach").text


# ---------------------------------------------------------------- new collections


@pytest.mark.parametrize("target", ["1.5", "-0.1", "nan", "much"])
def test_a_target_of_relevance_is_from_0_to_1(copied, target):
    fields = {"name": "made", "topic": "bees", "seeds": HOME, "target": target}
    answer = Browser(copied).post("/new", fields)
    assert "the target of relevance is a number from 0 to 1" in answer.text
    assert not (copied / "made").exists()


def test_a_new_collection_has_what_the_form_says_and_nothing_else(copied):
    browser = Browser(copied)
    fields = {
        "name": "made",
        "topic": "honey bees",
        "examples": f"{HOME}plus\nbees in a hive and their honey",
        "seeds": HOME,
        "hosts": "text.example bees.example",
        "languages": "en",
        "pages": "1234",
        "target": "0",
        "function": "os:system",
        "cookies": "secret.txt",
        "allow_private": "1",
    }
    answer = browser.post("/new", fields)
    assert answer.headers.get("location") == "/c/made/crawl", answer.text
    recipe = load_recipe(copied / "made")
    assert recipe.topic.text == "honey bees"
    assert recipe.topic.function == recipe.requests.cookies == recipe.requests.proxy == ""
    assert recipe.scope.hosts == ("text.example", "bees.example")
    assert recipe.stop.pages == 1234
    assert recipe.utility.target == 0.0
    assert is_made_here(copied / "made")
    assert 'value="1234"' in browser.get("/c/made/crawl").text
    assert browser.get("/c/made/crawl").status_code == 200
