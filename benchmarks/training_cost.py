"""What share of a crawl's processor time goes into training the judge and judging pages anew?

python benchmarks/training_cost.py [--pages 3000] [--strategy hunter]

A topic of positives alone, the case in which the judge is trained again whenever the pages have doubled. The crawl runs
in a process of its own; the server is another one, and not counted.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from measure import EXAMPLES, LYCOSA, TOPIC, say, scratch
from world import serving

PARTS = ("train_if_due", "finish", "report_unknown_words")


def crawl(words: list[str]) -> None:
    """Runs a command of Lycosa's in this process, and prints what its parts cost."""
    from lycosa.cli import main as lycosa  # first: it says how many threads numpy may have
    from lycosa.run.topic_training import TopicTrainer

    spent = dict.fromkeys(PARTS, 0.0)

    def timed(name: str) -> Callable[..., Any]:
        inner = getattr(TopicTrainer, name)

        def outer(*given: Any) -> Any:
            began = time.thread_time()  # other threads, such as those of the search index, work beside it
            try:
                return inner(*given)
            finally:
                spent[name] += time.thread_time() - began

        return outer

    for name in PARTS:
        setattr(TopicTrainer, name, timed(name))
    sys.argv = ["lycosa", *words]
    try:
        lycosa()
    finally:
        total = time.process_time()
        for name, seconds in spent.items():
            print(f"| {name} | {seconds:.2f} | {100 * seconds / total:.1f} % |", flush=True)
        share = 100 * sum(spent.values()) / total
        print(f"| all of it, of {total:.1f} s | {sum(spent.values()):.2f} | {share:.1f} % |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=3_000)
    parser.add_argument("--strategy", default="hunter")
    parser.add_argument("--command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.command:
        crawl(options.command)
        return
    with serving(2 * options.pages) as served, scratch() as folder:
        world = served.world()
        names = []
        for number in world.some_on_topic(TOPIC, EXAMPLES):
            (folder / f"good-{number}.html").write_bytes(world.html(number))
            names.append(f"good-{number}.html")
        (folder / "good.txt").write_text("\n".join(names))
        (folder / "seeds.txt").write_text(world.url(0))
        given = ("--examples", "good.txt", "--seeds", "seeds.txt")
        subprocess.run([*LYCOSA, "new", "bench", *given], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        say(f"crawling {options.pages} pages")
        bounds = ("--strategy", options.strategy, "--dry-after", "0", "--pages", str(options.pages), "--delay", "0")
        words = ("crawl", "bench", *bounds, "--concurrency", "64", "--allow-private", "--quiet")
        print("| part | CPU s | share |\n|---|---:|---:|", flush=True)
        subprocess.run([sys.executable, __file__, "--command", *words], cwd=folder, check=True)


if __name__ == "__main__":
    main()
