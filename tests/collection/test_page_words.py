"""The words of pages: kept as they are, read back, dropped when they are of no use."""

import sqlite3
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.collection import page_words
from lycosa.collection.page_words import CachedWords, PageWords
from lycosa.vocabulary.databases import open_database
from lycosa.vocabulary.records import Url

HIVE = Url("http://bees.example/hive")


def words(number: int, *codes: int, at: float = 1.0) -> CachedWords:
    counts = np.array([code % 7 + 1 for code in codes], np.uint64)
    return CachedWords(number, at, np.array(codes, np.uint64), counts, np.arange(4, dtype=np.float32))


def opened(folder: Path, made_by: str = "1 words") -> PageWords:
    return PageWords(folder / page_words.WORDS_FILE, made_by=made_by)


def numbers(kept: PageWords, after: int = 0) -> list[int]:
    return [each.number for each in kept.words_after(after)]


def test_words_are_read_back_as_they_were(tmp_path: Path) -> None:
    kept = opened(tmp_path)
    kept.put(words(1, 3, 2**63 + 5))
    kept.put(words(4))
    kept.put(words(2, 9))
    kept.put(words(2, 8, at=2.0))
    kept.commit()
    kept.close()
    first, second, last = opened(tmp_path).words_after(0)
    assert (first.number, first.codes.tolist(), first.counts.tolist()) == (
        1,
        [3, 2**63 + 5],
        words(1, 3, 2**63 + 5).counts.tolist(),
    )
    assert first.vector.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert (second.number, second.at, second.codes.tolist()) == (2, 2.0, [8])
    assert (last.number, last.codes.tolist()) == (4, [])


@pytest.mark.slow
@given(terms=st.dictionaries(st.text(st.characters(exclude_categories=("Z", "C")), min_size=1), st.integers(1, 10**6)))
def test_terms_are_read_back_in_their_order(tmp_path_factory: pytest.TempPathFactory, terms: dict[str, int]) -> None:
    kept = opened(tmp_path_factory.mktemp("terms"))
    kept.put_terms(HIVE, 1.5, terms)
    found = kept.terms(HIVE, 1.5)
    assert found is not None and list(found.items()) == list(terms.items())
    assert kept.terms(HIVE, 1.0) is None, "of another version of the page"
    kept.close()
    assert kept.terms(HIVE, 1.5) is None


def test_the_oldest_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_words, "MAX_CACHED_PAGES", 10)
    monkeypatch.setattr(page_words, "_TRIM_INTERVAL", 5)
    kept = opened(tmp_path)
    for number in range(1, 41):
        kept.put(words(number, number))
    assert numbers(kept) == list(range(31, 41))
    assert numbers(kept, after=38) == [39, 40]


def test_forgotten_words_leave_no_trace(tmp_path: Path) -> None:
    kept = opened(tmp_path)
    kept.put_terms(HIVE, 1.0, {"petrichor": 1})
    kept.put(words(1, 1))
    kept.put(words(2, 2))
    kept.commit()
    kept.forget(lambda url: url == HIVE, {2})
    kept.close()
    assert not [path for path in tmp_path.iterdir() if b"petrichor" in path.read_bytes()]
    assert numbers(opened(tmp_path)) == [2]


def test_words_are_written_once(tmp_path: Path) -> None:
    kept = opened(tmp_path)
    for number in range(1, 401):
        kept.put(words(number, *range(number, number + 1000)))
        if number % 100 == 0:
            kept.commit()
    written = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert sum(written.values()) <= 1.2 * written[page_words.WORDS_FILE], "no log of what is written holds it too"


def test_a_kill_leaves_the_words_of_the_last_commit(tmp_path: Path) -> None:
    """Also where some of the later ones are in the file already, because there are more than SQLite keeps in memory."""
    program = """
        import os, sys
        from pathlib import Path
        import numpy as np
        from lycosa.collection.page_words import CachedWords, PageWords

        kept, counts = PageWords(Path(sys.argv[1]), made_by="1 words"), np.ones(1000, np.uint64)
        for number in range(1, 1001):
            kept.put(CachedWords(number, 1.0, np.arange(1000, dtype=np.uint64), counts, np.empty(0, np.float32)))
            if number == 400:
                kept.commit()
        os._exit(9)
    """
    path = tmp_path / page_words.WORDS_FILE
    killed = subprocess.run([sys.executable, "-c", dedent(program), path], check=False)
    assert killed.returncode == 9 and path.stat().st_size > 6_000_000, "the later words were being written"
    assert numbers(opened(tmp_path)) == list(range(1, 401))


@pytest.mark.parametrize("damage", [b"not a database", b"", None])
def test_what_was_made_otherwise_or_is_damaged_is_made_anew(tmp_path: Path, damage: bytes | None) -> None:
    kept = opened(tmp_path)
    kept.put(words(1, 1))
    kept.commit()
    kept.close()
    if damage is not None:
        (tmp_path / page_words.WORDS_FILE).write_bytes(damage)
    again = opened(tmp_path, made_by="2 stems" if damage is None else "1 words")
    assert numbers(again) == []
    again.put(words(3, 1))
    assert numbers(again) == [3]


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    kept = opened(tmp_path / "nowhere")
    kept.put(words(1, 1))
    kept.put_terms(HIVE, 1.0, {"hive": 1})
    kept.commit()
    kept.forget(lambda url: True, set())
    assert numbers(kept) == [] and kept.terms(HIVE, 1.0) is None
    kept.close()


def test_a_file_that_cannot_be_used_is_closed_before_it_is_removed(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / page_words.WORDS_FILE).write_bytes(b"this is no database, but a long line of text\n" * 100)
    databases: list[sqlite3.Connection] = []
    monkeypatch.setattr(
        page_words, "open_database", lambda *a, **k: databases.append(open_database(*a, **k)) or databases[-1]
    )
    kept = opened(tmp_path)
    assert kept.count() == 0
    damaged, _ = databases
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        damaged.execute("SELECT 1")
    kept.close()
