"""A web to practise on: serves a made-up web on this machine until interrupted, and writes the files to begin with.

python docs/guide/practice_web.py [PORT]
"""

# ruff: noqa: T201
import contextlib
import random
import sys
import threading
from pathlib import Path

from lycosa_lab.worlds.server import WorldServer

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from fixtures.made_up_web import MadeUpWeb

PORT = int(sys.argv[1]) if len(sys.argv) > 1 else 8090

world = MadeUpWeb(seed=1)
about_bees = [url for url in world.urls() if world.topic(url) == "beekeeping"]
Path("pos.txt").write_text("\n".join(random.Random(1).sample(about_bees, 20)) + "\n")
Path("seeds.txt").write_text(world.front_page + "\n")
with WorldServer(world, port=PORT) as served, contextlib.suppress(KeyboardInterrupt):
    print(f"{len(world.urls())} pages on {len(world.hosts)} hosts at {served.address}:{served.port}", flush=True)
    print("pos.txt: 20 pages about beekeeping; seeds.txt: the front page", flush=True)
    threading.Event().wait()
