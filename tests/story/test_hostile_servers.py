"""Seeds, examples and readers of the output that fail; what servers do is in tests/fortress."""

import pytest

from crawling import (
    apart,
    begin,
    collection,
    done,
    end,
    lycosa,
    outcomes,
    pages,
)
from web.loopback import LoopbackServer, response
from worlds import html

pytestmark = pytest.mark.slow

GOOD = [f"http://good.example/{number}" for number in range(30)]
CAREFUL = "timeout = 6\nretries = 0\nmax_body = 300000\n"


def test_seeds_that_cannot_be_reached_do_not_keep_the_user_waiting_for_minutes(tmp_path):
    seeds = ["https://a.example/", "http://nowhere.invalid/"]
    folder = collection(tmp_path / "c", seeds, rest="timeout = 1\nretries = 1")
    with LoopbackServer({}) as server:
        process = begin("crawl", folder, "--resolve", f"a.example=127.0.0.1:{server.port}")
        said = end(process)
    assert said.is_one_clear_line(1, "a.example/: unreachable: ", "nowhere.invalid/: unreachable: no such host")
    assert sorted(outcomes(folder)) == sorted(seeds)
    assert done("show", folder, "--json").json["waiting"] == 0


def test_an_example_that_cannot_be_had_is_told_and_the_others_teach(tmp_path):
    texts = ["honey bees and their hives in the garden", "a swarm of bees and its queen"]
    folder = collection(tmp_path / "c", ["http://a.example/"], topic='examples = "good.txt"', rest=CAREFUL)
    (folder / "good.txt").write_text("\n".join([*texts, "http://a.example/gone"]) + "\n", encoding="utf-8")
    with LoopbackServer({"/": response(html("A", "honey bees"))}) as server:
        said = done("crawl", folder, "--resolve", f"*=127.0.0.1:{server.port}")
        assert "http://a.example/gone" in said.err
        assert len(pages(folder)) == 1
        (folder / "good.txt").write_text("http://a.example/gone\n", encoding="utf-8")
        said = lycosa("crawl", folder, "--resolve", f"*=127.0.0.1:{server.port}")
        assert said.is_one_clear_line(1, "good.txt")


def test_a_crawl_whose_output_is_cut_off_ends_without_a_traceback(tmp_path):
    folder = collection(tmp_path / "c", ["http://good.example/"], rest=CAREFUL)
    good = {
        f"/{number}": response(html(f"Good {number}", f"honey bee hive {' '.join(f'n{number}w{i}' for i in range(9))}"))
        for number in range(len(GOOD))
    }
    with LoopbackServer({"/": response(html("Front", "honey bee hive", GOOD)), **good}) as server:
        command = ["crawl", folder, "--pages", 25, "--include-host", "good.example", "--resolve", server.everything[0]]
        process = begin(*command, "--json")
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        told = process.stderr.read()
        process.wait()
        process.stderr.close()
        assert "Traceback" not in told
        said = apart(*command)
        assert said.code == 0, said.err
    assert len(pages(folder)) == 25
