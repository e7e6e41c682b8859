"""A heat map is well-formed, tells more from less in grey, and says what its shades mean."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.pictures.heat_map import heat_map

SVG = "{http://www.w3.org/2000/svg}"
rows = st.lists(st.lists(st.integers(0, 10**9), min_size=3, max_size=3), max_size=5)


def cells(picture: str) -> list[tuple[float, float, str]]:
    """Left, top and shade of every cell: rectangles that are neither the paper, nor a frame, nor the key."""
    found = ElementTree.fromstring(picture).findall(f"{SVG}rect")
    return [
        (float(rect.get("x") or 0), float(rect.get("y") or 0), rect.get("fill") or "")
        for rect in found[1:]
        if rect.get("fill") != "none" and rect.get("width") != "12"
    ]


def words(picture: str) -> list[str]:
    return ["".join(node.itertext()) for node in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def lightness(shade: str) -> float:
    red, green, blue = (int(shade[at : at + 2], 16) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_more_is_darker_and_nothing_is_white():
    drawn = cells(heat_map([[0, 1, 10], [100, 1000, 0]]))
    assert len(drawn) == 4
    shades = [lightness(shade) for _, _, shade in sorted(drawn, key=lambda cell: -lightness(cell[2]))]
    assert shades == sorted(shades, reverse=True)
    assert len(set(shades)) == 4


def test_shades_go_by_the_logarithm():
    one, ten, hundred = (lightness(shade) for _, _, shade in cells(heat_map([[1, 10, 100]])))
    assert abs((one - ten) - (ten - hundred)) < 3  # of 255, by rounding


def test_rows_go_up_and_columns_to_the_right():
    (low_left, high_right) = cells(heat_map([[5, 0], [0, 5]]))
    assert low_left[0] < high_right[0]
    assert low_left[1] > high_right[1]


def test_the_key_names_the_largest_count_and_the_axes_have_their_names():
    picture = heat_map([[1, 400]], y_range=(0, 8), title="Pages", x_title="relevance", y_title="in-links")
    assert {"1", "20", "400", "relevance", "in-links", "8"} <= set(words(picture))


@pytest.mark.parametrize(("largest", "labels"), [(1, ["1"]), (2, ["1", "2"]), (3, ["1", "2", "3"])])
def test_no_count_stands_twice_at_the_colour_bar(largest, labels):
    picture = heat_map([[largest]], x_range=(10, 11), y_range=(10, 11))
    root = ElementTree.fromstring(picture)
    bar_left = max(float(rect.get("x") or 0) for rect in root.iter(f"{SVG}rect"))
    assert [node.text for node in root.iter(f"{SVG}text") if float(node.get("x") or 0) > bar_left] == labels


def test_nothing_to_show_is_said():
    for counts in ([], [[]], [[0, 0], [0, 0]]):
        assert words(heat_map(counts)) == ["no data yet"]


@given(rows)
@settings(max_examples=60, deadline=None)
def test_it_is_well_formed_whatever_the_counts(counts):
    picture = heat_map(counts, title="<&>")
    assert ElementTree.fromstring(picture).tag == f"{SVG}svg"
    assert "nan" not in picture
    drawn = sum(count > 0 for row in counts for count in row)
    assert len(cells(picture)) == drawn if drawn else "no data yet" in words(picture)
