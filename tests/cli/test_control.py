"""What `lycosa control` prints where no crawl runs."""

from pathlib import Path

from crawling import collection, done
from sessions import crawl, set_state
from worlds import STAR


def test_an_undo_prints_what_else_a_session_has_to_say(tmp_path: Path) -> None:
    folder = collection(tmp_path / "c", [next(iter(STAR))])
    crawl(folder, STAR, 3)
    done("control", folder, "block", "b.example")
    set_state(folder, "logs", {"file": str(folder / "lost.log"), "half_life": None, "min_users": 1, "stamp": ""})
    undo = done("control", folder, "undo")
    assert undo.out == "Undone: block b.example.\n"
    assert "continuing without the access log" in undo.err
