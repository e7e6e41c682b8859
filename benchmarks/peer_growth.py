"""Does a query cost more in a large network of peers than in a small one, for random walks and for BuddyNet?

    python benchmarks/peer_growth.py [--sizes 1000 3000 10000 30000 100000] [--out peer-growth.svg]

Made-up peers that share files, always there. The larger the network, the more files and interests there are, so that
of each file there are as many copies: what is looked for gets rarer among all. Prints messages per query and path
length over the second half of the queries, how much more messages are than at the smallest size, and the processor
time; draws it.
"""

import argparse
import math
import time
from pathlib import Path

from lycosa.pictures import Series, line_chart
from lycosa_lab.peers.records import BUDDIES, INDEXES
from lycosa_lab.peers.runs import network_in, queries_of, simulate, warm_up
from lycosa_lab.worlds.file_sharing import FileSharing

ALGORITHMS = ("random-walk", "interest-shortcuts", "buddynet")
CONSUMERS = 0.22  # of the peers
FILES = 0.55  # for each peer
PEERS_AN_INTEREST = 450


def made(size: int, seed: int) -> FileSharing:
    consumers = round(CONSUMERS * size)
    categories = max(2, round(size / PEERS_AN_INTEREST))
    return FileSharing(
        consumers=consumers, providers=size - consumers, files=round(FILES * size), categories=categories, seed=seed
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 3_000, 10_000, 30_000, 100_000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("peer-growth.svg"))
    options = parser.parse_args()
    warm_up()
    sizes, costs = sorted(options.sizes), {}
    print("| algorithm | peers | messages per query | more | ratio | path length | answered | hit rate | seconds |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for size in sizes:
        world = made(size, options.seed)
        trace = world.sharing.trace
        network = network_in(world.graph, trace, churns=False, min_neighbours=4, seed=options.seed)
        queries = queries_of(trace, world.sharing.holders(), seed=options.seed)
        late = slice(len(trace) // 2, None)
        for name in ALGORITHMS:
            began = time.process_time()
            found = simulate(network, queries, name, seed=options.seed)
            seconds = time.process_time() - began
            costs[name, size] = float(found.messages[late].mean())
            paths, stages = found.paths[late], found.stages[late]
            least = costs[name, sizes[0]]
            more = f"{costs[name, size] - least:.0f} | {costs[name, size] / least:.2f}"
            path = f"{paths[paths >= 0].mean():.0f}"
            shares = f"{(paths >= 0).mean():.3f} | {((stages == INDEXES) | (stages == BUDDIES)).mean():.3f}"
            print(
                f"| {name} | {size} | {costs[name, size]:.0f} | {more} | {path} | {shares} | {seconds:.1f} |",
                flush=True,
            )
    series = [Series(name, [(math.log10(size), costs[name, size]) for size in sizes]) for name in ALGORITHMS]
    title = "messages per query by size of the network"
    chart = line_chart(series, title=title, x_title="peers, as a power of ten", y_title="messages per query")
    options.out.write_text(chart, encoding="utf-8")
    print(f"drawn into {options.out}")


if __name__ == "__main__":
    main()
