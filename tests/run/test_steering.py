"""What a user tells a crawl on its way, kept in a file: noted, read back, undone."""

import signal
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import lycosa
from crawling import collection, pages, rows, waiting
from lycosa.frontier.admission import Admission, NamedUrls
from lycosa.run import steering
from lycosa.run.control import CrawlRequest, execute_command
from lycosa.run.review import LabelledPage, add_to_sample, read_sample
from lycosa.run.steering import (
    STEERING_FILE,
    Steering,
    SteeringCommand,
    checked_host,
    checked_pattern,
    checked_url,
    read_dropped,
    read_steering,
)
from lycosa.run.topic import LABELS_FILE, read_labels
from lycosa.vocabulary.errors import CollectionError, LycosaError, UsageError
from lycosa.vocabulary.records import Candidate, SkipReason, Url
from lycosa.vocabulary.urls import secure_key_of
from processes import Process, with_files_no_larger_than
from sessions import crawl, opened
from worlds import TOPICAL, TOPICAL_SEED, html

HIVE, SHIP = Url("http://bees.example/hive"), Url("http://ships.example/")


def test_what_was_noted_is_read_back_and_undone_in_reverse(tmp_path: Path) -> None:
    steering.block(tmp_path, "Ads.Example.")
    steering.boost(tmp_path, "http://bees.example/hive")
    steering.boost(tmp_path, "bees.example")
    steering.label(tmp_path, {HIVE: True})
    steering.label(tmp_path, {SHIP: False, HIVE: False})
    assert read_steering(tmp_path) == Steering(("ads.example",), (HIVE, "bees.example"))
    assert read_labels(tmp_path) == {HIVE: False, SHIP: False}
    assert steering.undo(tmp_path) == SteeringCommand("label", "2", lines_before=1)
    assert read_labels(tmp_path) == {HIVE: True}
    undone = [str(steering.undo(tmp_path)) for _ in range(4)]
    assert undone == ["label 1", "boost bees.example", f"boost {HIVE}", "block ads.example"]
    assert steering.undo(tmp_path) is None
    assert (read_steering(tmp_path), read_labels(tmp_path)) == (Steering(), {})


PARTS = [*"ab.:-/*@?#%[]1 é\u00df\u0130\u2024", "http://", "*://", ":80", ":443", "xn--", "%2e", "é" * 60, "a" * 70]


@given(st.lists(st.sampled_from(PARTS), max_size=9).map("".join))
@example("*:443")
@example("a*:80:80")
@example(f"http://{'é' * 300}.example/")
@example("é" * 300)
def test_what_is_taken_can_be_read_back(text: str) -> None:
    with suppress(UsageError):
        name = steering.checked_argument(text)
        assert steering._parse_command(f"block {name}") == SteeringCommand("block", name)


def test_a_name_that_would_match_every_url_is_refused_with_a_port_too(tmp_path: Path) -> None:
    for name in ("*:443", "*://:80", "*:80/*", "http://*:80"):
        with pytest.raises(UsageError, match="not a pattern"):
            steering.block(tmp_path, name)
    assert read_steering(tmp_path) == Steering()


def test_a_label_that_is_undone_leaves_the_random_sample(tmp_path: Path) -> None:
    steering.label(tmp_path, {HIVE: True})
    add_to_sample(tmp_path, {SHIP: False, HIVE: True}, pages=9)
    steering.undo(tmp_path)
    assert read_sample(tmp_path) == [LabelledPage(SHIP, good=False, pages=9)]


def test_what_is_forgotten_is_not_named_any_more(tmp_path: Path) -> None:
    steering.boost(tmp_path, HIVE)
    steering.label(tmp_path, {HIVE: True})
    steering.block(tmp_path, "ads.example")
    steering.forget_steering(tmp_path, lambda what: what == HIVE)
    assert (tmp_path / STEERING_FILE).read_text() == "block ads.example\n"


def test_patterns_are_read_back_in_normal_form_and_forgotten_with_their_host(tmp_path: Path) -> None:
    steering.block(tmp_path, "HTTP*://Ads.Example/Banner/* ")
    steering.block(tmp_path, "*.example.org/*.pdf")
    steering.boost(tmp_path, "bees.example/hive*")
    patterns = Steering(("http*://ads.example/Banner/*", "*://*.example.org/*.pdf"), ("*://bees.example/hive*",))
    assert read_steering(tmp_path) == patterns
    steering.forget_steering(tmp_path, lambda what: what in ("ads.example", "https://bees.example/hive"))
    assert (tmp_path / STEERING_FILE).read_text() == "block *://*.example.org/*.pdf\n"
    steering.forget_steering(tmp_path, lambda what: what == "example.org")
    assert read_steering(tmp_path) == Steering()


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("*.example.org", "https://a.example.org/x"),
        ("example.org*", "https://example.org/x"),
        ("*ads*", "https://example.org/ads"),
        ("*://example.org/Go?u=http://b.org/*", "https://example.org/Go?u=http://b.org/x"),
        ("example.org/Go?u=http://b.org/*", "https://example.org/Go?u=http://b.org/x"),
        ("http://[::1]:80/*", "http://[::1]/x"),
        ("*://example.org:80/*", "http://example.org/x"),
        ("http://example.org/a[1]*", "http://example.org/a[1]b"),
    ],
)
def test_a_pattern_that_is_taken_matches_what_it_names(tmp_path: Path, pattern: str, url: str) -> None:
    steering.block(tmp_path, pattern)
    assert Url(url) in NamedUrls(read_steering(tmp_path).blocked)
    assert Url("https://other.example/") not in NamedUrls(read_steering(tmp_path).blocked)


def test_one_url_is_blocked_and_no_other(tmp_path: Path) -> None:
    steering.block(tmp_path, "HTTP://Bees.example/hive")
    blocked = NamedUrls(read_steering(tmp_path).blocked)
    assert (HIVE in blocked, Url("http://bees.example/hives") in blocked) == (True, False)
    assert Admission(blocked=blocked.names).out_of_scope(HIVE) == (SkipReason.SCOPE, "URL blocked")


@pytest.mark.parametrize("pattern", ["*", "*://*/*", "a b*", "*\nboost a.example", "bücher*", "a" * 2_000 + "*"])
def test_what_is_no_pattern_is_refused_in_one_line(tmp_path: Path, pattern: str) -> None:
    for command in (steering.block, steering.boost):
        with pytest.raises(UsageError, match=r"^not a pattern of URLs: .+$"):
            command(tmp_path, pattern)
    assert read_steering(tmp_path) == Steering()


def test_a_label_after_a_line_without_an_end_is_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / LABELS_FILE).write_text(f"good {HIVE}")
    steering.label(tmp_path, {SHIP: False})
    assert read_labels(tmp_path) == {HIVE: True, SHIP: False}


@pytest.mark.parametrize("killed_in", ["label", "undo"])
def test_after_a_kill_between_the_two_files_an_undo_drops_no_earlier_labels(
    tmp_path: Path, killed_in: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        pass

    def kill(*_: object) -> None:
        raise KilledError

    steering.label(tmp_path, {HIVE: True})
    if killed_in == "undo":
        steering.label(tmp_path, {SHIP: False})
    with monkeypatch.context() as patched, pytest.raises(KilledError):
        patched.setattr(steering, "add_labels" if killed_in == "label" else "_write_commands", kill)
        steering.label(tmp_path, {SHIP: False}) if killed_in == "label" else steering.undo(tmp_path)
    assert read_labels(tmp_path) == {HIVE: True}
    steering.undo(tmp_path)
    assert read_labels(tmp_path) == {HIVE: True}
    steering.undo(tmp_path)
    assert read_labels(tmp_path) == {}


def test_labels_of_an_older_version_are_undone(tmp_path: Path) -> None:
    (tmp_path / LABELS_FILE).write_text(f"good {HIVE}\nbad {SHIP}\n")
    (tmp_path / STEERING_FILE).write_text("label 1\n")
    assert steering.undo(tmp_path) == SteeringCommand("label", "1")
    assert read_labels(tmp_path) == {HIVE: True}


def test_lines_written_by_hand_are_read_in_normal_form(tmp_path: Path) -> None:
    (tmp_path / STEERING_FILE).write_text("block Ads.Example \nboost HTTP://Bees.example/hive \nboost Bees.example.\n")
    assert read_steering(tmp_path) == Steering(("ads.example",), (HIVE, "bees.example"))


def test_any_number_of_labels_leaves_room_for_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steering, "MAX_COMMANDS", 2)
    for _ in range(3):
        steering.label(tmp_path, {HIVE: True})
    for host in ("a.example", "b.example"):
        steering.block(tmp_path, host)
    with pytest.raises(UsageError, match="2 blocks, boosts and drops"):
        steering.block(tmp_path, "c.example")


@given(st.text(max_size=60))
def test_any_text_is_a_host_or_refused_in_one_line(text: str) -> None:
    for check in (checked_host, checked_url, checked_pattern):
        try:
            found = check(text)
        except UsageError as error:
            assert "\n" not in str(error)
        else:
            assert found and not set(found) & set(" \n\t")
            assert check(found) == found


@pytest.mark.parametrize(
    "line",
    [
        "fly away",
        "block",
        "block http://",
        "boost http://",
        "drop a.example",
        "drop a.example 1",
        "drop 1 2",
        "label many",
        "label 1 2 3",
        "boost " + "a" * 5000,
        "label 99999999999",
    ],
)
def test_a_damaged_file_names_the_line(tmp_path: Path, line: str) -> None:
    (tmp_path / STEERING_FILE).write_text(f"block a.example\n{line}\n")
    with pytest.raises(CollectionError, match=f"{STEERING_FILE}:2"):
        read_steering(tmp_path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / STEERING_FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(LycosaError, match="not UTF-8"):
        read_steering(tmp_path)


A, B, FRONT = (Url(f"http://{name}.example/") for name in ("a", "b", "front"))
FOUND_LATER = Url(f"{A}later")
TWO_HOSTS = {
    FRONT: html("Front", "the front", [A, B]),
    A: html("A", "the first of its host", []),
    B: html("B", "the other host", [A, FOUND_LATER]),
    FOUND_LATER: html("Later", "the second of its host", []),
}
DROPPED = "SELECT url FROM skips WHERE reason LIKE '%dropped%'"


def dropped(folder: Path, name: str) -> str:
    said: list[str] = []
    assert execute_command(folder, CrawlRequest("drop", what=name), notify=said.append) is None
    return said[-1]


@pytest.mark.parametrize("name", ["a.example", A, "*://a.example/*"])
def test_a_drop_is_for_what_waits_and_not_for_what_is_found_later(tmp_path: Path, name: str) -> None:
    folder = collection(tmp_path / "c", [FRONT])
    crawl(folder, TWO_HOSTS, 1)
    assert dropped(folder, name) == "Dropped: 1 waiting URL."
    assert dropped(folder, name) == "Nothing that this names waits."
    assert (waiting(folder).keys(), rows(folder, DROPPED)) == ({B}, [(A,)])
    assert crawl(folder, TWO_HOSTS, 9) == [B, FOUND_LATER]
    with opened(folder) as session:
        session.state.request_reranking()
    with opened(folder):
        assert waiting(folder) == {}, "a re-ranking offers it again"
    lycosa.rebuild(folder)
    with opened(folder):
        assert waiting(folder) == {}, "a rebuild too"
    execute_command(folder, CrawlRequest("undo"), notify=lambda line: None)
    assert crawl(folder, TWO_HOSTS, 9) == [A]
    assert (read_dropped(folder), rows(folder, DROPPED)) == (frozenset(), [])


ALONE = Url("http://alone.example/")  # no page links to it


@pytest.mark.parametrize("undone", ["block", "drop"])
@pytest.mark.parametrize("name", [A, ALONE])
def test_a_boosted_url_that_no_page_links_to_still_waits_after_an_undo(
    tmp_path: Path, undone: Literal["block", "drop"], name: str
) -> None:
    folder = collection(tmp_path / "c", [FRONT])
    crawl(folder, TWO_HOSTS, 1)
    steering.boost(folder, ALONE)
    for request in (CrawlRequest(undone, what=name), CrawlRequest("undo")):
        execute_command(folder, request, notify=lambda line: None)
    with opened(folder):
        pass
    assert waiting(folder).keys() == {A, B, ALONE}
    assert crawl(folder, TWO_HOSTS, 9)[0] == ALONE


@pytest.mark.parametrize("command", ["block", "drop"])
def test_a_seed_without_an_answer_is_not_tried_again_once_it_is_blocked_or_dropped(
    tmp_path: Path, command: Literal["block", "drop"]
) -> None:
    folder = collection(tmp_path / "c", [A, B])
    assert crawl(folder, {}, 1) == [A, B]
    with opened(folder) as session:
        session.frontier.requeue(Candidate(A, 1.0))  # as the next run does
    execute_command(folder, CrawlRequest(command, what=A), notify=lambda line: None)
    assert crawl(folder, {}, 1) == [B]


def test_what_was_dropped_before_a_kill_is_not_fetched_after_it(tmp_path: Path) -> None:
    folder = collection(tmp_path / "c", [FRONT])
    crawl(folder, TWO_HOSTS, 1)
    steering.drop(folder, "a.example", [A])  # the catalog does not know of it
    assert crawl(folder, TWO_HOSTS, 9) == [B, FOUND_LATER]


def test_a_kill_between_the_two_files_leaves_what_was_dropped_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steering.drop(tmp_path, "a.example", [A, FOUND_LATER])
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(steering, "secure_key_of", lambda url: (_ for _ in ()).throw(KeyboardInterrupt))
        steering.drop(tmp_path, "b.example", [B])
    assert len(read_dropped(tmp_path)) == 2
    assert str(steering.undo(tmp_path)) == "drop b.example"
    assert len(read_dropped(tmp_path)) == 2
    steering.drop(tmp_path, "b.example", [B])
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(steering, "_write_commands", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        steering.undo(tmp_path)
    assert str(steering.undo(tmp_path)) == "drop b.example"
    assert len(read_dropped(tmp_path)) == 2


def test_a_kill_within_a_line_leaves_what_was_dropped_before(tmp_path: Path) -> None:
    steering.drop(tmp_path, "a.example", [A])
    urls = [Url(f"{B}{number}") for number in range(99)]
    lines = [f"{secure_key_of(url)}\n" for url in (A, *urls)]
    cut = next(number for number, line in enumerate(lines) if number > 9 and line.startswith("-"))
    size = len("".join(lines[:cut]) + "-")  # of the file when the process is killed
    process = Process(
        "import signal, sys; from pathlib import Path; from lycosa.run import steering\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL); steering.drop(Path(sys.argv[1]), 'b.example', sys.argv[2:])",
        *(tmp_path, *urls),
        before=partial(with_files_no_larger_than, size),
    )
    process.communicate(60)
    assert process.wait(60) == -signal.SIGXFSZ
    assert read_dropped(tmp_path) == {secure_key_of(A)}
    assert (str(steering.undo(tmp_path)), read_dropped(tmp_path)) == ("drop b.example", {secure_key_of(A)})


def test_as_many_urls_are_dropped_as_can_be_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steering, "MAX_DROPPED", 2)
    steering.drop(tmp_path, "a.example", [A, FOUND_LATER])
    with pytest.raises(UsageError, match=r"block b\.example instead"):
        steering.drop(tmp_path, "b.example", [B])
    assert (read_steering(tmp_path).dropped, str(steering.undo(tmp_path))) == (2, "drop a.example")


def test_the_name_of_what_was_dropped_is_forgotten(tmp_path: Path) -> None:
    steering.drop(tmp_path, "a.example", [A])
    steering.forget_steering(tmp_path, lambda what: what == "a.example")
    assert (steering.undo(tmp_path), len(read_dropped(tmp_path))) == (None, 1)
    assert "a.example" not in (tmp_path / steering.DROPPED_FILE).read_text()


def test_a_damaged_file_of_dropped_urls_is_named(tmp_path: Path) -> None:
    (tmp_path / steering.DROPPED_FILE).write_text("http://a.example/\n")
    with pytest.raises(CollectionError, match=r"dropped\.txt is damaged"):
        read_dropped(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hunter", "best-first", "breadth-first"])
def test_a_session_blocks_and_boosts_and_the_next_one_knows_it(tmp_path: Path, strategy: str) -> None:
    folder = collection(tmp_path / "c", [TOPICAL_SEED])
    crawl(folder, TOPICAL, 8, strategy=strategy)
    hosts = sorted({url.split("/")[2] for url in waiting(folder)})
    before = waiting(folder)
    steering.block(folder, hosts[0])
    boosted = next(url for url in before if hosts[0] not in url)
    steering.boost(folder, boosted)
    with opened(folder):
        pass
    left = waiting(folder)
    assert left.keys() == {url for url in before if hosts[0] not in url}
    assert max(left, key=left.__getitem__) == boosted
    assert {url: left[url] for url in left if url != boosted} == {url: before[url] for url in left if url != boosted}
    with opened(folder):
        pass
    assert waiting(folder) == left, "once is enough"
    assert not [url for url in crawl(folder, TOPICAL, 14, strategy=strategy) if hosts[0] in url]
    assert pages(folder)[8] == boosted
    for _ in range(2):
        steering.undo(folder)
    with opened(folder):
        pass
    assert [url for url in waiting(folder) if hosts[0] in url], "what was dropped is there again"
    assert rows(folder, "SELECT url FROM skips WHERE reason LIKE '%blocked%'") == []
