"""A map that is broken, or was made by someone hostile, is refused or bounded, with the reason."""

import sqlite3
from contextlib import closing
from ipaddress import IPv4Address, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.maps import Atlas, Sighting, merge_atlases
from lycosa.maps.atlas_file import APPLICATION_ID
from lycosa.vocabulary.errors import LycosaError, UsageError
from lycosa.vocabulary.hosts import why_url_refused
from lycosa.vocabulary.urls import normalise
from maps.small_atlases import extended, links, mapped_by, pages, url_of


@pytest.fixture
def path(tmp_path):
    extended(tmp_path / "atlas", range(200))
    return tmp_path / "atlas"


def change(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(*statement) if isinstance(statement, tuple) else connection.execute(statement)


def refusal(path, *words):
    for act in (lambda: Atlas(path), lambda: Atlas(path, writable=True)):
        with pytest.raises(LycosaError) as caught:
            act()
        assert len(str(caught.value).splitlines()) == 1
        assert all(word in str(caught.value) for word in words), str(caught.value)
    assert not path.with_name("atlas.new").exists()


def test_what_is_no_atlas_is_refused(tmp_path):
    (tmp_path / "text").write_text("not a database at all, but long enough to look at")
    refusal(tmp_path / "text", "not an atlas", "lycosa map build")
    (tmp_path / "empty").write_bytes(b"")
    refusal(tmp_path / "empty", "not an atlas")
    change(tmp_path / "other", "CREATE TABLE pages (number)")
    refusal(tmp_path / "other", "but not an atlas")
    with pytest.raises(UsageError, match="cannot read"):
        Atlas(tmp_path / "missing")
    refusal(tmp_path)


def test_another_version_is_refused(path):
    change(path, "PRAGMA user_version = 7")
    refusal(path, "version 7")


@pytest.mark.parametrize("kept", [0.98, 0.5, 0.1, 0.02])
def test_a_file_that_was_cut_off_is_refused(path, kept):
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    refusal(path)


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_file_is_refused_or_read_within_bounds(path, seed):
    content = bytearray(path.read_bytes())
    for place in range(1000 + 977 * seed, len(content), 4099):
        content[place : place + 40] = bytes([(17 * seed + place) % 256]) * 40
    path.write_bytes(bytes(content))
    try:
        with Atlas(path) as atlas:
            for topic in atlas.topics():
                atlas.facts(topic)
                assert len(atlas.crawl_map(topic)) <= 200
            atlas.citations()
    except LycosaError as error:
        assert len(str(error).splitlines()) == 1


def test_a_page_of_the_file_that_is_damaged_is_told_also_where_its_times_are_corrected(path):
    content = path.read_bytes()
    for start in range(4096, len(content), 4096):
        damaged = content[: start + 8] + b"\xff" * 52 + content[start + 60 :]
        path.write_bytes(damaged)
        try:
            Atlas(path, writable=True, now=1e9).__exit__(None, None, None)
        except LycosaError as error:
            assert "damaged" in str(error)
            assert path.read_bytes() == damaged
            assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER UPDATE ON pages BEGIN DELETE FROM members; END",
        "CREATE VIEW v AS WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n) SELECT i FROM n",
        "CREATE TABLE more (x)",
        "ALTER TABLE members ADD COLUMN x",
        "DROP TABLE citations",
    ],
)
def test_other_tables_views_and_triggers_are_refused(path, statement):
    change(path, statement)
    refusal(path, "other tables")


@pytest.mark.parametrize("column", ["type", "name"])
def test_a_table_whose_name_or_type_is_no_text_is_refused(path, column):
    cast = f"UPDATE sqlite_master SET {column} = CAST({column} AS BLOB) WHERE name = 'pages'"
    change(path, "PRAGMA writable_schema = ON", cast)
    refusal(path, "other tables")


@pytest.mark.parametrize("name", ["sqlite_autoindex_pages_2", "pages"])
def test_a_trigger_that_hides_under_a_name_of_the_database_is_refused(path, name):
    change(
        path,
        "CREATE TRIGGER t AFTER INSERT ON members BEGIN INSERT OR IGNORE INTO related VALUES (1, 'wasps'); END",
        "PRAGMA writable_schema = ON",
        (
            "UPDATE sqlite_master SET name = ?1, sql = replace(sql, 'TRIGGER t', 'TRIGGER ' || ?1) WHERE name = 't'",
            (name,),
        ),
    )
    refusal(path, "other tables")


def test_a_view_in_place_of_a_table_is_refused(tmp_path):
    endless = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n) SELECT i AS number, 'x' AS name FROM n"
    change(
        tmp_path / "atlas",
        f"CREATE VIEW topics AS {endless}",
        f"PRAGMA application_id = {APPLICATION_ID}",
        "PRAGMA user_version = 1",
    )
    refusal(tmp_path / "atlas", "other tables")


BAD = {
    "javascript:alert(1)": "not http or https",
    "file:///etc/passwd": "not http or https",
    "ftp://site.example/x": "not http or https",
    "http://127.0.0.1/": "a private address",
    "http://10.1.2.3:8080/x": "a private address",
    "http://169.254.169.254/latest/meta-data/": "a private address",
    "http://[::1]/": "a private address",
    "http://[fd00::1]/": "a private address",
    "http://[2002:7f00:1::]/": "a private address",  # 6to4
    "http://[64:ff9b::7f00:1]/": "a private address",  # NAT64
    "http://[::ffff:7f00:1]/": "a private address",
    "http://[2001:0:808:808::80ff:fffe]/": "a private address",  # Teredo
    "http://[64:ff9b:1::a00:1]/": "a private address",
    "http://[fec0::1]/": "a private address",
    "http://192.88.99.1/": "a private address",
    "http://224.0.0.1/": "a private address",
    "http://a..example/": "not spelt as a URL",
    "http://.example/": "not spelt as a URL",
    "http://a.example../": "not spelt as a URL",
    "http://localhost/": "a private address",
    "http://printer.lan./": "a private address",
    "http://printer.local/": "a private address",
    "http://intranet/": "a private address",
    "http://0x7f.1/": "not spelt as a URL",
    "http://user:secret@site.example/": "not spelt as a URL",
    "http://site.example/a b": "not spelt as a URL",
    "http://site.example/\ud800": "not spelt as a URL",
    "http://site.example/" + 3000 * "x": "longer than 2048 characters",
}


@pytest.mark.parametrize(("url", "reason"), BAD.items(), ids=range(len(BAD)))
def test_urls_that_no_crawl_may_ask_for_have_a_reason(url, reason):
    assert why_url_refused(url) == reason
    assert (why_url_refused(url, allow_private=True) is None) == (reason == "a private address")


@pytest.mark.parametrize(
    "url",
    [
        "http://site.example/",
        "http://site.example./",
        "https://a.b.example/x?y=1",
        "http://8.8.8.8/",
        "http://[2001:0:808:808::f7f7:f7f7]/",
        5,
        None,
        b"x",
    ],
)
def test_other_urls_have_none(url):
    assert (why_url_refused(url) is None) == isinstance(url, str)


CARRYING_IPV4 = [IPv6Network(each) for each in ("::ffff:0:0/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")]


@given(st.integers(0, 2**128 - 1))
def test_what_the_standard_library_calls_private_is_left_out(number):
    for address in (IPv4Address(number % 2**32), IPv6Address(number)):
        url = normalise(f"http://{address}/" if address.version == 4 else f"http://[{address}]/")
        if not address.is_global and not any(address in network for network in CARRYING_IPV4):
            assert why_url_refused(url) == "a private address"


def test_pages_that_no_crawl_may_ask_for_are_left_out_and_counted(path):
    bad = [url for url in BAD if "\ud800" not in url]
    change(path, *(("UPDATE pages SET url = ? WHERE number = ?", (url, place + 1)) for place, url in enumerate(bad)))
    with Atlas(path) as atlas:
        crawl_map = atlas.crawl_map("bees")
        assert len(crawl_map) == 200 - len(bad)
        assert mapped_by(crawl_map).isdisjoint(bad)
        assert sum(atlas.left_out.values()) == len(bad)
        assert atlas.left_out["a private address"] == list(BAD.values()).count("a private address")
    extended(path, range(200, 210))
    with Atlas(path) as atlas:
        assert len(atlas.crawl_map("bees")) == 210 - len(bad)
        assert not atlas.left_out
    with Atlas(path, allow_private=True) as atlas:
        assert not atlas.left_out


def test_private_addresses_of_ones_own_are_kept_where_that_is_asked(tmp_path):
    good = {f"http://127.0.0.1:8080/{number}": Sighting(1.0, "home") for number in range(12)}
    for allow_private, kept in ((False, 0), (True, 12)):
        with Atlas(tmp_path / f"{allow_private}", writable=True, allow_private=allow_private) as atlas:
            atlas.extend("bees", good, [], at=1.0)
            assert atlas.facts("bees").pages == kept
    with Atlas(tmp_path / "True") as atlas:
        assert len(atlas.crawl_map("bees")) == 0


@pytest.mark.slow
def test_a_million_ties_of_one_page_are_cut(path):
    change(
        path,
        "BEGIN",
        "INSERT INTO pages (number, url, alive_at) WITH RECURSIVE n(i) AS (VALUES(1000) UNION ALL SELECT i+1 FROM n"
        " WHERE i < 101000) SELECT i, 'http://many.example/' || i, 1.0 FROM n",
        "INSERT INTO members SELECT 1, number, (SELECT page FROM members WHERE rank = 0), NULL, 1 FROM pages"
        " WHERE number >= 1000",
        "COMMIT",
    )
    with Atlas(path) as atlas:
        portal = atlas.portals_of("bees")[0]
        assert max(len(atlas.ties_of(url_of(number), "bees")) for number in range(200)) == 10_000
        assert len(atlas.ties_of(portal, "bees")) == 10_000
        assert atlas.left_out["more than 10000 ties of one page"] > 90_000


@pytest.mark.slow
def test_more_portals_than_one_page_may_lead_to_are_all_in_the_map(path):
    change(
        path,
        "BEGIN",
        "INSERT INTO pages (number, url, alive_at) WITH RECURSIVE n(i) AS (VALUES(1000) UNION ALL SELECT i+1 FROM n"
        " WHERE i < 31000) SELECT i, 'http://many.example/' || i, 1.0 FROM n",
        "INSERT INTO members SELECT 1, number, NULL, number, 1 FROM pages WHERE number >= 1000",
        "COMMIT",
    )
    with Atlas(path) as atlas:
        crawl_map = atlas.crawl_map("bees")
        assert len(crawl_map) == 30_201
        assert len(crawl_map.portals) > 30_000
        assert len(crawl_map.ties_of(crawl_map.portals[0])) == 10_000
        assert not atlas.left_out


def test_a_page_with_a_million_hyperlinks_counts_for_no_more_than_a_page_can_have(path):
    many = b"".join(number.to_bytes(4, "little") for number in range(1, 201)) * 5000
    change(
        path,
        ("UPDATE pages SET links = ? WHERE number = 3", (many,)),
        "UPDATE pages SET links = x'0102' WHERE number = 4",
    )
    extended(path, range(200, 210))
    with Atlas(path) as atlas:
        assert len(atlas.crawl_map("bees")) == 210


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE topics SET drawn_at = 1e300",
        "UPDATE topics SET reach = 'sideways'",
        "UPDATE topics SET seed = -1",
    ],
)
def test_settings_that_make_no_sense_are_refused(path, statement):
    change(path, statement)
    with Atlas(path) as atlas, pytest.raises(UsageError, match="does not say how 'bees' was drawn"):
        atlas.facts("bees")


def test_values_of_other_kinds_do_no_harm(path, tmp_path):
    change(
        path,
        "UPDATE pages SET alive_at = 'yesterday' WHERE number < 5",
        "UPDATE pages SET dead_at = x'00' WHERE number = 5",
        "UPDATE pages SET sketch = 'text' WHERE number = 6",
        "UPDATE members SET portal = 'none' WHERE page = 7",
        "UPDATE members SET portal = 8 WHERE page = 8",
        "UPDATE members SET portal = NULL, rank = NULL WHERE page = 9",
        "UPDATE members SET source = 99 WHERE page = 10",
        "INSERT INTO related VALUES (1, '\x1b[31m')",
        "INSERT INTO citations VALUES (1, 'bees', 'bees', -5), (1, 'bees', '', 1), (1, 'bees', 'wasps', 'x')",
    )
    with Atlas(path) as atlas:
        assert len(atlas.crawl_map("bees")) <= 200
        assert atlas.related("bees") == ()
        assert atlas.citations().topics == ()
        atlas.facts("bees")
    extended(tmp_path / "mine", range(20))
    merge_atlases(tmp_path / "mine", path, tmp_path / "both", now=1e9)
    with Atlas(tmp_path / "both") as atlas:
        assert 180 <= len(atlas.crawl_map("bees")) <= 200


@pytest.mark.parametrize(
    "place", [("pages", "url"), ("pages", "links"), ("sources", "name"), ("topics", "name")], ids=" ".join
)
def test_values_larger_than_an_atlas_has_are_refused_when_they_are_met(path, tmp_path, place):
    change(path, ("UPDATE {} SET {} = ? WHERE number = 1".format(*place), ("x" * (9 << 20),)))
    extended(tmp_path / "mine", range(20))
    before = (tmp_path / "mine").read_bytes()
    with pytest.raises(UsageError, match="too big"):
        merge_atlases(tmp_path / "mine", path, tmp_path / "mine", now=1e9)
    assert (tmp_path / "mine").read_bytes() == before


def test_page_numbers_that_do_not_fit_are_refused(path):
    change(path, ("INSERT INTO pages (number, url) VALUES (?, 'http://high.example/')", (2**62,)))
    refusal(path, "numbers its pages")


def test_citations_of_more_topics_than_anybody_has_are_cut_short(path):
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("INSERT INTO sources (number, name, at) VALUES (99, 'somebody', 1.0)")
        file.executemany("INSERT INTO citations VALUES (99, ?, ?, 1)", [(f"x{n}", f"y{n}") for n in range(3_000)])
    with Atlas(path) as atlas:
        topics = {topic for pair in atlas.citations_by_source()["somebody"] for topic in pair}
    assert 900 < len(topics) <= 1_000


def test_moments_to_come_count_as_now_when_they_are_taken_over(path, tmp_path):
    change(path, "UPDATE pages SET alive_at = 2e10, dead_at = 2e11", "UPDATE sources SET at = 2e11")
    change(path, "UPDATE topics SET drawn_at = 2e11")
    extended(tmp_path / "mine", range(20))
    for first, second, out in (("mine", path, "a"), (path, "mine", "b")):
        merge_atlases(tmp_path / first, tmp_path / second, tmp_path / out, now=1000.0)
        with Atlas(tmp_path / out, writable=True, now=2000.0) as atlas:
            assert atlas.facts("bees").drawn_at == 1000.0
            atlas.extend("bees", pages(range(20), at=1500.0), links(range(20)), at=2000.0)
            assert len(atlas.crawl_map("bees")) == 20


def test_an_atlas_with_moments_to_come_can_be_extended_by_what_is_seen_now(path):
    change(path, "UPDATE pages SET dead_at = 2e11")
    with Atlas(path, writable=True, now=1000.0) as atlas:
        atlas.extend("bees", pages(range(20), at=900.0), (), at=1000.0)
        assert len(atlas.crawl_map("bees")) == 0  # found dead as late as can be
    with Atlas(path, writable=True, now=2000.0) as atlas:
        atlas.extend("bees", pages(range(20), at=5000.0), (), at=2000.0)
        assert len(atlas.crawl_map("bees")) == 20
        assert max(sighting.at for sighting in atlas.sightings("bees").values()) == 2000.0
