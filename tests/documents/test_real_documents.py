"""The real archives, where they are at hand."""

import lzma
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from lycosa.logs.access_log import AccessLog
from lycosa.vocabulary.urls import path_of
from lycosa_lab.worlds import documents
from lycosa_lab.worlds.documents import DocumentWorld
from lycosa_lab.worlds.webkb import WebKB
from lycosa_lab.worlds.wikipedia_schools import WikipediaSchools

DATA = Path(__file__).parents[3] / "shared/data"
SCHOOLS = DATA / "pages/wikipedia-schools-2007-html.tar.xz"
UNIVERSITIES = DATA / "pages/webkb-4universities-html.tar.xz"
WALKS = DATA / "logs/wikispeedia-paths_unfinished.tsv.gz"


def links_among_articles(world: DocumentWorld) -> int:
    """Counted without reading the pages as a crawler does, which takes longer."""
    articles = {path_of(url) for url in world.urls() if "/index" not in url}
    hrefs = (
        re.findall(rb'href="\.\./\.\.(/wp/[^"#]+)', world.page(url) or b"")
        for url in world.urls()
        if path_of(url) in articles
    )
    return sum(len(articles.intersection(map(bytes.decode, found))) for found in hrefs)


@pytest.fixture(scope="module", autouse=True)
def quick_store() -> Iterator[None]:
    """Pages are not compressed in these tests: that takes seconds, and other tests do it."""
    with patch.object(
        documents, "zlib", SimpleNamespace(**vars(zlib) | {"compress": lambda html, _: zlib.compress(html, 0)})
    ):
        yield


def unpacked(archive: Path, folder: Path) -> Path:
    """The archive as a plain tar: a world reads it twice, and decompressing it takes seconds each time."""
    plain = folder / archive.name.removesuffix(".xz")
    with lzma.open(archive) as source, plain.open("wb") as target:
        shutil.copyfileobj(source, target, 1 << 20)
    return plain


@pytest.fixture(scope="module")
def encyclopaedia(tmp_path_factory: pytest.TempPathFactory) -> WikipediaSchools:
    """Read once for all tests, which takes many seconds; with its walks where these are at hand."""
    if not SCHOOLS.exists():
        pytest.skip(f"{SCHOOLS.name} is not at hand")
    return WikipediaSchools(
        path=str(unpacked(SCHOOLS, tmp_path_factory.mktemp("schools"))), walks=str(WALKS) if WALKS.exists() else ""
    )


def test_the_encyclopaedia_is_whole(encyclopaedia: WikipediaSchools) -> None:
    """Others counted 136 573 links among its articles."""
    assert len(encyclopaedia) == 5463
    assert sum("/wp/index/subject." in url for url in encyclopaedia.urls()) == 146
    assert len(encyclopaedia.directory()) == 129
    assert len({category.name.partition("/")[0] for category in encyclopaedia.directory()}) == 15
    assert links_among_articles(encyclopaedia) == pytest.approx(136_573, rel=0.001)


@pytest.mark.skipif(not WALKS.exists(), reason=f"{WALKS.name} is not at hand")
def test_real_people_walked_through_the_encyclopaedia(encyclopaedia: WikipediaSchools) -> None:
    """Others counted 11 485 people."""
    access_log = AccessLog.of((access.user, access.url, access.at) for access in encyclopaedia.accesses())
    assert access_log.users == 11_485
    assert access_log.access_count == encyclopaedia.facts["accesses"] > 100_000
    assert all(url in encyclopaedia for url in access_log.urls)


@pytest.mark.skipif(not UNIVERSITIES.exists(), reason=f"{UNIVERSITIES.name} is not at hand")
def test_the_university_pages_are_whole(tmp_path: Path) -> None:
    """Of 8 282 files, 16 are pages filed a second time; of the links, 15 134 are spelt as the files are."""
    world = WebKB(path=str(unpacked(UNIVERSITIES, tmp_path)))
    assert len(world) == 8266
    sizes = {category.name.partition("/")[2]: len(category.entries) for category in world.directory()}
    assert sum(sizes.values()) == 8266
    assert sizes.keys() == {"course", "department", "faculty", "other", "project", "staff", "student"}
    assert 15_134 <= world.facts["links"] < 16_000
