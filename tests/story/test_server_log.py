"""From a server's access log to a log that crawls can go by, through the command line."""

import sqlite3
from pathlib import Path

import pytest

from crawling import begin, done, kill, lycosa, wait_until
from lycosa.cli.logs import sparkline
from lycosa.logs import open_access_log

LINE = '{host} - - [{day:02}/Nov/2023:{hour:02}:00:{second:02} +0000] "GET {path} HTTP/1.1" {status} 99 "-" "Mozilla"\n'


def line(host: str, path: str, *, day: int = 14, hour: int = 9, second: int = 0, status: int = 200) -> str:
    return LINE.format(host=host, path=path, day=day, hour=hour, second=second, status=status)


def server_log(path: Path) -> Path:
    lines = [line(f"10.0.0.{host}", "/bees", day=day) for host in range(3) for day in range(1, 11)]
    lines += [line("10.0.0.1", "/private", hour=10), line("10.0.0.1", "/logo.png"), line("10.0.0.1", "/x", status=404)]
    path.write_text("".join([*lines, "10.0.0.9 said hello\n"]))
    return path


def test_a_server_log_is_imported_and_shown(tmp_path):
    log = tmp_path / "site.log"
    said = done("logs", "import", server_log(tmp_path / "access.log"), "--into", log, "--site", "https://s.example")
    assert "access.log (ncsa): 34 lines, 31 used; dropped: 1 not in the log format, 1 failed, 1 not a page" in said.out
    assert f"lycosa crawl NAME --logs {log}" in said.out
    assert "access.log: line 34: not in the log format (shown masked: 00.0.0.0 aaaa aaaaa)" in said.err
    assert "10.0.0" not in said.out + said.err
    shown = done("logs", "show", log, "--out", tmp_path / "pictures")
    assert "31 accesses of 3 people to 2 pages on 11 days, 2023-11-01 to 2023-11-14" in shown.out
    assert "  from 1 file with 34 lines" in shown.out
    assert "       3  https://s.example/bees" in shown.out
    assert "accesses by the day" in shown.out
    assert (tmp_path / "pictures" / "activity.svg").read_text().startswith("<svg")


def test_programs_read_the_same(tmp_path):
    log = tmp_path / "site.log"
    command = ("logs", "import", server_log(tmp_path / "access.log"), "--into", log, "--site", "s.example", "--json")
    (file,) = done(*command, "--min-users", 2).json["files"]
    assert (file["lines"], file["used"], file["dropped"]["failed"]) == (34, 31, 1)
    assert file["examples"][0] == {"line": 34, "reason": "not as the format has it", "shape": "00.0.0.0 aaaa aaaaa"}
    (again,) = done(*command).json["files"]
    assert (again["already_imported"], again["used"]) == (True, 0)
    shown = done("logs", "show", log, "--json").json
    assert (shown["accesses"], shown["pages"], shown["users"], shown["days"], shown["min_users"]) == (30, 1, 3, 10, 2)
    assert shown["left_out"] == {"pages": 1, "accesses": 1}
    assert shown["most_read"] == [{"url": "https://s.example/bees", "users": 3, "accesses": 30}]
    assert sum(shown["activity"]["counts"]) == 30


def test_a_site_without_a_scheme_is_told_with_the_way_out_that_works(tmp_path):
    access = server_log(tmp_path / "a")
    said = done("logs", "import", access, "--into", tmp_path / "site.log", "--site", "s.example")
    assert "taking paths to be of https://s.example" in said.err
    assert "into a new log with --site http://s.example" in said.err
    done("logs", "import", access, "--into", tmp_path / "new.log", "--site", "http://s.example")
    assert done("logs", "show", tmp_path / "new.log", "--json").json["most_read"][0]["url"] == "http://s.example/bees"


def test_importing_twice_says_so(tmp_path):
    command = ("logs", "import", server_log(tmp_path / "a"), "--into", tmp_path / "site.log", "--site", "s.example")
    done(*command)
    assert "a: already imported; nothing was added" in done(*command).out
    other_way = done(*command[:-1], "http://s.example")
    assert "already imported" in other_way.out
    assert "into a new log" in other_way.err
    quiet = done(*command, "--quiet")
    assert (quiet.out, quiet.err) == ("", "")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("import", "{words}", "--into", "{made}"), 1, "expected Squid's native access.log"),
        (("import", "{log}", "--into", "{made}"), 1, "--site https://HOST"),
        (("import", "{none}", "--into", "{made}"), 2, "there is no file"),
        (("import", "{log}", "--into", "{words}"), 2, "is not an imported log"),
        (("import", "{log}", "--into", "{made}", "--format", "apache"), 2, "there are squid, ncsa, w3c, csv, tsv"),
        (("import", "{log}", "--into", "{made}", "--columns", "user=a"), 2, "no column for url, time"),
        (("import", "{log}", "--into", "{made}", "--columns", "user=a,url=b,time=c"), 2, "has no column 'a'"),
        (("import", "{log}", "--into", "{none}/made.log", "--site", "a.org"), 2, "cannot write the log"),
        (("show", "{none}"), 2, "cannot read the log"),
        (("show", "{words}"), 2, "is not an imported log"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(tmp_path, words, code, says):
    (tmp_path / "words.txt").write_text("just words\nand more\n")
    names = {
        "{words}": tmp_path / "words.txt",
        "{log}": server_log(tmp_path / "access.log"),
        "{none}": tmp_path / "none",
        "{made}": tmp_path / "made.log",
        "{none}/made.log": tmp_path / "none" / "made.log",
    }
    assert lycosa("logs", *(names.get(word, word) for word in words)).is_one_clear_line(code, says)
    assert not (tmp_path / "made.log").exists()


@pytest.mark.slow
def test_an_import_killed_midway_counts_once_when_done_again(tmp_path):
    log, files = tmp_path / "site.log", [tmp_path / "first", tmp_path / "second"]
    files[0].write_text(line("10.0.0.1", "/first"))
    with files[1].open("w") as file:
        for number in range(150_000):
            file.write(line(f"10.0.{number % 200}.{number // 200 % 250}", f"/{number % 977}", second=number % 60))
    command = ("logs", "import", *files, "--into", log, "--site", "s.example", "--most-a-minute", 1000)
    process = begin(*command)
    wait_until(lambda: log.exists() and imports_in(log) >= 1)  # the first file is in, the second under way
    kill(process)
    assert imports_in(log) == 1
    assert open_access_log(log).access_count == 1
    said = done(*command)
    assert "first: already imported" in said.out
    assert imports_in(log) == 2
    assert open_access_log(log).access_count == 150_001


def imports_in(log: Path) -> int:
    try:
        connection = sqlite3.connect(f"file:{log}?mode=ro", uri=True)
        return int(connection.execute("SELECT count(*) FROM imports").fetchone()[0])
    except sqlite3.OperationalError:
        return 0  # not made yet


def test_a_sparkline_has_room():
    assert sparkline([0, 7, 14]) == "▁▄█"
    assert sparkline([0, 1, 1000]) == "▁▂█"  # a few are not none
    assert len(sparkline(range(1000))) <= 60
    assert sparkline([]) == ""
