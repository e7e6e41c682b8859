"""From files to access_log: what is kept, what is dropped, and that it adds up whatever the file holds."""

import gzip
import hashlib
import os
import sqlite3
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logs.walking import walk_of
from lycosa.logs import AccessLog, open_access_log
from lycosa.logs.entries import DESCRIPTIONS, DropReason
from lycosa.logs.imports import MAX_LINE, ImportOptions, LogText, import_logs
from lycosa.logs.log_file import TABLES
from lycosa.logs.summary import summarise
from lycosa.vocabulary.errors import LycosaError, UsageError

START = 1_700_000_000.0
NOW = START + 1e8
NASA = Path(__file__).parents[3] / "shared" / "data" / "logs" / "nasa-1995-08-01.tsv.gz"


def squid(user: str, url: str, at: float, *, method: str = "GET", status: int = 200, kind: str = "text/html") -> str:
    return f"{START + at:.3f} 12 {user} TCP_MISS/{status} 999 {method} {url} - DIRECT/192.0.2.1 {kind}\n"


def ncsa(user: str, path: str, minute: int) -> str:
    return f'{user} - - [14/Nov/2023:22:{minute:02}:00 +0000] "GET {path} HTTP/1.1" 200 9\n'


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def imported(path: Path, text: str | bytes, into: str = "made.log", **asked):
    (done,) = import_logs([written(path, text)], path.parent / into, ImportOptions(**asked), now=NOW)
    assert done.known or done.file.lines == done.file.used + sum(done.file.dropped.values())
    return done


def walks(access_log: AccessLog) -> list[list[tuple[str, float]]]:
    """What each reads, in an order that does not depend on numbers."""
    found = []
    for user in range(access_log.users):
        urls, times = walk_of(access_log, user)
        found.append([(access_log.urls[url], at) for url, at in zip(urls, times, strict=True)])
    return sorted(found)


def test_what_is_in_the_log_is_what_was_accepted(tmp_path):
    log = squid("ann", "http://a.org/x", 5) + squid("bob", "http://a.org/x", 3) + squid("ann", "http://b.org/", 4)
    done = imported(tmp_path / "access.log", log)
    assert (done.file.lines, done.file.used, done.file.format, done.file.out_of_order) == (3, 3, "squid", 1)
    access_log = open_access_log(tmp_path / "made.log")
    expected = [("ann", "http://b.org/", START + 4), ("ann", "http://a.org/x", START + 5)]
    assert walks(access_log) == walks(AccessLog.of([*expected, ("bob", "http://a.org/x", START + 3)]))


def test_dropped_lines_are_counted_by_reason_and_shown_without_what_they_say(tmp_path):
    lines = [
        squid("10.1.2.3", "http://a.org/", 1),
        squid("10.1.2.3", "http://a.org/i.png", 2, kind="image/png"),
        squid("10.1.2.3", "a.org:443", 3, method="CONNECT"),
        squid("10.1.2.3", "http://a.org/p", 4, method="POST"),
        squid("10.1.2.3", "ftp://a.org/p", 5),
        squid("10.1.2.3", "http://a.org/", -START),
        squid("10.1.2.3", "http://a.org/", 1e9),
        squid("10.1.2.3", "http://a.org/", 1),
        squid("10.1.2.3", "http://[ann/", 6),
        squid("-", "http://a.org/", 7),
        "ann@example.org has read secrets\n",
        "\n",
        "10.1.2.3 " * 9000 + "\n",
        "\x00\x01\x02\n",
    ]
    done = imported(tmp_path / "access.log", "".join(lines))
    assert done.file.used == 1
    assert done.file.dropped == {
        DESCRIPTIONS[why]: count
        for why, count in {
            DropReason.EMPTY: 1,
            DropReason.TOO_LONG: 1,
            DropReason.BROKEN: 2,
            DropReason.NO_USER: 1,
            DropReason.BAD_DATE: 2,
            DropReason.NOT_GET: 1,
            DropReason.CONNECT: 1,
            DropReason.NOT_A_PAGE: 1,
            DropReason.SCHEME: 1,
            DropReason.BAD_URL: 1,
            DropReason.DUPLICATE: 1,
        }.items()
    }
    assert (11, "aaa@aaaaaaa.aaa aaa aaaa aaaaaaa") in [(each.line, each.shape) for each in done.examples]
    assert (6, "0 seconds after 1970") in [(each.line, each.shape) for each in done.examples]
    for example in done.examples:
        assert example.why == DropReason.BAD_DATE or not set(example.shape) - set("a0?:/[]@. …")


def test_credentials_and_tokens_are_not_stored(tmp_path):
    imported(tmp_path / "access.log", squid("10.1.2.3", "http://ann:pw1@a.org/?token=s3cret&q=1", 1))
    content = (tmp_path / "made.log").read_bytes()
    assert b"http://a.org/?q=1" in content
    for secret in (b"ann", b"pw1", b"s3cret", b"10.1.2.3"):
        assert secret not in content


def test_the_key_is_the_owners_alone_and_joins_people_of_later_imports(tmp_path):
    imported(tmp_path / "one", squid("ann", "http://a.org/", 1))
    key = tmp_path / "made.log.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert not imported(tmp_path / "two", squid("ann", "http://b.org/", 2)).new_key
    assert open_access_log(tmp_path / "made.log").users == 1
    key.unlink()
    assert imported(tmp_path / "three", squid("ann", "http://c.org/", 3)).new_key
    assert open_access_log(tmp_path / "made.log").users == 2
    written(key, "short")
    with pytest.raises(UsageError, match="not the key"):
        imported(tmp_path / "four", squid("ann", "http://d.org/", 4))


def test_a_failed_import_counts_its_lines_in_plain_words(tmp_path):
    lines = '1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 23\njunk\n'
    with pytest.raises(LycosaError, match="of 2: 1 no host, 1 not in the log format; "):
        imported(tmp_path / "access.log", lines)


def test_a_failed_import_leaves_a_key_that_was_there(tmp_path):
    key = written(tmp_path / "made.log.key", bytes(32))
    with pytest.raises(LycosaError, match="no usable line"):
        imported(tmp_path / "access.log", "words\n")
    assert key.read_bytes() == bytes(32)
    assert not (tmp_path / "made.log").exists()


def test_two_logs_hash_the_same_person_differently(tmp_path):
    for name in ("one.log", "two.log"):
        imported(tmp_path / "access.log", squid("ann", "http://a.org/", 1), name)
    hashes = [
        sqlite3.connect(tmp_path / name).execute("SELECT hashes FROM users").fetchone()
        for name in ("one.log", "two.log")
    ]
    assert hashes[0] != hashes[1]


def test_groups_are_dropped_by_the_minute_and_by_the_day_pictures_counting_too(tmp_path):
    hasty = "".join(squid("hasty", "http://a.org/i.png", 0, kind="image/png") for _ in range(5))
    busy = "".join(squid("busy", f"http://a.org/{hour}", 3600 * hour) for hour in range(-8, 1))
    calm = squid("calm", "http://a.org/", 0) + squid("hasty", "http://a.org/", 7)
    done = imported(tmp_path / "access.log", hasty + busy + calm, max_per_day=8, max_per_minute=4)
    assert (done.file.used, done.file.dropped[DESCRIPTIONS[DropReason.GROUP]]) == (1, 10)
    assert summarise(tmp_path / "made.log").groups == 2
    assert list(open_access_log(tmp_path / "made.log").urls) == ["http://a.org/"]


def test_exactly_as_many_as_allowed_is_no_group(tmp_path):
    busy = "".join(squid("busy", f"http://a.org/{each}", each) for each in range(5))
    assert imported(tmp_path / "access.log", busy, max_per_day=5, max_per_minute=5).file.used == 5


def test_a_group_that_shows_over_two_files_loses_what_it_had(tmp_path):
    for part in range(2):
        busy = "".join(squid("busy", f"http://a.org/{part}{each}", 600 * part + each) for each in range(3))
        imported(tmp_path / f"{part}", busy + squid("calm", f"http://b.org/{part}", part), max_per_day=5)
    found = summarise(tmp_path / "made.log")
    assert (found.accesses, found.groups, found.dropped) == (2, 1, {DESCRIPTIONS[DropReason.GROUP]: 6})
    again = imported(
        tmp_path / "later", squid("busy", "http://c.org/", 90_000) + squid("calm", "http://c.org/", 90_001)
    )
    assert again.file.used == 1


def test_min_users_is_kept_by_the_log_and_counts_people_of_all_files(tmp_path):
    imported(tmp_path / "one", squid("ann", "http://a.org/", 1) + squid("ann", "http://b.org/", 2), min_users=2)
    assert open_access_log(tmp_path / "made.log").access_count == 0
    imported(tmp_path / "two", squid("bob", "http://a.org/", 3))
    assert list(open_access_log(tmp_path / "made.log").urls) == ["http://a.org/"]
    assert open_access_log(tmp_path / "made.log", min_users=3).access_count == 0
    found = summarise(tmp_path / "made.log")
    assert (found.min_users, found.rare_pages, found.rare_accesses, found.most_read) == (
        2,
        1,
        1,
        [("http://a.org/", 2, 2)],
    )


def test_a_file_counts_once_however_it_is_packed(tmp_path):
    text = squid("ann", "http://a.org/", 1) * 1 + squid("bob", "http://a.org/", 2)
    assert not imported(tmp_path / "access.log", text).known
    assert imported(tmp_path / "copy.log", text).known
    assert imported(tmp_path / "access.log.gz", gzip.compress(text.encode())).known
    assert open_access_log(tmp_path / "made.log").access_count == 2


def test_of_a_file_that_has_grown_the_new_lines_count(tmp_path):
    first = "".join(squid("ann", "http://a.org/i.png", each, kind="image/png") for each in range(60))
    first += squid("ann", "http://a.org/", 1)
    imported(tmp_path / "access.log", first, max_per_minute=70)
    done = imported(tmp_path / "access.log", first + squid("ann", "http://a.org/2", 2) + "junk")
    assert (done.grown, done.file.lines, done.file.used) == (True, 2, 1)
    assert [example.line for example in done.examples] == [63]
    assert open_access_log(tmp_path / "made.log").access_count == 2
    assert imported(tmp_path / "access.log", first + squid("ann", "http://a.org/2", 2) + "junk").known


def test_a_table_that_has_grown_keeps_its_heading(tmp_path):
    columns = {"user": "u", "url": "p", "time": "t"}
    first = f"u,p,t\nann,http://a.org/,{START}\n"
    imported(tmp_path / "t.csv", first, columns=columns)
    done = imported(tmp_path / "t.csv", first + f"bob,http://a.org/,{START}\n", columns=columns)
    assert (done.grown, done.file.lines, done.file.used) == (True, 1, 1)


def rotated(folder: Path) -> list[Path]:
    """Files with people and pages that recur; a group, whose pages nobody else reads, is among them."""
    files = []
    for number in range(6):
        lines = [
            squid(f"u{number + more}", f"http://a.org/{number // 2 + more}", 3600 * number + more) for more in (0, 1, 2)
        ]
        lines += [squid("proxy", f"http://group.org/{number}/{more}", 3600 * number + more) for more in range(9)]
        files.append(written(folder / f"access.log.{number}", "".join(sorted(lines))))
    return files


def test_files_imported_by_one_command_are_as_if_imported_one_by_one(tmp_path):
    files, asked = rotated(tmp_path), ImportOptions(max_per_minute=5)
    import_logs(files, tmp_path / "together.log", asked, now=NOW)
    for file in files:
        import_logs([file], tmp_path / "single.log", asked, now=NOW)
    together, single = (open_access_log(tmp_path / name) for name in ("together.log", "single.log"))
    assert walks(together) == walks(single)
    assert list(together.urls) == list(single.urls) == [f"http://a.org/{number}" for number in range(5)]
    assert together.users == 8


def test_what_another_program_imports_between_two_files_is_heeded(tmp_path):
    first, second, *others = rotated(tmp_path)
    log, asked = tmp_path / "made.log", ImportOptions(max_per_minute=5)

    def meanwhile(outcome):
        if outcome.file.name == first.name:
            import_logs(others, log, asked, now=NOW)

    import_logs([first, second], log, asked, now=NOW, report=meanwhile)
    import_logs([first, second, *others], tmp_path / "alone.log", asked, now=NOW)
    assert walks(open_access_log(log)) == walks(open_access_log(tmp_path / "alone.log"))


@pytest.mark.parametrize("parts", [1, 2])
def test_a_packed_file_that_is_known_is_left_alone_in_however_many_parts(tmp_path, parts):
    text = "".join(squid(user, "http://a.org/x", at) for at, user in enumerate(["ann", "bob"])).encode()
    half = len(text) // parts
    packed = gzip.compress(text[:half]) + (gzip.compress(text[half:]) if parts > 1 else b"")
    imported(tmp_path / "a", text)
    more = written(tmp_path / "more", squid("cat", "http://a.org/y", 9))
    done = import_logs([written(tmp_path / "a.gz", packed), more], tmp_path / "made.log", ImportOptions(), now=NOW)
    assert [each.known for each in done] == [True, False]
    assert len(walks(open_access_log(tmp_path / "made.log"))) == 3


def test_a_mark_of_its_encoding_is_no_part_of_the_first_line(tmp_path):
    done = imported(tmp_path / "access.log", "\ufeff" + squid("ann", "http://a.org/x", 5))
    assert (done.file.lines, done.file.used) == (1, 1)
    assert imported(tmp_path / "access.log", "\ufeff" + squid("ann", "http://a.org/x", 5)).known


def test_a_known_text_is_told_without_a_look_at_its_lines(tmp_path):
    text = b"any text at all"
    digest = hashlib.blake2b(text, digest_size=16).digest()
    for path in (written(tmp_path / "plain", text), written(tmp_path / "packed", gzip.compress(text))):
        assert LogText(path, known=[(len(text), digest)], progress=lambda size: None).is_known()
        assert not LogText(path, known=[(len(text), b"other")], progress=lambda size: None).is_known()
        assert not LogText(path, known=[(len(text) - 1, digest)], progress=lambda size: None).is_known()


def test_files_that_overlap_count_an_access_once(tmp_path):
    lines = [squid("ann", f"http://a.org/{each}", each) for each in range(4)]
    imported(tmp_path / "one", "".join(lines[:3]))
    done = imported(tmp_path / "two", "".join(lines[1:]))
    assert done.file.dropped == {DESCRIPTIONS[DropReason.DUPLICATE]: 2}
    assert open_access_log(tmp_path / "made.log").access_count == 4


def test_members_of_a_gzip_file_are_one_text_and_a_long_line_is_skipped(tmp_path):
    parts = [squid("ann", "http://a.org/", 1), "x" * (10 << 20) + "\n", squid("bob", "http://a.org/", 2)]
    done = imported(tmp_path / "access.log.gz", b"".join(gzip.compress(part.encode()) for part in parts))
    assert (done.file.used, done.file.dropped) == (2, {DESCRIPTIONS[DropReason.TOO_LONG]: 1})


def test_the_longest_line_that_may_be_is_read(tmp_path):
    line = squid("ann", "http://a.org/", 1).rstrip("\n")
    done = imported(tmp_path / "access.log", line + " " * (MAX_LINE - len(line)) + "\n" + line + " " * MAX_LINE)
    assert (done.file.used, done.file.dropped) == (1, {DESCRIPTIONS[DropReason.TOO_LONG]: 1})


def test_a_server_log_needs_its_site(tmp_path):
    text = ncsa("1.2.3.4", "/a?b=1", 3)
    with pytest.raises(LycosaError, match="--site https://HOST"):
        imported(tmp_path / "access.log", text)
    assert not (tmp_path / "made.log").exists()
    assert not (tmp_path / "made.log.key").exists()
    imported(tmp_path / "access.log", text, site="s.org")
    assert list(open_access_log(tmp_path / "made.log").urls) == ["https://s.org/a?b=1"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"just words\n", "expected Squid's native access.log"),
        (os.urandom(5000), "expected Squid's native access.log"),
        (squid("ann", "http://a.org/", 1, status=404).encode(), "1 failed"),
    ],
)
def test_a_file_without_a_usable_line_is_an_error_that_says_what_was_expected(tmp_path, content, words):
    with pytest.raises(LycosaError, match=words) as error:
        imported(tmp_path / "access.log", content)
    assert error.value.exit_code == 1
    assert not (tmp_path / "made.log").exists()


def test_a_gzip_file_that_is_cut_off_is_not_imported(tmp_path):
    packed = gzip.compress("".join(squid("ann", f"http://a.org/{each}", each) for each in range(999)).encode())
    with pytest.raises(LycosaError, match="cut off or damaged"):
        imported(tmp_path / "access.log.gz", packed[:-500])
    assert not (tmp_path / "made.log").exists()


@pytest.mark.parametrize(
    "asked",
    [
        {"format": "apache"},
        {"format": "csv"},
        {"format": "squid", "columns": {"user": "a", "url": "b", "time": "c"}},
    ],
)
def test_what_cannot_be_asked_for(asked):
    with pytest.raises(UsageError, match=r"no format|needs --columns|--columns go with"):
        ImportOptions(**asked)


def test_a_site_must_be_one(tmp_path):
    with pytest.raises(UsageError, match="--site"):
        imported(tmp_path / "access.log", ncsa("1.2.3.4", "/", 3), site="http://a b/")


def test_files_must_be_there(tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        import_logs([tmp_path / "none"], tmp_path / "made.log", ImportOptions(), now=NOW)
    with pytest.raises(UsageError, match="is not a file"):
        import_logs([tmp_path], tmp_path / "made.log", ImportOptions(), now=NOW)


def spoilt(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("PRAGMA user_version = 9", "of version 9"),
        ("PRAGMA application_id = 9", "not an imported log"),
        ("CREATE VIEW more AS SELECT 1", "other tables"),
        ("UPDATE accesses SET users = x'ffffff7f'", "damaged"),
        ("UPDATE accesses SET urls = x'05000000'", "damaged"),
        ("UPDATE accesses SET moments = x'00'", "damaged"),
        ("UPDATE accesses SET moments = x'0000000000000800'", "damaged"),
        ("UPDATE urls SET text = CAST('file:///etc/passwd' AS BLOB), ends = x'1200000000000000'", "damaged"),
        ("UPDATE urls SET ends = x'0100000000000000'", "damaged"),
        ("UPDATE urls SET ends = 'words'", "damaged"),
        ("UPDATE settings SET value = 'words'", "damaged"),
        ("UPDATE users SET hashes = x'00'", "damaged"),
    ],
)
def test_a_spoilt_log_is_refused_in_one_line(tmp_path, statement, words):
    imported(tmp_path / "access.log", squid("ann", "http://a.org/", 1), min_users=1)
    with pytest.raises(UsageError, match=words) as error:
        open_access_log(spoilt(tmp_path / "made.log", statement))
    assert "\n" not in str(error.value)


def test_a_trigger_in_a_log_is_found_by_whatever_name(tmp_path):
    imported(tmp_path / "access.log", squid("ann", "http://a.org/", 1))
    name = "sqlite_autoindex_urls_2"
    spoilt(
        tmp_path / "made.log",
        "CREATE TRIGGER t AFTER INSERT ON imports BEGIN DELETE FROM urls; END",
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_master SET name = '{name}', sql = replace(sql, 'TRIGGER t', 'TRIGGER {name}') WHERE name = 't'",
    )
    with pytest.raises(UsageError, match="other tables"):
        open_access_log(tmp_path / "made.log")


@pytest.mark.parametrize(
    "statement",
    [
        "dropped = '[]'",
        "dropped = x'00'",
        "dropped = '{\"words\": 1}'",
        "dropped = '{\"failed\": -1}'",
        "at = 9e999",
        "lines = 'words'",
        "size = 1.5",
        "name = x'00'",
    ],
)
def test_a_log_with_spoilt_facts_is_refused_in_one_line(tmp_path, statement):
    imported(tmp_path / "access.log", squid("ann", "http://a.org/", 1))
    spoilt(tmp_path / "made.log", f"UPDATE imports SET {statement}")
    for job in (summarise, lambda path: imported(tmp_path / "more", squid("bob", "http://a.org/", 1), path.name)):
        with pytest.raises(UsageError, match="damaged"):
            job(tmp_path / "made.log")


def test_two_programs_do_not_import_at_once(tmp_path):
    imported(tmp_path / "access.log", squid("ann", "http://a.org/", 1))
    other = sqlite3.connect(tmp_path / "made.log", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LycosaError, match="another program is importing"):
        imported(tmp_path / "more", squid("bob", "http://a.org/", 1))
    assert open_access_log(tmp_path / "made.log").access_count == 1
    other.close()


def test_a_log_that_is_cut_off_or_none_is_refused(tmp_path):
    imported(tmp_path / "access.log", "".join(squid("ann", f"http://a.org/{each}", each) for each in range(999)))
    whole = (tmp_path / "made.log").read_bytes()
    with pytest.raises(UsageError, match=r"cut off|damaged"):
        open_access_log(written(tmp_path / "cut.log", whole[: len(whole) // 2]))
    for content in (b"words", b""):
        with pytest.raises(UsageError, match=r"lycosa logs import FILE"):
            open_access_log(written(tmp_path / "other.log", content))
    with pytest.raises(UsageError, match="cannot read"):
        open_access_log(tmp_path / "none.log")
    with pytest.raises(UsageError, match="not an imported log"):
        import_logs([tmp_path / "access.log"], written(tmp_path / "text.log", "words"), ImportOptions(), now=NOW)


def test_the_tables_are_those_of_the_version(tmp_path):
    imported(tmp_path / "access.log", squid("ann", "http://a.org/", 1))
    names = {name for (name,) in sqlite3.connect(tmp_path / "made.log").execute("SELECT name FROM sqlite_master")}
    assert {name for name in names if not name.startswith("sqlite_")} == set(TABLES)


_pages = [f"http://p{number}.org/" for number in range(5)]
_views = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(_pages), st.integers(0, 400)), min_size=1)


@pytest.mark.slow
@given(_views, st.integers(1, 3))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_readings_of_a_log_are_those_of_the_accepted_accesses(tmp_path_factory, views, files):
    folder = tmp_path_factory.mktemp("log")
    for part in range(files):
        if chosen := views[part::files]:
            imported(folder / str(part), "".join(squid(user, url, at) for user, url, at in chosen), max_per_minute=12)
    lines = Counter((user, int(START + at) // 60) for user, _, at in views)
    groups = {user for (user, _), count in lines.items() if count > 12}
    accepted = [(user, url, START + at) for user, url, at in dict.fromkeys(views) if user not in groups]
    found = open_access_log(folder / "made.log")
    assert [Counter(walk) for walk in walks(found)] == [Counter(walk) for walk in walks(AccessLog.of(accepted))]
    assert found.users == len({user for user, *_ in accepted})
    assert all(np.diff(walk_of(found, user)[1]).min(initial=0) >= 0 for user in range(found.users))


_parts = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [
            squid("ann", "http://a.org/", 1).encode(),
            ncsa("ann", "/x", 1).encode(),
            b"#Fields: date time c-ip cs-uri-stem",
            b"2023-11-14 22:13:20 1.2.3.4 /a",
            b"u,p,t\n",
            b"ann,/x,1700000000\n",
            b'"',
            b",",
            b"\n",
            b"\r\n",
            b" ",
            b"-",
            b"#Fields:",
            b"\xff",
            b"[14/Nov/2023:22:01:00 +0000]",
            b"x" * (MAX_LINE + 5),
        ]
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", [None, "squid", "ncsa", "w3c", "csv", "tsv"])
@given(parts=st.lists(_parts, max_size=12), packed=st.booleans())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_bytes_nothing_breaks_and_the_counts_add_up(tmp_path_factory, name, parts, packed):
    path = tmp_path_factory.mktemp("log") / "access.log"
    table = name in ("csv", "tsv")
    head = {"csv": b"u,p,t\n", "tsv": b"u\tp\tt\n"}.get(name or "", b"")
    content = head + b"".join(parts)
    columns = {"user": "u", "url": "p", "time": "t"} if table else {}
    try:
        done = imported(
            path, gzip.compress(content) if packed else content, format=name, columns=columns, site="https://s.org"
        )
    except LycosaError as error:
        assert "\n" not in str(error)
        assert not (path.parent / "made.log").exists()
        return
    assert done.file.lines == content.count(b"\n") + (not content.endswith(b"\n"))
    assert open_access_log(path.parent / "made.log").access_count == done.file.used


@pytest.mark.skipif(not NASA.exists(), reason="the day of the NASA server's log is not at hand")
def test_a_day_of_a_real_server(tmp_path):
    columns = {"user": "host", "url": "url", "time": "time", "status": "response", "method": "method"}
    asked = ImportOptions(columns=columns, site="http://www.ksc.nasa.gov")
    (done,) = import_logs([NASA], tmp_path / "nasa.log", asked, now=NOW)
    assert (done.file.format, done.file.lines) == ("tsv", 30_970)
    assert done.file.lines == done.file.used + sum(done.file.dropped.values())
    found = summarise(tmp_path / "nasa.log")
    assert found.days == 1
    assert 2000 < found.users <= 2365
    assert found.most_read[0][0] == "http://www.ksc.nasa.gov/ksc.html"
