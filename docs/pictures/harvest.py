"""Draws harvest.svg, a picture in the README and the guide, from what `lycosa demo` left behind.

python docs/pictures/harvest.py [demo]
"""

import sys
from itertools import accumulate
from pathlib import Path

import lycosa
from lycosa.pictures import Series, line_chart
from lycosa_lab.cli.demo import STRATEGIES, WORLD
from lycosa_lab.worlds.synthetic import SyntheticWorld

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
TOPIC = "beekeeping"
EVERY = 10  # pages

world = SyntheticWorld(seed=1, **WORLD)
on_topic = []
for name in STRATEGIES:
    with lycosa.open(FOLDER / name) as collection:
        urls = [page.url for page in collection]
    good = list(accumulate((world.topic(url) or "").endswith(f"/{TOPIC}") for url in urls))
    places = range(EVERY, len(urls) + 1, EVERY)
    on_topic.append(Series(name, [(pages, good[pages - 1] / pages) for pages in places]))
picture = line_chart(
    on_topic, x_title="pages fetched", y_title=f"pages about {TOPIC}", y_range=(0.0, 1.0), percent=True
)
Path(__file__).with_name("harvest.svg").write_text(picture, encoding="utf-8")
