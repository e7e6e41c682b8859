"""A wheel is well-formed whatever hubs are called, and bounded however many there are."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.pictures.heat_map import heat_map
from lycosa.pictures.wheel import MAX_PORTALS, wheel

SVG = "{http://www.w3.org/2000/svg}"


def words(picture: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(picture).iter(f"{SVG}text")]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(max_size=40), st.integers(0, 10**6)), max_size=80), st.text(max_size=20))
def test_a_wheel_is_well_formed(hubs, title):
    root = ElementTree.fromstring(wheel(hubs, title=title))
    assert root.tag == f"{SVG}svg"
    assert "nan" not in wheel(hubs)


def test_hubs_and_spokes_are_drawn_and_named():
    picture = wheel([("bees.example/", 3), ("wasps.example/", 0)], title="bees: 5 pages")
    assert {"3: bees.example/", "0: wasps.example/", "bees: 5 pages"} <= set(words(picture))
    dots = ElementTree.fromstring(picture).findall(f"{SVG}circle")
    assert len(dots) == 2 + 3
    assert "2 portals" in words(picture)[2]


def test_of_many_hubs_some_are_drawn_and_it_says_so():
    picture = wheel([(f"h{number}.example/", 1000) for number in range(5000)])
    assert len(picture) < 300_000
    assert any(f"{MAX_PORTALS} of 5000 portals" in said for said in words(picture))


@pytest.mark.slow
def test_rows_and_columns_of_a_heat_map_can_have_names():
    said = words(heat_map([[5, 1], [0, 7]], names=["bees", "wasps"], x_title="cited", y_title="citing"))
    assert said.count("bees") == said.count("wasps") == 2
    assert {"cited", "citing"} <= set(said)
    many = heat_map([[1] * 300 for _ in range(300)], names=[f"topic {number}" for number in range(300)])
    assert len([each for each in words(many) if each.startswith("topic")]) < 100
