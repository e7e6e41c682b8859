"""Does the default crawl find two topics on real pages: volcanoes, and database replication?

python benchmarks/real_topics.py volcanoes ARCHIVE [--pages 200] [--strategy NAME]
python benchmarks/real_topics.py replication FOLDER [--pages 300] [--strategy NAME]

ARCHIVE is wikipedia-schools-2007-html.tar.xz, Wikipedia for Schools 2007, or the folder that `lycosa world make` makes
of it, which opens faster. Five articles are the examples; a page is on the topic if its text says volcano, eruption,
lava or magma in any form at least 5 times and in more than .8 % of its words; index pages and pages that forbid
indexing do not count. A second crawl has the topic in words instead of the examples, and these as its seeds.

FOLDER has Debian packages, each unpacked in a folder of its name; those that are missing are downloaded there by
apt-get. Each is a site of its own. Five pages of four sites are the examples; two sites, Slony and pgpool, are on the
topic from beginning to end.

Everything goes through the command line and over loopback. What a crawl asked for counts in the order of asking.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from lycosa.reading import page_of_html
from lycosa.vocabulary.records import Host, Url
from lycosa.vocabulary.urls import host_of, path_of
from lycosa_lab.worlds import StudyWorld
from lycosa_lab.worlds.registry import open_world
from lycosa_lab.worlds.server import WorldServer
from lycosa_lab.worlds.world import World
from measure import LYCOSA

VOLCANOES = ("v/Volcano", "m/Mount_Vesuvius", "m/Mauna_Loa", "m/Mount_St._Helens", "m/Magma")
VOLCANIC = re.compile(r"volcan|erupt|\blava\b|magma", re.IGNORECASE)
TOPIC = "volcanoes, eruptions, lava and magma"
LEAST_TIMES, LEAST_SHARE = 5, 0.008

SITES = {  # package: the folder with its pages
    "postgresql-doc-15": "usr/share/doc/postgresql-doc-15/html",
    "slony1-2-doc": "usr/share/doc/slony1-2-doc/adminguide",
    "pgpool2": "usr/share/doc/pgpool2",
    "python-pymongo-doc": "usr/share/doc/python-pymongo-doc/html",
    "sqlite3-doc": "usr/share/doc/sqlite3",
    "debian-handbook": "usr/share/doc/debian-handbook/html",
    "apache2-doc": "usr/share/doc/apache2-doc/manual",
    "python3.11-doc": "usr/share/doc/python3.11/html",
    "python-django-doc": "usr/share/doc/python-django-doc/html",
    "python-psycopg2-doc": "usr/share/doc/python-psycopg2-doc/html",
    "bacula-doc": "usr/share/doc/bacula-doc/html",
    "git-doc": "usr/share/doc/git-doc",
}
REPLICATION = (
    "postgresql-doc-15.example/logical-replication.html",
    "postgresql-doc-15.example/warm-standby.html",
    "slony1-2-doc.example/concepts.html",
    "pgpool2.example/intro-whatis.html",
    "python-pymongo-doc.example/examples/high_availability.html",
)
ON_TOPIC = ("slony1-2-doc.example", "pgpool2.example")


class FolderWorld:
    """Folders of pages, each a host of its own."""

    def __init__(self, roots: Mapping[Host, Path]):
        self._roots = {host: root.resolve() for host, root in roots.items()}

    @property
    def hosts(self) -> Collection[Host]:
        return self._roots.keys()

    def page(self, url: Url) -> bytes | None:
        root = self._roots.get(host_of(url))
        if root is None:
            return None
        path = (root / unquote(path_of(url).partition("?")[0]).lstrip("/")).resolve()
        if path.is_dir():
            path /= "index.html"
        is_page = path.is_relative_to(root) and path.suffix in (".html", ".htm") and path.is_file()
        return path.read_bytes() if is_page else None

    def redirect(self, url: Url) -> Url | None:
        return None

    def robots(self, host: Host) -> str | None:
        return None


def crawled(world: World, given: Sequence[str], seeds: Iterable[Url], *, pages: int, strategy: str) -> list[Url]:
    """The pages that a crawl asked for, in order."""
    with tempfile.TemporaryDirectory() as scratch, WorldServer(world) as served:
        Path(scratch, "pages.txt").write_text("".join(f"{url}\n" for url in seeds))
        how = ["--strategy", strategy] if strategy else []
        resolve = ["--delay", "0", "--resolve", served.resolve, "--quiet"]
        for command in (["new", "found", *given], ["crawl", "found", "--pages", str(pages), *resolve, *how]):
            done = subprocess.run([*LYCOSA, *command], cwd=scratch, capture_output=True, text=True, timeout=1200)
            if done.returncode:
                sys.exit(f"lycosa {command[0]} failed: {done.stderr.strip()}")
        asked = dict.fromkeys(served.requests)
    return [Url(url) for url in asked if not url.endswith("/robots.txt")]


def volcanoes(archive: Path, *, pages: int, strategy: str) -> None:
    world = open_world(str(archive) if archive.is_dir() else f"wikipedia-schools:path={archive}")
    [host] = world.hosts
    examples = [Url(f"http://{host}/wp/{name}.htm") for name in VOLCANOES]
    articles = [url for url in world.urls() if "/wp/index/" not in url]
    truth = {url for url in articles if is_volcanic(world, url)}
    print(f"{len(truth)} of {len(articles)} articles are on the topic, the {len(examples)} examples among them")
    by_examples = ["--examples", "pages.txt"]
    by_words = ["--topic", TOPIC, "--seeds", "pages.txt"]
    for label, given in (("five examples", by_examples), (f"the words “{TOPIC}”", by_words)):
        asked = crawled(world, given, examples, pages=pages, strategy=strategy)
        counts = ", ".join(f"{sum(url in truth for url in asked[:n])} in {n}" for n in (50, 100, pages) if n <= pages)
        dead = sum(world.page(url) is None for url in asked) / len(asked)
        print(f"{label}: on the topic, of the first pages: {counts}; {dead:.0%} of the requests led to no page")


def is_volcanic(world: StudyWorld, url: Url) -> bool:
    page = page_of_html(url, (world.page(url) or b"").decode("utf-8", "replace"))
    times = len(VOLCANIC.findall(page.text))
    return not page.noindex and times >= LEAST_TIMES and times > LEAST_SHARE * len(page.text.split())


def replication(folder: Path, *, pages: int, strategy: str) -> None:
    for package in SITES:
        if not (folder / package).is_dir():
            download(package, folder)
    world = FolderWorld({Host(f"{package}.example"): folder / package / root for package, root in SITES.items()})
    examples = [Url(f"http://{page}") for page in REPLICATION]
    asked = crawled(world, ["--examples", "pages.txt"], examples, pages=pages, strategy=strategy)
    hosts = Counter(map(host_of, asked))
    share = sum(hosts[Host(host)] for host in ON_TOPIC) / max(1, len(asked))
    print(f"{len(asked)} pages, {share:.0%} of them of Slony and pgpool")
    print(", ".join(f"{host} {count}" for host, count in hosts.most_common()))


def download(package: str, folder: Path) -> None:
    """Has apt-get download a package, and unpacks it; root is not needed."""
    if shutil.which("apt-get") is None:
        sys.exit(f"{folder} lacks {package}, and there is no apt-get to download it")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        subprocess.run(["apt-get", "download", "--quiet", package], cwd=scratch, check=True, capture_output=True)
        [archive] = Path(scratch).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", str(archive), str(folder / package)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topic", choices=("volcanoes", "replication"))
    parser.add_argument("source", type=Path, help="the archive, or the folder of packages")
    parser.add_argument("--pages", type=int, help="200 for volcanoes, 300 for replication")
    parser.add_argument("--strategy", default="", help="else the default one")
    options = parser.parse_args()
    if options.topic == "volcanoes":
        volcanoes(options.source, pages=options.pages or 200, strategy=options.strategy)
    else:
        replication(options.source, pages=options.pages or 300, strategy=options.strategy)


if __name__ == "__main__":
    main()
