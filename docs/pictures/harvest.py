"""Draws harvest.svg, the picture in the README, from what `lycosa demo` left behind.

python docs/pictures/harvest.py [demo]
"""

import sys
from itertools import accumulate
from pathlib import Path

import lycosa
from lycosa.pictures import Series, line_chart
from lycosa.worlds.made_up import MadeUpWeb

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
TOPIC = "beekeeping"

world = MadeUpWeb(seed=1)
curves = []
for name in ("focused", "breadth-first"):
    with lycosa.open(FOLDER / name) as collection:
        found = list(accumulate(world.topic(page.url) == TOPIC for page in collection))
    curves.append(Series(name, [(pages, good / pages) for pages, good in enumerate(found, 1) if pages % 5 == 0]))
share = sum(world.topic(url) == TOPIC for url in world.urls()) / len(world.urls())
curves.append(Series("share of the whole web", [(5, share), (500, share)]))
picture = line_chart(curves, x_title="pages", y_title=f"pages about {TOPIC}", y_range=(0.0, 1.0), percent=True)
Path(__file__).with_name("harvest.svg").write_text(picture, encoding="utf-8")
