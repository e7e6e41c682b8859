"""Makes the model of standing that comes with Lycosa: src/lycosa/standing/prior.json.

python benchmarks/make_prior.py [WORLD ...] [--pages 2000] [--out FILE]

Each WORLD is written as for `lycosa world`; the shipped model was made from four synthetic worlds and two real ones:

    synthetic:pages=20000,seed=1 ... synthetic:pages=20000,seed=4
    wikipedia-schools:path=wikipedia-schools-2007-html.tar.xz   debian-docs

The model is one line, not a tree: trees learn what is peculiar to a web and then do worse on others. Levels differ from
web to web, so that the line explains how pages differ from the mean of their own web. Each kind of world has as many
pages in it as the others. Printed is how well a line learnt from the other kinds ranks the pages of each kind.
"""

import argparse
import json
import random
from collections import defaultdict
from math import log1p
from pathlib import Path

import numpy as np

from lycosa.standing import FEATURES, FeatureExtractor, ModelTree, StandingModel, count_in_links
from lycosa.standing.model_tree import Floats, Line, fit_line
from lycosa_lab.worlds.calibration import spearman
from lycosa_lab.worlds.registry import open_world
from lycosa_lab.worlds.world import StudyWorld

OUT = Path(__file__).parents[1] / "src" / "lycosa" / "standing" / "prior.json"
DEFAULT_WORLDS = [f"synthetic:pages=20000,seed={seed}" for seed in range(1, 5)]
MIDDLE = 2.82  # median of the status that Pant and Srinivasan's model predicted in an exploratory crawl
STRANGE = 1.0  # percent of pages at either end of a feature whose values count like those nearer the middle

Sample = tuple[Floats, Floats]  # rows of features, and the status behind each


def sample_of(world: StudyWorld, pages: int) -> Sample:
    """Some pages; where the world does not know what links to them from everywhere, links within it count."""
    features, urls = FeatureExtractor(), list(world.urls())
    knows = world.log_in_links(urls[0]) is not None
    chosen = set(random.Random(1).sample(urls, min(pages, len(urls))))
    rows, links = {}, []
    for url in urls:
        if (url in chosen or not knows) and (page := world.read(url)) is not None:
            if url in chosen:
                rows[url] = features.of(page)
            if not knows:
                links += [(url, link.target) for link in page.links]
    in_links = count_in_links(links)
    statuses = [world.log_in_links(url) if knows else log1p(in_links.get(url, 0)) for url in rows]
    return np.array(list(rows.values())), np.array(statuses, dtype=np.float64)


def line_of(samples: list[Sample]) -> Line:
    """The line that best tells how pages differ from the mean of their web."""
    rows = np.concatenate([rows - rows.mean(axis=0) for rows, _ in samples])
    statuses = np.concatenate([statuses - statuses.mean() for _, statuses in samples])
    return fit_line(np.ascontiguousarray(rows.T), statuses, list(range(len(FEATURES))))


def ranks(line: Line, samples: list[Sample]) -> float:
    """Mean rank correlation between what the line says and the truth."""
    return float(np.mean([spearman(line.of(rows.T).tolist(), statuses.tolist()) for rows, statuses in samples]))


def model_of(samples: list[Sample]) -> StandingModel:
    line, rows = line_of(samples), np.concatenate([rows for rows, _ in samples])
    weights = tuple((feature, float(f"{weight:.4g}")) for feature, weight in line.weights)
    lows, highs = np.round(np.percentile(rows, [STRANGE, 100.0 - STRANGE], axis=0), 4)
    middle = float(np.median(Line(0.0, weights).of(np.clip(rows, lows, highs).T)))
    highest = MIDDLE + max(float((statuses - np.median(statuses)).max()) for _, statuses in samples)
    plain = ModelTree().fit(np.zeros((1, len(FEATURES))), [0.0]).to_plain()
    plain["nodes"] = [
        {"rows": len(rows), "intercept": round(MIDDLE - middle, 4), "weights": [list(pair) for pair in weights]}
    ]
    seen = (*zip(lows.tolist(), highs.tolist(), strict=True), (0.0, round(highest, 4)))
    return StandingModel(ModelTree.from_plain(plain), FeatureExtractor(), seen, theta=MIDDLE, pages=len(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="*", default=DEFAULT_WORLDS, metavar="WORLD")
    parser.add_argument("--pages", type=int, default=2000, help="of each kind of world")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    kinds = [world.partition(":")[0] for world in asked.worlds]
    samples: dict[str, list[Sample]] = defaultdict(list)
    for kind, world in zip(kinds, asked.worlds, strict=True):
        samples[kind].append(sample_of(open_world(world), asked.pages // kinds.count(kind)))
    everything = [sample for kind in samples for sample in samples[kind]]
    model = model_of(everything)
    found = {}
    print("| world | pages | Spearman, learnt from the others | learnt from all |\n|---|---:|---:|---:|")
    for kind, own in samples.items():
        others = [sample for other in samples if other != kind for sample in samples[other]]
        found[kind] = round(ranks(line_of(others), own), 2) if others else None
        count = sum(len(statuses) for _, statuses in own)
        print(f"| {kind} | {count} | {found[kind]} | {ranks(line_of(everything), own):.2f} |")
    made = {
        "by": "benchmarks/make_prior.py",
        "from": {kind: sum(len(statuses) for _, statuses in own) for kind, own in samples.items()},
        "how": "a line over five features, fitted to how pages differ from the mean of their own web; without words and"
        " reach; in-links from everywhere where the world knows them, else from within it; levelled so that the median"
        f" page has {MIDDLE}",
        "spearman_on_a_world_when_learnt_from_the_others": found,
    }
    asked.out.write_text(json.dumps({"made": made, "model": model.to_plain()}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
