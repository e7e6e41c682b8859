"""The real archives, where they are at hand."""

import re
from pathlib import Path

import pytest

from lycosa.vocabulary.urls import path_of
from lycosa_lab.worlds.documents import DocumentWorld
from lycosa_lab.worlds.webkb import WebKB
from lycosa_lab.worlds.wikipedia_schools import WikipediaSchools

PAGES = Path(__file__).parents[3] / "shared/data/pages"
SCHOOLS, UNIVERSITIES = PAGES / "wikipedia-schools-2007-html.tar.xz", PAGES / "webkb-4universities-html.tar.xz"


def links_among_articles(world: DocumentWorld) -> int:
    """Counted without reading the pages as a crawler does, which takes longer."""
    articles = {path_of(url) for url in world.urls() if "/index" not in url}
    hrefs = (
        re.findall(rb'href="\.\./\.\.(/wp/[^"#]+)', world.page(url) or b"")
        for url in world.urls()
        if path_of(url) in articles
    )
    return sum(len(articles.intersection(map(bytes.decode, found))) for found in hrefs)


@pytest.mark.skipif(not SCHOOLS.exists(), reason=f"{SCHOOLS.name} is not at hand")
def test_the_encyclopaedia_is_whole() -> None:
    """Others counted 136 573 links among its articles."""
    world = WikipediaSchools(path=str(SCHOOLS))
    assert len(world) == 5463
    assert sum("/wp/index/subject." in url for url in world.urls()) == 146
    assert len(world.directory()) == 129
    assert len({category.name.partition("/")[0] for category in world.directory()}) == 15
    assert links_among_articles(world) == pytest.approx(136_573, rel=0.001)


@pytest.mark.skipif(not UNIVERSITIES.exists(), reason=f"{UNIVERSITIES.name} is not at hand")
def test_the_university_pages_are_whole() -> None:
    """Of 8 282 files, 16 are pages filed a second time; of the links, 15 134 are spelt as the files are."""
    world = WebKB(path=str(UNIVERSITIES))
    assert len(world) == 8266
    sizes = {category.name.partition("/")[2]: len(category.entries) for category in world.directory()}
    assert sum(sizes.values()) == 8266
    assert sizes.keys() == {"course", "department", "faculty", "other", "project", "staff", "student"}
    assert 15_134 <= world.facts["links"] < 16_000
