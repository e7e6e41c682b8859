"""What does a model tree cost to learn, and to ask?

python benchmarks/model_tree.py [--rows 10000] [--attributes 7] [--rounds 3]

Targets with steps, bends and noise, so that the tree grows far and is pruned; the best of some rounds.
"""

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np

from lycosa.standing.model_tree import ModelTree


def best_of(rounds: int, work: Callable[[], object]) -> float:
    """Seconds of the quickest round."""
    times = []
    for _ in range(rounds):
        began = perf_counter()
        work()
        times.append(perf_counter() - began)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--attributes", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    chance = np.random.default_rng(1)
    table = chance.normal(size=(options.rows, options.attributes))
    bends = np.sin(3 * table[:, 0]) + 2 * (table[:, -1] > 0.3) * table[:, options.attributes // 2]
    target = bends + table @ chance.normal(size=options.attributes) + chance.normal(size=options.rows) / 2
    tree = ModelTree()
    learning = best_of(options.rounds, lambda: tree.fit(table, target))
    rows = table[:1000].tolist()
    batch = best_of(options.rounds, lambda: tree.predict(table)) / len(table)
    single = best_of(options.rounds, lambda: [tree.predict(table[number : number + 1]) for number in range(len(rows))])
    one = best_of(options.rounds, lambda: [tree.predict_one(row) for row in rows])
    leaves = tree.explain().count("\nmodel ")
    print(f"| {options.rows} rows, {options.attributes} attributes, {max(leaves, 1)} leaves | time |\n|---|---:|")
    print(f"| learn | {learning:.2f} s |")
    print(f"| predict, per row of a batch | {1e6 * batch:.2f} µs |")
    print(f"| predict a table of one row | {1e6 * single / len(rows):.1f} µs |")
    print(f"| predict_one | {1e6 * one / len(rows):.2f} µs |")


if __name__ == "__main__":
    main()
