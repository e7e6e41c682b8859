"""What is appended to a scratch file is read back, from memory or from the disk."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.vocabulary.scratch_file import ScratchFile


@pytest.mark.slow
@given(parts=st.lists(st.binary(max_size=40_000), max_size=8), data=st.data())
def test_every_part_is_where_it_was_appended(parts: list[bytes], data: st.DataObject) -> None:
    scratch = ScratchFile()
    places = [scratch.append(part) for part in parts]
    whole = b"".join(parts)
    assert len(scratch) == len(whole)
    assert [scratch.read(place, len(part)) for place, part in zip(places, parts, strict=True)] == parts
    start = data.draw(st.integers(0, len(whole)))
    size = data.draw(st.integers(0, len(whole)))
    assert scratch.read(start, size) == whole[start : start + size]


def test_it_leaves_nothing_in_its_folder(tmp_path: Path) -> None:
    opened = Path("/proc/self/fd")
    before = len(list(opened.iterdir())) if opened.exists() else 0
    scratch = ScratchFile(tmp_path)
    scratch.append(b"x" * 200_000)
    assert scratch.read(199_999, 1) == b"x"
    del scratch
    assert list(tmp_path.iterdir()) == []
    assert not before or len(list(opened.iterdir())) == before
