import gzip
import io
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from math import log
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.standing.authority_table import MAX_RANK, AuthorityTable, Rank, quantised_rank, rank_of_quantised, rewrite
from lycosa.standing.ranked_lists import import_list
from lycosa.vocabulary.errors import UsageError

CC_DOMAINS = (
    "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\t#n_hosts\n"
    "1\t3.4e7\t2\t0.011\tcom.facebook\t3606\n2\t3.3e7\t1\t0.012\tcom.googleapis\t3519\n"
    "3\t3.1e7\t9\t0.002\torg.example\t12\n4\t3.0e7\t12\t0.001\tuk.co.bbc\t99\n"
)
CC_HOSTS = (
    "#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev\n"
    "1\t2.3e7\t5\t0.006\tcom.facebook.www\n2\t2.2e7\t1\t0.011\tcom.googleapis.fonts\n3\t2.1e7\t3\t0.1\torg.example.blog\n"
)
MAJESTIC = (
    "GlobalRank,TldRank,Domain,TLD,RefSubNets,RefIPs,IDN_Domain,IDN_TLD,PrevGlobalRank,PrevTldRank,PrevRefSubNets,PrevRefIPs\n"
    "1,1,google.com,com,482389,2328744,google.com,com,1,1,482000,2320000\n"
    "2,1,example.org,org,400000,2000000,example.org,org,2,1,400000,2000000\n"
)
TRANCO = "1,google.com\r\n2,amazonaws.com\r\n3,example.org\r\n4,not a host\r\n5,xn--mller-kva.de\r\n"
CRUX = "origin,rank\nhttps://www.google.com,1000\nhttps://blog.example.org,5000\nhttp://other.example:8080,10000\n"
OPEN_PAGE_RANK = (
    '"Rank","Domain","Open Page Rank"\n"1","fonts.googleapis.com","10.00"\n"2","facebook.com","10.00"\n'
    '"3","example.org","8.50"\n'
)
DUMP = (
    "-- MySQL dump 10.19\n--\n-- Table structure for table `externallinks`\n--\nCREATE TABLE `externallinks` (\n"
    "  `el_id` int(10) unsigned NOT NULL AUTO_INCREMENT,\n  `el_from` int(8) unsigned NOT NULL DEFAULT 0,\n"
    "  `el_to_domain_index` varbinary(255) NOT NULL DEFAULT '',\n  `el_to_path` blob DEFAULT NULL\n);\n"
    "INSERT INTO `externallinks` VALUES (1,10,'https://org.example.www.','/bees'),(2,11,'http://org.example.www.',"
    "'/bees'),(3,12,'https://com.other.','/it\\'s?a=(1,2,\\'x\\')'),(4,12,'https://com.other.:8443','/'),"
    "(5,13,'mailto:me',NULL),(6,14,'https://org.example.www.','/wax');\n"
)
LISTS = {
    "cc-main-2025-domain-ranks.txt": (CC_DOMAINS, "Common Crawl domains", 4, {"http://news.bbc.co.uk/": 4}),
    "cc-main-2025-host-ranks.txt": (CC_HOSTS, "Common Crawl hosts", 3, {"http://blog.example.org/x": 3}),
    "majestic_million.csv": (MAJESTIC, "Majestic Million", 2, {"https://www.example.org/": 2}),
    "top-1m.csv": (TRANCO, "Tranco", 4, {"https://a.b.example.org/": 3, "https://müller.de/": 5}),
    "current.csv": (CRUX, "CrUX", 3, {"https://blog.example.org/": 5000, "http://other.example/": 10000}),
    "top10milliondomains.csv": (OPEN_PAGE_RANK, "Open PageRank", 3, {"https://facebook.com/": 2}),
    "externallinks.sql": (
        DUMP, "Wikipedia external links", 4, {"https://www.example.org/bees": 1, "https://www.example.org/wax": 2},
    ),
    "mine.csv": ("domain,rank\nexample.org,7\n", "ranked domains", 1, {"https://example.org/": 7}),
    "mine.tsv": ("google.com\t1\nexample.org\t2\n", "ranked domains", 2, {"https://example.org/": 2}),
}  # fmt: skip


def imported(folder: Path, name: str, content: str | bytes, **more):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return import_list(path, folder / "authority.table", **more)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("packed", ["plain", "gzip", "zip"])
def test_every_list_is_recognised_by_its_first_lines(tmp_path, name, packed):
    content, source, rows, ranks = LISTS[name]
    data = content.encode()
    if packed == "gzip":
        data = gzip.compress(data, mtime=0)
    elif packed == "zip":
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, data)
        data = file.getvalue()
    done = imported(tmp_path, name, data)
    assert (done.source.name, done.source.rows) == (source, rows)
    table = AuthorityTable(tmp_path / "authority.table")
    for url, rank in ranks.items():
        url = url.replace("müller", "xn--mller-kva")
        assert [(each.source, each.rank) for each in table.ranks(url)] == [(source, pytest.approx(rank, rel=2e-4))]
    assert table.ranks("https://unheard.test/") == []
    assert (tmp_path / "authority.table").stat().st_size == 4096 + 10 * len(table)


def test_lists_stand_side_by_side_and_a_newer_one_takes_the_place_of_an_older(tmp_path):
    imported(tmp_path, "top-1m.csv", TRANCO)
    first = AuthorityTable(tmp_path / "authority.table").digest
    imported(tmp_path, "majestic.csv", MAJESTIC)
    table = AuthorityTable(tmp_path / "authority.table")
    assert [str(each) for each in table.ranks("https://www.example.org/")] == [
        "rank 2 of Majestic Million (example.org)",
        "rank 3 of Tranco (example.org)",
    ]
    assert table.digest != first and len(table) == 6
    imported(tmp_path, "newer.csv", "1,example.org\n2,google.com\n")
    table = AuthorityTable(tmp_path / "authority.table")
    assert [(each.source, each.rank) for each in table.ranks("https://example.org/")] == [
        ("Tranco", 1),
        ("Majestic Million", 2),
    ]
    assert {source.name: source.rows for source in table.sources} == {"Majestic Million": 2, "Tranco": 2}
    rewrite(tmp_path / "authority.table", "Majestic Million", lambda buckets: None)
    assert [source.name for source in AuthorityTable(tmp_path / "authority.table").sources] == ["Tranco"]


def test_the_same_lists_have_the_same_hash(tmp_path):
    digests = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        imported(folder, "top-1m.csv", TRANCO)
        imported(folder, "crux.csv", CRUX)
        digests.append(AuthorityTable(folder / "authority.table").digest)
    assert digests[0] == digests[1]


def test_the_best_rank_counts_and_unknown_names_are_at_the_floor(tmp_path):
    imported(tmp_path, "top-1m.csv", "".join(f"{rank},site{rank}.example\n" for rank in range(1, 1001)))
    table = AuthorityTable(tmp_path / "authority.table")
    assert table.value("https://site1.example/a") == pytest.approx(log(500))
    assert table.value("https://site500.example/") == pytest.approx(0.0)
    assert table.value("https://unheard.test/") == pytest.approx(-log(2))
    assert table.value("https://unheard.test/") == table.value("https://site1000.example/")
    assert table.value(17) == 0.0


def test_a_page_may_count_for_more_than_its_site(tmp_path):
    imported(tmp_path, "top-1m.csv", "".join(f"{rank},site{rank}.example\n" for rank in range(1, 1001)))
    imported(tmp_path, "externallinks.sql", DUMP)
    table = AuthorityTable(tmp_path / "authority.table")
    assert table.value("http://www.example.org/bees") == pytest.approx(log(500))
    assert table.value("http://www.example.org/honey") == pytest.approx(-log(2))
    assert table.value("http://site1.example/bees") == pytest.approx(log(500))


@given(st.integers(1, MAX_RANK))
def test_a_rank_is_kept_within_a_fiftieth_of_a_percent(rank):
    assert abs(rank_of_quantised(quantised_rank(rank)) - rank) <= max(0, rank * 2e-4) + (rank > 3_000)
    assert rank > 3_000 or rank_of_quantised(quantised_rank(rank)) == rank


def test_ranks_are_said_as_exactly_as_they_are_known():
    assert str(Rank("Tranco", "a.example", 2_999)) == "rank 2,999 of Tranco (a.example)"
    assert str(Rank("Tranco", "a.example", 1_234_567)) == "rank 1,230,000 or so of Tranco (a.example)"


def dump_of(*links: tuple[int, str, str]) -> str:
    """The dump of links: page, reversed domain, path."""
    rows = ",".join(f"({number},{page},'{domain}','{path}')" for number, (page, domain, path) in enumerate(links, 1))
    return DUMP.split("INSERT")[0] + f"INSERT INTO `externallinks` VALUES {rows};\n"


def test_a_page_that_links_twice_counts_once(tmp_path):
    links = [(1, "https://com.often.", "/"), (1, "http://com.often.", "/"), (1, "http://com.often.", "/")]
    links += [(2, "http://com.twice.", "/"), (3, "https://com.twice.", "/"), (9_999_999_999, "https://com.twice.", "/")]
    imported(tmp_path, "externallinks.sql", dump_of(*links))
    table = AuthorityTable(tmp_path / "authority.table")
    assert [table.ranks(f"https://{name}.com/")[0].rank for name in ("twice", "often")] == [1, 2]


@pytest.mark.parametrize("path", ["/?a=1&section=2", "/?copy=1&copy=2", "/?a&times=3", "/?q=1&lt;&amp;b"])
def test_links_of_a_dump_are_taken_as_they_stand(tmp_path, path):
    imported(tmp_path, "externallinks.sql", dump_of((1, "https://com.shop.", path)))
    assert AuthorityTable(tmp_path / "authority.table").ranks(f"https://shop.com{path}")


def test_equally_linked_urls_that_are_more_than_are_kept_are_refused(tmp_path):
    links = [(page, f"https://com.site{page}.", "/") for page in range(5)]
    with pytest.raises(UsageError, match="5 URLs of the same rank, more than the 4 that are kept; say --top 5"):
        imported(tmp_path, "externallinks.sql", dump_of(*links), top=4)
    assert imported(tmp_path, "externallinks.sql", dump_of(*links), top=5).source.rows == 5


def test_damage_of_a_dump_is_reported_at_its_line(tmp_path):
    rows = "".join(
        f"INSERT INTO `externallinks` VALUES ({page},{page},'https://com.site{page * 7919}.','/');\n"
        for page in range(1, 3_000)
    )
    whole = gzip.compress((DUMP.split("INSERT")[0] + rows).encode(), mtime=0)
    with pytest.raises(UsageError, match=r"list:\d{3,}: the file is cut short"):
        imported(tmp_path, "list", whole[: len(whole) // 2])


def test_of_a_long_list_the_first_or_most_linked_are_kept(tmp_path):
    done = imported(tmp_path, "top-1m.csv", TRANCO, top=2)
    assert (done.source.rows, done.source.largest_rank) == (2, 2)
    done = imported(tmp_path, "externallinks.sql", DUMP, top=1)
    assert (done.source.rows, done.skipped) == (1, 1)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", r"list:1: not a list of ranks"),
        (b"domain,reach\nexample.org,4\n", r"list:1: not a list .*domain,rank"),
        (b"example.org,45000\nexample.net,200\n", r"list:1: not a list"),
        (b"\x00\xff\xfe", r"list:1: not a list"),
        (gzip.compress(TRANCO.encode(), mtime=0)[:-9], "cut short or damaged"),
        (b"PK\x03\x04 and nothing", "zip cannot be read"),
        (b"origin,rank\nnothing here\n", "no line has a host and a rank"),
        (b"1,a.example\n2,b.example\n3,c.example\n" + b"x\n" * 2000, r"list:\d+: most lines"),
        (b"1,a.example\n2,b.example\n3," + b"c" * 20_000, "list:3: the line is longer"),
        (DUMP.split("INSERT")[0].encode(), "no links in it"),
    ],
)
def test_what_is_no_list_is_named_and_changes_nothing(tmp_path, content, complaint):
    imported(tmp_path, "top-1m.csv", TRANCO)
    before = (tmp_path / "authority.table").read_bytes()
    with pytest.raises(UsageError, match=complaint):
        imported(tmp_path, "list", content)
    assert (tmp_path / "authority.table").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["authority.table", "list", "top-1m.csv"]


def test_what_a_killed_import_left_behind_is_removed(tmp_path):
    (tmp_path / ".authority-killed").mkdir()
    (tmp_path / ".authority-killed" / "07").write_bytes(b"rows")
    imported(tmp_path, "top-1m.csv", TRANCO)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["authority.table", "top-1m.csv"]


def test_two_that_import_at_once_both_count(tmp_path):
    lists = {"top-1m.csv": TRANCO, "majestic.csv": MAJESTIC, "crux.csv": CRUX, "opr.csv": OPEN_PAGE_RANK}
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda each: imported(tmp_path, *each), lists.items()))
    table = AuthorityTable(tmp_path / "authority.table")
    assert len(table.sources) == 4 and len(table) == sum(source.rows for source in table.sources)


@pytest.mark.parametrize(
    "damage", [b"", b"{}", b"x" * 5000, b'{"kind":"\xff"}', b'{"kind":"lycosa authority table, 1","rows":9}']
)
def test_a_damaged_table_names_the_way_out(tmp_path, damage):
    (tmp_path / "authority.table").write_bytes(damage)
    with pytest.raises(UsageError, match="remove it, and import the lists again"):
        AuthorityTable(tmp_path / "authority.table")


@pytest.mark.slow
@given(st.lists(st.text(max_size=30), max_size=8))
def test_no_line_raises_anything_else(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("any")
    content = "1,a.example\n2,b.example\n3,c.example\n" + "\n".join(lines)
    done = imported(folder, "list", content.encode("utf-8", "replace"))
    assert done.source.rows >= 3


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_does_not_grow_with_the_list(tmp_path):
    """Eight times as many rows in a table make the process that imports them no more than a few megabytes larger."""
    program = (
        "import sys; from pathlib import Path; from lycosa.standing.ranked_lists import import_list;"
        "import_list(Path(sys.argv[1]), Path(sys.argv[2]));"
        "print(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])"
    )
    grown = []
    for rows in (50_000, 400_000):
        path = tmp_path / f"{rows}.csv"
        numbers = np.arange(1, rows + 1)
        path.write_text("\n".join(f"{number},s{number}.example" for number in numbers.tolist()))
        command = [sys.executable, "-c", program, str(path), str(tmp_path / f"{rows}.table")]
        grown.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert grown[1] - grown[0] < 10_000, grown  # kilobytes


@pytest.mark.parametrize("way", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_member_of_a_zip_is_told_in_one_line(tmp_path, way):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", way) as archive:
        archive.writestr("list.csv", "".join(f"{rank},{rank * 7919}.example\n" for rank in range(1, 3_000)))
    whole = file.getvalue()
    assert imported(tmp_path, "list", whole).source.rows == 2_999
    for place in (38, 60, 1_000, len(whole) // 2):
        damaged = whole[:place] + bytes(byte ^ 0xFF for byte in whole[place : place + 40]) + whole[place + 40 :]
        with pytest.raises(UsageError) as told:
            imported(tmp_path, "list", damaged)
        assert "\n" not in str(told.value) and "list" in str(told.value)
