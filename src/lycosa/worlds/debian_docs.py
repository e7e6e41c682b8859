"""The documentation that Debian packs, each package put back on the site that it documents."""

import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path, PurePosixPath

from msgspec import Struct

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.records import Url

from .archives import list_files, read_symlinks
from .documents import DocumentWorld, describe_category, store_pages
from .mount import LinkRewriter, MountedPage, Site, file_url, is_html_name, mounted

SMALL = [
    "cython-doc",
    "m4-doc",
    "nethack-spoilers",
    "phylip-doc",
    "postgresql-doc-15",
    "python-aiohttp-doc",
    "python-babel-doc",
    "python-click-doc",
    "python-coverage-doc",
    "python-cryptography-doc",
    "python-flask-doc",
    "python-gevent-doc",
    "python-h5py-doc",
    "python-jinja2-doc",
    "python-nacl-doc",
    "python-psycopg2-doc",
    "python-pydicom-doc",
    "python-pytest-doc",
    "python-requests-doc",
    "python-setuptools-doc",
    "python-skbio-doc",
    "python-tornado-doc",
    "python-werkzeug-doc",
    "sphinx-doc",
]
DEFAULT = (*SMALL, "python3.11-doc")
MOST_LISTED = 50  # pages of a package in the directory
_DOWNLOAD_WITHIN = 900.0  # seconds
_MADE_BY_MACHINE = re.compile(
    r"(?:^|/)(?:(?:gen|py-mod|mod|np-mod)index[^/]*|search|copyright|license)\.html?$|(?:^|/)_modules/"
)


class Documented(Struct, frozen=True):
    """A line of debian_sites.tsv: what a package documents, and where that is found on the Web."""

    package: str
    host: str
    prefix: str  # of the path, with no slash at its end
    root: str  # the folder of the package that holds the pages
    topic: str
    patterns: tuple[str, ...]  # regular expressions on host/path, or on paths of files, that mean this site

    @property
    def base(self) -> str:
        return f"http://{self.host}{self.prefix}/"

    def site(self) -> Site:
        return Site(self.base, f"/{self.root}/", tuple(re.compile(pattern) for pattern in self.patterns))


@cache
def documented() -> dict[str, Documented]:
    """The packages that are known, by name."""
    lines = (files(__package__) / "debian_sites.tsv").read_text().splitlines()
    rows = [[*line.split("\t"), ""][:6] for line in lines if not line.startswith("#")]
    return {
        package: Documented(package, host, prefix, root, topic, tuple(patterns.split()))
        for package, host, prefix, root, topic, patterns in rows
    }


class DebianDocs(DocumentWorld):
    """Manuals of programs, packed by Debian: many hosts of real pages that link to each other, by topic and package.

    packages: names separated by slashes or blanks; downloaded by apt-get (which need not be root) unless in the cache.
    cache: the folder to which packages are downloaded and unpacked; the user's own cache if not given.
    folder: packages unpacked already, each in a folder of its name or all in one; nothing is downloaded then.

    A category lists the pages of a package that its other pages link to most, its index page first, but no page that a
    program made to list others. Generated pages and the footers of all pages stay in the web as they are.
    """

    def __init__(self, *, packages: str = "", cache: str = "", folder: str = ""):
        chosen = _chosen(packages)
        unpacked = Path(folder) if folder else _cached(chosen, Path(cache) if cache else _usual_cache())
        roots = {one.package: _root(unpacked, one) for one in chosen}
        urls = {one.package: _urls(roots[one.package], one) for one in chosen}
        aliases: dict[Url, Url] = {}
        for one in chosen:
            aliases |= _aliases(roots[one.package], urls[one.package], one)
        signposts = LinkRewriter(
            [url for names in urls.values() for url in names.values()],
            [site for one in chosen for site in _sites(unpacked, one)],
            aliases,
        )
        in_links: Counter[Url] = Counter()
        topics: dict[Url, str] = {}

        def mounting() -> Iterator[MountedPage]:
            for one in chosen:
                for page in mounted(roots[one.package], urls[one.package], signposts, place=f"/{one.root}/"):
                    in_links.update(link for link in page.links if link.startswith(one.base))
                    topics.setdefault(page.url, f"{one.topic}/{one.package}")
                    yield page

        pages, links = store_pages(mounting())
        leaves: dict[str, list[Url]] = {}
        for url, leaf in topics.items():
            leaves.setdefault(leaf, []).append(url)
        super().__init__(
            pages,
            links,
            name="debian-docs",
            directory=[
                describe_category(leaf, _main_pages(listed, in_links, aliases), pages)
                for leaf, listed in sorted(leaves.items())
            ],
            topics=topics,
            options={"packages": "/".join(one.package for one in chosen)},
        )


def _chosen(packages: str) -> Sequence[Documented]:
    known, names = documented(), packages.replace("/", " ").split() or DEFAULT
    for name in names:
        if name not in known:
            raise UsageError(f"debian-docs does not know what {name!r} documents; it knows {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)]


def _root(folder: Path, one: Documented) -> Path:
    places = (folder / one.package / one.root, folder / one.root)
    found = next((place for place in places if place.is_dir()), None)
    if found is None:
        raise UsageError(
            f"{one.package} is not unpacked in {folder}: there is no {places[0]}; "
            f"run dpkg-deb -x {one.package}_VERSION.deb {folder / one.package}, or leave it out of packages="
        )
    return found


def _urls(root: Path, one: Documented) -> dict[str, Url]:
    found = ((name, file_url(one.base, name)) for name in list_files(root, is_html_name))
    return {name: url for name, url in found if url is not None}


def _aliases(root: Path, urls: dict[str, Url], one: Documented) -> dict[Url, Url]:
    """Pages that a link within the package gives another name."""
    links = read_symlinks(root, refuse_outside=False)
    found = ((file_url(one.base, name), urls[target]) for name, target in links.items() if target in urls)
    return {alias: url for alias, url in found if alias is not None}


def _sites(folder: Path, one: Documented) -> list[Site]:
    """The site of a package, and the same for each link that gives its root another place."""
    own = folder / one.package
    links = read_symlinks(own, refuse_outside=False) if own.is_dir() else {}
    return [one.site(), *(Site(one.base, f"/{name}/") for name, target in links.items() if target == one.root)]


def _main_pages(urls: Sequence[Url], in_links: Counter[Url], aliases: Mapping[Url, Url]) -> list[Url]:
    """The pages that the others of the package link to most, its topmost index page before them."""
    written = [url for url in urls if not _MADE_BY_MACHINE.search(url)]
    names = {url: url for url in written} | {alias: url for alias, url in aliases.items() if url in written}
    home = names.get(min((name for name in names if PurePosixPath(name).stem == "index"), key=len, default=Url("")))
    return sorted(written, key=lambda url: (url != home, -in_links[url], url))[:MOST_LISTED]


def _usual_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "lycosa", "debian-docs")


def _cached(chosen: Sequence[Documented], cache: Path) -> Path:
    """The cache, after what it lacks was downloaded and unpacked."""
    missing = [one.package for one in chosen if not (cache / one.package).is_dir()]
    if not missing:
        return cache
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise UsageError(
                f"{program} is not on this machine, and {cache} lacks {', '.join(missing)}; "
                "unpack the packages where there is one, and say debian-docs:folder=FOLDER"
            )
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="download-") as scratch:
        _run(["apt-get", "download", "--quiet", *missing], Path(scratch))
        for package in missing:
            archive = next(Path(scratch).glob(f"{package}_*.deb"), None)
            if archive is None:
                raise UsageError(f"apt-get downloaded no {package}; leave it out of packages=")
            fresh = Path(scratch, package)
            _run(["dpkg-deb", "-x", archive.name, fresh.name], Path(scratch))
            fresh.rename(cache / package)
    return cache


def _run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_DOWNLOAD_WITHIN)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        raise UsageError(
            f"{command[0]} {command[1]} failed ({said[0]}); run apt-get update, or leave the package out"
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{command[0]} took more than {_DOWNLOAD_WITHIN / 60:.0f} minutes; try again later") from None
