"""How much each part of the standing that is expected of a link says of the in-links that its page has in truth.

python standing_weights.py [--worlds 10] [--pages 400]

In synthetic worlds that differ by their seeds, `Hunter` crawls for a topic from 40 examples, at a target so high that
standing does not choose the pages. At the end, the parts of every link in its table, followed or not, are compared with
ln(1 + in-links) of the page it leads to, by least squares with an intercept for each world. Printed are the weights,
and the correlation of what is expected with the truth.
"""

import argparse

import numpy as np
from numpy.typing import NDArray

from lycosa.relevance import train
from lycosa.standing import Traffic
from lycosa.strategies.hunter import Hunter
from lycosa.strategies.target import STANDING_WEIGHTS
from lycosa_lab.simulation import crawl
from lycosa_lab.test_bed import _traffic, in_links_of, prepare_test_bed
from lycosa_lab.worlds.synthetic import SyntheticWorld

SIZE = {"topics": 2, "examples": 40, "explored": 60}
Rows = NDArray[np.float64]


def rows_of(seed: int, pages: int) -> Rows:
    """For each link: its parts, not weighed, and its true status; all less their means."""
    world = SyntheticWorld(pages=12_000, topics=6, seed=seed)
    bed = prepare_test_bed(world, SIZE, seed, in_links_of(world))
    examples, traffic = bed.topics[0], Traffic(_traffic(world))
    relevance = train(bed.pages(examples.good), bed.pages(examples.bad), seed=seed)
    standing = bed.standing.models[examples.topic].standing
    strategy = Hunter(
        target=0.999,
        judge=lambda: relevance,
        example_urls=examples.good,
        domain_reach=lambda url: traffic.of(url) - traffic.neutral,
    )
    read, judge = bed.cache.read, relevance.relevance
    for _ in crawl(strategy, examples.good, read=read, judge=judge, standing=standing, pages=pages):
        pass
    table = strategy._table
    slots = np.arange(len(table._links))
    parts = table.standing(slots, None) / list(STANDING_WEIGHTS.values())
    known = [bed.standing.source.status(table._links[slot][0]) for slot in slots.tolist()]  # None becomes NaN
    rows = np.column_stack((parts, np.array(known, np.float64)))
    rows = rows[~np.isnan(rows).any(axis=1)]
    return rows - rows.mean(axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=10)
    parser.add_argument("--pages", type=int, default=400)
    options = parser.parse_args()
    rows = np.concatenate([rows_of(seed, options.pages) for seed in range(1, options.worlds + 1)])
    parts, status = rows[:, :-1], rows[:, -1]
    weights, *_ = np.linalg.lstsq(parts, status, rcond=None)
    print(f"{len(rows)} links of {options.worlds} worlds")
    print("| part | shipped | fitted | standard deviation of the part |\n|---|---:|---:|---:|")
    for name, weight, spread in zip(STANDING_WEIGHTS, weights, parts.std(axis=0), strict=True):
        print(f"| {name} | {STANDING_WEIGHTS[name]:g} | {weight:.3f} | {spread:.2f} |")
    for name, used in (("fitted", weights), ("shipped", np.array(list(STANDING_WEIGHTS.values())))):
        print(f"correlation with the truth, {name}: {np.corrcoef(parts @ used, status)[0, 1]:.3f}")


if __name__ == "__main__":
    main()
