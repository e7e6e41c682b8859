import functools
import gzip
import tracemalloc
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from lycosa.web.encodings import decode_body, decoded


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": functools.partial(brotli.compress, quality=5),
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("name", PACKERS)
@given(data=st.binary(max_size=3_000))
def test_every_encoding_comes_back_as_it_was(name: str, data: bytes) -> None:
    assert decoded(PACKERS[name](data), name.upper(), 5_000) == (data, False)


@pytest.mark.parametrize("name", PACKERS)
def test_content_of_exactly_the_limit_is_not_cut_and_one_byte_more_is(name: str) -> None:
    data = bytes(range(256)) * 1_000
    assert decoded(PACKERS[name](data), name, len(data)) == (data, False)
    assert decoded(PACKERS[name](data), name, len(data) - 1) == (data[:-1], True)


@given(st.binary(max_size=3_000))
def test_bare_deflate_is_understood_too(data: bytes) -> None:
    assert decoded(raw_deflate(data), "deflate", 5_000) == (data, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKERS)
def test_a_bomb_takes_little_more_memory_than_the_limit(name: str) -> None:
    bomb = PACKERS[name](bytes(100_000_000))
    tracemalloc.start()
    content, cut = decoded(bomb, name, 1_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(content), cut) == (1_000_000, True)
    assert peak < 4_000_000


@pytest.mark.parametrize("name", PACKERS)
def test_damaged_data_gives_what_could_be_decoded(name: str) -> None:
    data = b"".join(b"%d " % number for number in range(50_000))
    packed = PACKERS[name](data)
    content, cut = decoded(packed[: len(packed) * 3 // 4], name, 1_000_000)
    assert not cut
    assert data.startswith(content)
    assert len(content) > 0


@pytest.mark.parametrize("name", PACKERS)
@given(data=st.binary(max_size=500))
def test_no_bytes_make_it_fail(name: str, data: bytes) -> None:
    decoded(data, name, 100)


def test_encodings_may_be_stacked_up_to_three() -> None:
    stacked = brotli.compress(gzip.compress(zstandard.compress(b"page")))
    assert decoded(stacked, "zstd, gzip, br", 100) == (b"page", False)
    assert decoded(gzip.compress(stacked), "zstd, gzip, br, gzip", 100) == (b"", False)


@pytest.mark.slow
def test_bombs_within_bombs_stay_bounded() -> None:
    content, cut = decoded(gzip.compress(gzip.compress(bytes(50_000_000))), "gzip, gzip", 10_000)
    assert len(content) <= 10_000
    assert cut


def test_gzip_members_are_joined_and_a_great_many_of_them_take_no_time_to_speak_of() -> None:
    assert decoded(gzip.compress(b"one ") + gzip.compress(b"two"), "gzip", 100) == (b"one two", False)
    decoded(gzip.compress(b"") * 45_000, "gzip", 1_000_000)


def test_what_is_called_gzip_and_is_not_comes_as_it_is() -> None:
    assert decoded(b"<html>", "gzip", 100) == (b"<html>", False)


def test_other_names_stand_for_no_encoding() -> None:
    for name in ("", "identity", "utf-8", "none"):
        assert decoded(b"page", name, 100) == (b"page", False)
        assert decoded(b"page", name, 2) == (b"pa", True)


@pytest.mark.parametrize("name", PACKERS)
@given(data=st.binary(max_size=3_000), cut=st.integers(1, 100))
def test_a_body_that_is_whole_is_told_from_one_that_is_cut_off(name: str, data: bytes, cut: int) -> None:
    packed = PACKERS[name](data)
    assert decode_body(packed, name, 5_000) == (data, False, False)
    if len(packed) - cut > 2:  # else no encoding can be recognised
        assert decode_body(packed[:-cut], name, 5_000).is_damaged
    assert not decode_body(packed, name, max(0, len(data) - 1)).is_damaged


def test_zstd_of_many_frames_and_without_checksums_is_whole() -> None:
    plain = zstandard.ZstdCompressor(write_checksum=False, write_content_size=False)
    body = plain.compress(bytes(300_000)) + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + plain.compress(b"end")
    assert decode_body(body, "zstd", 1_000_000) == (bytes(300_000) + b"end", False, False)
    assert decode_body(body[:-1], "zstd", 1_000_000).is_damaged
