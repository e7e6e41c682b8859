"""The screen of an atlas."""

from lycosa.maps import Atlas, CitationMatrix, Sighting
from lycosa.screens.library import Library
from lycosa.screens.topic_maps import MAX_TOPICS, atlas_view
from lycosa.vocabulary.records import Url

NOW = 1e9


def test_citations_are_of_the_topics_that_are_listed_in_their_order(tmp_path):
    """With more topics than are shown, the largest are; the last ones of the alphabet are larger here."""
    topics = [f"topic {number:02}" for number in range(MAX_TOPICS + 5)]
    with Atlas(tmp_path / "atlas", writable=True, allow_private=True, now=NOW) as atlas:
        for size, topic in enumerate(topics, 2):
            urls = [Url(f"http://host{size}.example.org/{page}") for page in range(size)]
            atlas.extend(topic, {url: Sighting(NOW, topic) for url in urls}, [(urls[0], urls[1])], at=NOW)
        links = tuple(tuple(100 * one + other for other in range(len(topics))) for one in range(len(topics)))
        atlas.set_citations("bees", CitationMatrix(tuple(topics), links))
    view = atlas_view(Library(tmp_path), "atlas")
    listed = [each.name for each in view.topics]
    assert listed == topics[:4:-1]
    assert view.citation_topics == listed
    assert view.citation_counts[0][1] == 100 * topics.index(listed[0]) + topics.index(listed[1])
