"""Collections as somebody who means harm would send them: each entry spoils one thing in a folder that was whole."""

import gzip
import json
import os
import re
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

Spoil = Callable[[Path], object]

FILES = (  # that are read, in a folder of a collection
    "lycosa.toml",
    "catalog.sqlite",
    "model.json",
    "standing.json",
    "labels.txt",
    "sample.txt",
    "steering.txt",
    "dropped.txt",
    "forgotten.txt",
    "seeds.txt",
    "words.sqlite",
    "journal.json",
    "search/meta.json",
    ".id",
    ".lock",
)
DEEP = "[" * 200_000


# ---------------------------------------------------------------- files of another kind


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def fifo(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        _remove(folder / name)
        os.mkfifo(folder / name)

    return spoil


def link(name: str, target: str) -> Spoil:
    def spoil(folder: Path) -> None:
        _remove(folder / name)
        (folder / name).symlink_to(target)

    return spoil


def folder_instead(name: str) -> Spoil:
    def spoil(folder: Path) -> None:
        _remove(folder / name)
        (folder / name).mkdir()

    return spoil


def content(name: str, data: bytes) -> Spoil:
    def spoil(folder: Path) -> None:
        _remove(folder / name)
        (folder / name).write_bytes(data)

    return spoil


def removed(name: str) -> Spoil:
    return lambda folder: _remove(folder / name)


# ---------------------------------------------------------------- catalogs


def sql(*statements: str) -> Spoil:
    def spoil(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    return spoil


def state(key: str, value: object) -> Spoil:
    def spoil(folder: Path) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection:
            connection.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (key, text))
            connection.commit()

    return spoil


def strategy_state(change: Callable[[object], object]) -> Spoil:
    """What the strategy knew, of the same form, with every value that is neither a table nor a list changed."""

    def changed(value: object) -> object:
        if isinstance(value, dict):
            return {key: changed(each) for key, each in value.items()}
        return [changed(each) for each in value] if isinstance(value, list) else change(value)

    def spoil(folder: Path) -> None:
        with closing(sqlite3.connect(folder / "catalog.sqlite")) as connection:
            (text,) = connection.execute("SELECT value FROM state WHERE key = 'strategy_state'").fetchone()
        state("strategy_state", changed(json.loads(text)))(folder)

    return spoil


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
CATALOGS: dict[str, Spoil] = {
    "pages is an endless view": sql(
        "DROP TABLE pages", f"CREATE VIEW pages AS {ENDLESS} SELECT i AS number, 'http://a.example/' AS url FROM n"
    ),
    "frontier is an endless view": sql(
        "DROP TABLE IF EXISTS frontier",
        f"CREATE VIEW frontier AS {ENDLESS} SELECT i AS arrival, 'u' AS url, 1.0 AS priority, '{{}}' AS candidate FROM n",
    ),
    "a trigger that computes without end": sql(
        f"CREATE TRIGGER t AFTER INSERT ON state BEGIN DELETE FROM pages WHERE number IN ({ENDLESS} SELECT i FROM n); END"
    ),
    "a table less": sql("DROP TABLE looks"),
    "a column less": sql("ALTER TABLE pages DROP COLUMN needs_script"),
    "a column that is computed": sql("ALTER TABLE fetches ADD COLUMN x AS (hex(zeroblob(100000000)))"),
    "a newer version": sql("PRAGMA user_version = 99"),
    "an older version than its tables": sql("PRAGMA user_version = 1"),
    "a version below zero": sql("PRAGMA user_version = -5"),
    "no tables": lambda folder: content("catalog.sqlite", b"")(folder),
    "urls are blobs": sql("UPDATE pages SET url = CAST(url AS BLOB)"),
    "urls are no URLs": sql("UPDATE pages SET url = 'nonsense ' || number"),
    "urls without a host": sql("UPDATE pages SET url = 'http:///' || number"),
    "urls that are not UTF-8": sql("UPDATE pages SET url = CAST(CAST(url AS BLOB) || x'ff' AS TEXT) WHERE number = 1"),
    "titles are blobs": sql("UPDATE pages SET title = x'00ff'"),
    "hosts are blobs": sql("UPDATE pages SET host = x'00ff'"),
    "languages are numbers": sql("UPDATE pages SET language = x'01'"),
    "relevance is a text": sql("UPDATE pages SET relevance = 'high'"),
    "relevance is infinite": sql("UPDATE pages SET relevance = 9e999"),
    "standing is a text": sql("UPDATE pages SET standing = 'high'"),
    "time is a text": sql("UPDATE pages SET at = 'yesterday'"),
    "time is infinite": sql("UPDATE pages SET at = 9e999"),
    "time is beyond all years": sql("UPDATE pages SET at = 1e18"),
    "looked at beyond all years": sql("UPDATE pages SET looked_at = 1e18"),
    "vanished beyond all years": sql("UPDATE pages SET vanished_at = 1e18, vanished_why = x'00'"),
    "because is no JSON": sql("UPDATE pages SET because = '{'"),
    "because is not UTF-8": sql("UPDATE pages SET because = x'7b22ff223a317d'"),
    "because is deep": sql(f"UPDATE pages SET because = '{DEEP}'"),
    "because is a list": sql("UPDATE pages SET because = '[1]'"),
    "depth is a text": sql("UPDATE pages SET depth = 'deep'"),
    "depth is below zero": sql("UPDATE pages SET depth = -7"),
    "status is absurd": sql("UPDATE pages SET status = 123456789"),
    "priority is infinite": sql("UPDATE pages SET priority = -9e999"),
    "digest is a text": sql("UPDATE pages SET digest = 'x', fingerprint = 'y'"),
    "found on nothing": sql("UPDATE pages SET found_on = 'nowhere'"),
    "duplicates of nothing": sql("UPDATE pages SET duplicate_of = ''"),
    "file outside": sql("UPDATE pages SET file = '/etc/hosts', place = 0"),
    "file above": sql("UPDATE pages SET file = '../lycosa.toml', place = 0"),
    "file is a device": sql("UPDATE pages SET file = '/dev/zero', place = 0, length = 1000000000"),
    "file is a blob": sql("UPDATE pages SET file = x'00'"),
    "file with a null": sql("UPDATE pages SET file = 'a' || char(0) || '-00001.warc.gz'"),
    "file is missing": sql("UPDATE pages SET file = 'c-20260101000000-00009.warc.gz'"),
    "place is below zero": sql("UPDATE pages SET place = -1"),
    "place is beyond": sql("UPDATE pages SET place = 1 << 62"),
    "place is a text": sql("UPDATE pages SET place = 'here'"),
    "place within a record": sql("UPDATE pages SET place = place + 3"),
    "length is below zero": sql("UPDATE pages SET length = -1"),
    "numbers are huge": sql("UPDATE pages SET number = 9223372036854775800 + number WHERE number < 5"),
    "numbers are below zero": sql("UPDATE pages SET number = -number"),
    "outcomes unknown": sql("UPDATE fetches SET outcome = 'marvellous'"),
    "outcomes are blobs": sql("UPDATE fetches SET outcome = x'00'"),
    "fetches without URLs": sql("UPDATE fetches SET url = 'x'"),
    "fetches of absurd times": sql("UPDATE fetches SET at = 9e999"),
    "left out for no reason": sql("UPDATE fetches SET left_out = x'00', file = '/etc/hosts', settled = 1"),
    "details are blobs": sql("UPDATE fetches SET detail = x'00', outcome = 'unwanted'"),
    "elapsed is a text": sql("UPDATE fetches SET elapsed = 'long'"),
    "links to nothing": sql("UPDATE links SET target = 'x' || rank"),
    "links are blobs": sql("UPDATE links SET target = x'00', anchor = x'00', rel = x'00'"),
    "positions are texts": sql("UPDATE links SET position = 'there'"),
    "skips of nothing": sql("INSERT INTO skips VALUES (1, 'x', 'y', 'z', 0.0)"),
    "skips are blobs": sql("INSERT INTO skips VALUES (1, x'00', x'00', x'00', 0.0)"),
    "examples of nothing": sql("INSERT INTO examples VALUES ('x', 2, 9e999, 'y', '/etc/hosts', -1, -1)"),
    "runs without JSON": sql("UPDATE runs SET seeds = '{', scope = '['"),
    "runs are not UTF-8": sql("UPDATE runs SET seeds = x'5b22ff225d', scope = x'7b22ff223a317d'"),
    "runs with wrong JSON": sql("UPDATE runs SET seeds = '[1]', scope = '7', strategy = x'00'"),
    "runs of absurd times": sql("UPDATE runs SET at = 1e300, stopped_at = 'x'"),
    "runs that refresh nothing": sql("UPDATE runs SET refresh = '[[]]', stop_reason = x'00'"),
    "runs that refresh a list": sql("UPDATE runs SET refresh = '[1]'"),
    "looks of no change": sql("INSERT INTO looks VALUES (1, 1, 9e999, x'00', 'x', 'y', -1, -1, -1, 'z', -1, -1)"),
    "looks at pages that are not": sql(
        "INSERT INTO looks VALUES (999, 1, 1.0, 'changed', 200, 1, 1, 1, 1, NULL, NULL, NULL)"
    ),
    "candidates without JSON": sql("UPDATE frontier SET candidate = '{'"),
    "candidates are not UTF-8": sql("UPDATE frontier SET candidate = CAST(replace(candidate, 'example', x'ff') AS BLOB)"),
    "candidates of nothing": sql("UPDATE frontier SET candidate = '{\"url\": \"x\", \"priority\": 1}'"),
    "candidates are deep": sql(f"UPDATE frontier SET candidate = '{DEEP}'"),
    "waiting URLs are none": sql("UPDATE frontier SET url = 'x' || arrival"),
    "waiting URLs are blobs": sql("UPDATE frontier SET url = x'00'"),
    "priorities are texts": sql("UPDATE frontier SET priority = 'high'"),
    "priorities are infinite": sql("UPDATE frontier SET priority = 9e999"),
    "arrivals are huge": sql("UPDATE frontier SET arrival = 9223372036854775807 WHERE arrival IN (SELECT max(arrival) FROM frontier)"),
    "state is no JSON": sql("UPDATE state SET value = '{'"),
    "state is deep": sql(f"UPDATE state SET value = '{DEEP}'"),
    "state is blobs": sql("UPDATE state SET value = x'00'"),
    "state is numbers": sql("UPDATE state SET value = '7'"),
    "state is lists": sql("UPDATE state SET value = '[[[]]]'"),
    "state is texts": sql("UPDATE state SET value = '\"x\"'"),
    "state is tables": sql("UPDATE state SET value = '{\"x\": {\"y\": 1}}'"),
    "seeds of nothing": state("seeds", ["x", 7, None]),
    "strategy of nothing": state("strategy", "no-such-strategy"),
    "strategy state of another kind": state("strategy_state", {"inner": {"inner": 7}}),
    "strategy state of texts": strategy_state(lambda value: "x"),
    "strategy state of nulls": strategy_state(lambda value: None),
    "strategy state of huge numbers": strategy_state(lambda value: 1 << 62),
    "strategy state of numbers below zero": strategy_state(lambda value: -7),
    "strategy state of lists": strategy_state(lambda value: [[]]),
    "options of nothing": state("options", {"no": "such", "share": "x"}),
    "scope of nothing": state("scope", {"hosts": 7}),
    "scope that cannot be compiled": state("scope", {"urls": ["[" * 5000]}),
    "holds for ever": state("holds", {"a.example": 1e300}),
    "holds of nothing": state("holds", {"x": "y"}),
    "position beyond the archive": state("position", ["c-20990101000000-99999.warc.gz", 1 << 60]),
    "position below zero": state("position", ["x", -1]),
    "position of three": state("position", [1, 2, 3]),
    "indexed beyond all": state("indexed_up_to", 1 << 62),
    "indexed below zero": state("indexed_up_to", -(1 << 62)),
    "forgotten of nothing": state("forgotten", ["x"]),
    "moving": state("moving", True),
    "utility of nothing": state("utility", {"alpha": "x"}),
    "quotas below zero": state("quotas", {"per_host": -1}),
    "recall of nothing": state("recall", {"found": "x"}),
    "map outside": state("map", {"atlas": "/dev/zero", "topic": "", "priority": 1, "share": 1, "taxonomy": "/dev/zero", "allow_private": True, "stamp": ""}),
    "logs outside": state("logs", {"file": "/dev/zero", "half_life": None, "min_users": 1, "stamp": ""}),
    "logs are a pipe": lambda folder: (os.mkfifo(folder / "log"), state("logs", {"file": str(folder / "log"), "half_life": None, "min_users": 1, "stamp": ""})(folder)),
}  # fmt: skip


# ---------------------------------------------------------------- archives


def _archive(folder: Path) -> Path:
    return sorted((folder / "archive").glob("*.warc.gz"))[0]


def rewritten(change: Callable[[bytes], bytes], *, without_catalog: bool = False) -> Spoil:
    """Every record of the archive changed, each in a gzip member of its own again."""

    def spoil(folder: Path) -> None:
        path, members = _archive(folder), list[bytes]()
        rest = path.read_bytes()
        while rest:
            unpacker = zlib.decompressobj(16 + 15)
            members.append(unpacker.decompress(rest))
            rest = unpacker.unused_data
        path.write_bytes(b"".join(gzip.compress(change(member), mtime=0) for member in members))
        if without_catalog:
            _remove(folder / "catalog.sqlite")

    return spoil


def note(pattern: bytes, replacement: bytes) -> Spoil:
    """The notes in the archive changed, their lengths with them, and no catalog that knew better."""

    def change(member: bytes) -> bytes:
        head, _, block = member.partition(b"\r\n\r\n")
        if b"WARC-Type: metadata" not in head:
            return member
        block = re.sub(pattern, lambda _: replacement, block[:-4])
        head = re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % len(block), head)
        return head + b"\r\n\r\n" + block + b"\r\n\r\n"

    return rewritten(change, without_catalog=True)


def _bomb(folder: Path) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + 15)
    head = b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 400000000\r\n\r\n"
    parts = [packer.compress(head)] + [packer.compress(bytes(1 << 20)) for _ in range(400)] + [packer.flush()]
    with _archive(folder).open("ab") as file:
        file.write(b"".join(parts))
    _remove(folder / "catalog.sqlite")


def _cut(folder: Path) -> None:
    path = _archive(folder)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _zeroed(folder: Path) -> None:
    path = _archive(folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 3 : len(data) // 3 + 2_000] = bytes(2_000)
    path.write_bytes(bytes(data))


def _named(name: str) -> Spoil:
    return lambda folder: shutil.copy(_archive(folder), folder / "archive" / name)


ARCHIVES: dict[str, Spoil] = {
    "no archive": removed("archive"),
    "an empty archive": lambda folder: (_remove(folder / "archive"), (folder / "archive").mkdir()),
    "the archive is a file": lambda folder: (_remove(folder / "archive"), (folder / "archive").write_text("x")),
    "the archive is a link": lambda folder: ((folder / "archive").rename(folder / "a"), (folder / "archive").symlink_to("a")),
    "the archive is a fifo": fifo("archive"),
    "a WARC file is a fifo": lambda folder: (path := _archive(folder), path.unlink(), os.mkfifo(path)),
    "a WARC file is a link": lambda folder: (path := _archive(folder), path.unlink(), path.symlink_to("/dev/zero")),
    "a WARC file is a folder": lambda folder: (path := _archive(folder), path.unlink(), path.mkdir()),
    "a WARC file is empty": lambda folder: _archive(folder).write_bytes(b""),
    "a WARC file is no gzip": lambda folder: _archive(folder).write_bytes(b"WARC/1.1\r\n" * 1000),
    "a WARC file is cut": _cut,
    "zeros within a WARC file": _zeroed,
    "a WARC file with a number of thousands of digits": _named(f"c-20260101000000-{'9' * 200}.warc.gz"),
    "a WARC file with a strange name": _named("\n-00002.warc.gz"),
    "an index that is a fifo": lambda folder: os.mkfifo(_archive(folder).with_suffix(".cdxj")) if not _archive(folder).with_suffix(".cdxj").exists() else None,
    "a bomb in the archive": _bomb,
    "notes of absurd times": note(rb'"at":[0-9.e+-]+', b'"at":1e300'),
    "notes of no URLs": note(rb'"url":"[^"]*"', b'"url":"nonsense"'),
    "notes of huge contents": note(rb'"content":\d+', b'"content":9000000000000000'),
    "notes of contents below zero": note(rb'"content":\d+', b'"content":-5'),
    "notes of no outcome": note(rb'"outcome":"[^"]*"', b'"outcome":"marvellous"'),
    "notes of infinite priority": note(rb'"priority":[0-9.e+-]+', b'"priority":1e999'),
    "notes of a scope that makes no sense": note(rb'"scope":\{[^}]*\}', b'"scope":{"urls":7}'),
    "notes of a scope of patterns": note(rb'"scope":\{[^}]*\}', b'"scope":{"urls":["' + b"*a" * 3000 + b'"]}'),
    "notes of an unknown strategy": note(rb'"strategy":"[^"]*"', b'"strategy":"no-such"'),
    "notes of options": note(rb'"strategy":"[^"]*"', b'"options":{"x":{"y":[1]}},"strategy":"hunter"'),
    "notes of quotas": note(rb'"strategy":"[^"]*"', b'"quotas":{"per_host":-3},"strategy":"hunter"'),
    "notes of a map that is a device": note(rb'"map":null', b'"map":{"atlas":"/dev/zero","topic":"","priority":1,"share":1,"taxonomy":"","allow_private":true,"stamp":""}'),
    "notes of a log that is a device": note(rb'"logs":null', b'"logs":{"file":"/dev/zero","half_life":null,"min_users":1,"stamp":""}'),
    "notes that are deep": note(rb'"because":\{[^}]*\}', b'"because":{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "answers of an absurd status": rewritten(lambda member: member.replace(b"HTTP/1.1 200", b"HTTP/1.1 99999999"), without_catalog=True),
    "answers in an unknown encoding": rewritten(lambda member: member.replace(b"Content-Type: text/html", b"Content-Encoding: zz\nx: text"), without_catalog=True),
}  # fmt: skip


# ---------------------------------------------------------------- other files


def recipe(text: str) -> Spoil:
    return content("lycosa.toml", text.encode())


OTHERS: dict[str, Spoil] = {
    **{f"{name} is a fifo": fifo(name) for name in FILES},
    **{f"{name} is a device": link(name, "/dev/zero") for name in FILES},
    **{f"{name} is a folder": folder_instead(name) for name in FILES if "/" not in name},
    **{f"{name} is binary": content(name, bytes(range(256)) * 4) for name in FILES},
    **{f"{name} is deep": content(name, DEEP.encode()) for name in FILES},
    "labels.txt of nothing": content("labels.txt", b"good x\nbad \nneither\n"),
    "labels.txt of no URLs": content("labels.txt", b"good nonsense\n"),
    "sample.txt of nothing": content("sample.txt", b"good 99999999999999999999 x\n"),
    "steering.txt of nothing": content("steering.txt", b"block \nlabel 9999999999\n"),
    "steering.txt boosts no URL": content("steering.txt", b"boost http://\n"),
    "dropped.txt of words": content("dropped.txt", b"http://a.example/\n"),
    "forgotten.txt of words": content("forgotten.txt", b"everything\n"),
    "forgotten.txt of huge numbers": content("forgotten.txt", b"9" * 5_000 + b"\n"),
    "journal of a rebuild that has nothing": content("journal.json", b'{"task":"rebuild","stage":"installing"}'),
    "journal of a rebuild with a catalog of others": lambda folder: (content("journal.json", b'{"task":"rebuild","stage":"installing"}')(folder), content("rebuilt.sqlite", b"SQLite format 3\0" + bytes(4000))(folder)),
    "journal of a forgetting of nothing": content("journal.json", b'{"task":"forget"}'),
    "journal of an unknown task": content("journal.json", b'{"task":"x"}'),
    "model of another kind": content("model.json", b'{"examples":"","rounds":1,"model":{"kind":"x"}}'),
    "model of huge numbers": content("model.json", b'{"examples":"","rounds":99999999999,"model":[]}'),
    "no index": removed("search"),
    "an empty index": folder_instead("search"),
    "index of nothing": content("search/meta.json", b'{"segments":[],"schema":[]}'),
    "index of segments that are not there": lambda folder: [path.unlink() for path in (folder / "search").iterdir() if path.suffix in (".store", ".idx", ".term")],
    "words of another version": content("words.sqlite", b"SQLite format 3\0" + bytes(4000)),
    "recipe with code": recipe('[topic]\nfunction = "os:abort"\n'),
    "recipe with a dead proxy": recipe('[topic]\ntext = "bees"\n[requests]\nproxy = "http://192.0.2.1:9"\n'),
    "recipe with a header": recipe('[topic]\ntext = "bees"\n[requests.headers]\nAuthorization = "x"\n'),
    "recipe with examples elsewhere": recipe('[topic]\nexamples = "/dev/zero"\n'),
    "recipe with seeds elsewhere": recipe('seeds = "/dev/zero"\n[topic]\ntext = "bees"\n'),
    "recipe with seeds that are a fifo": lambda folder: (os.mkfifo(folder / "pipe"), recipe('seeds = "pipe"\n[topic]\ntext = "bees"\n')(folder)),
    "recipe with examples that are a fifo": lambda folder: (os.mkfifo(folder / "pipe"), recipe('[topic]\nexamples = "pipe"\n')(folder)),
    "recipe with a table that is a fifo": lambda folder: (os.mkfifo(folder / "pipe"), recipe('[topic]\ntext = "bees"\n[standing]\nin_links = "pipe"\n')(folder)),
    "recipe with a log that is a fifo": lambda folder: (os.mkfifo(folder / "pipe"), recipe('[topic]\ntext = "bees"\n[logs]\nfile = "pipe"\n')(folder)),
    "recipe with an atlas that is a fifo": lambda folder: (os.mkfifo(folder / "pipe"), recipe('[topic]\ntext = "bees"\n[map]\natlas = "pipe"\n')(folder)),
    "recipe with itself among its collections": recipe('[topic]\ntext = "bees"\n[standing]\ncollections = ["."]\n'),
    "recipe of predicates": recipe("[topic.predicate]\n" + "not = {" * 500 + "topic = true" + "}" * 500),
    "recipe of a huge number": recipe("[stop]\npages = " + "9" * 5_000 + "\n"),
    "recipe of infinity": recipe('[topic]\ntext = "bees"\n[requests]\ndelay = inf\ntimeout = nan\n'),
    "recipe of dotted keys": recipe(".".join("a" * 20_000) + " = 1\n"),
    "recipe that is not UTF-8": content("lycosa.toml", b"\xff\xfe"),
    "recipe of a megabyte": content("lycosa.toml", b"# " + b"x" * 3_000_000),
    "no recipe": removed("lycosa.toml"),
}  # fmt: skip

CRAFTED: dict[str, Spoil] = {**CATALOGS, **ARCHIVES, **OTHERS}
