"""Draws harvest.svg and standing.svg, the pictures in the README, from what `lycosa demo` left behind.

python docs/pictures/harvest.py [demo]
"""

import sys
from itertools import accumulate
from math import expm1
from pathlib import Path

import lycosa
from lycosa.pictures import Series, line_chart
from lycosa_lab.cli.demo import STRATEGIES, WORLD
from lycosa_lab.worlds.synthetic import SyntheticWorld

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
TOPIC = "beekeeping"
EVERY = 10  # pages

world = SyntheticWorld(seed=1, **WORLD)
on_topic, in_links = [], []
for name in STRATEGIES:
    with lycosa.open(FOLDER / name) as collection:
        urls = [page.url for page in collection]
    good = list(accumulate((world.topic(url) or "").endswith(f"/{TOPIC}") for url in urls))
    status = [world.standing(url) if (world.topic(url) or "").endswith(f"/{TOPIC}") else 0.0 for url in urls]
    total = list(accumulate(each or 0.0 for each in status))
    places = range(EVERY, len(urls) + 1, EVERY)
    on_topic.append(Series(name, [(pages, good[pages - 1] / pages) for pages in places]))
    in_links.append(Series(name, [(pages, expm1(total[pages - 1] / max(1, good[pages - 1]))) for pages in places]))
pictures = {
    "harvest": line_chart(
        on_topic, x_title="pages fetched", y_title=f"pages about {TOPIC}", y_range=(0.0, 1.0), percent=True
    ),
    "standing": line_chart(in_links, x_title="pages fetched", y_title="links to those pages (geometric mean)"),
}
for name, picture in pictures.items():
    Path(__file__).with_name(f"{name}.svg").write_text(picture, encoding="utf-8")
