"""Debian documentation packages as a world, each mounted at the site that it documents."""

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
from .mount import LinkRewriter, MountedPage, MountPoint, file_url, is_html_name, mount

SMALL_PACKAGES = [
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
DEFAULT_PACKAGES = (*SMALL_PACKAGES, "python3.11-doc")
MAX_LISTED = 50  # pages of a package in the directory
_DOWNLOAD_TIMEOUT = 900.0  # seconds
_GENERATED_PAGE = re.compile(
    r"(?:^|/)(?:(?:gen|py-mod|mod|np-mod)index[^/]*|search|copyright|license)\.html?$|(?:^|/)_modules/"
)


class DocPackage(Struct, frozen=True):
    """A line of debian_sites.tsv: a package and the site on the Web that it documents."""

    name: str
    host: str
    prefix: str  # of the path, with no slash at its end
    root: str  # the folder of the package that holds the pages
    topic: str
    patterns: tuple[str, ...]  # regular expressions of host/path, or of file paths, that mean this site

    @property
    def base(self) -> str:
        return f"http://{self.host}{self.prefix}/"

    def mount_point(self) -> MountPoint:
        return MountPoint(self.base, f"/{self.root}/", tuple(re.compile(pattern) for pattern in self.patterns))


@cache
def known_packages() -> dict[str, DocPackage]:
    """The packages of debian_sites.tsv, by name."""
    lines = (files(__package__) / "debian_sites.tsv").read_text().splitlines()
    rows = [[*line.split("\t"), ""][:6] for line in lines if not line.startswith("#")]
    return {
        name: DocPackage(name, host, prefix, root, topic, tuple(patterns.split()))
        for name, host, prefix, root, topic, patterns in rows
    }


class DebianDocs(DocumentWorld):
    """Manuals of programs, packed by Debian: many hosts of real pages that link to each other, by topic and package.

    packages: names separated by commas, slashes or blanks; downloaded by apt-get (without root) unless in the cache.
    cache: the folder to which packages are downloaded and unpacked; the user's cache folder unless given.
    folder: packages that are unpacked already, each in a folder of its name or all in one; nothing is downloaded.

    A category lists the pages of a package with the most in-links from the package, its index page first, without
    generated indices. Generated pages stay in the world.
    """

    def __init__(self, *, packages: str = "", cache: str = "", folder: str = ""):
        chosen = _choose(packages)
        unpacked = Path(folder) if folder else _download_missing(chosen, Path(cache) if cache else _default_cache())
        roots = {package.name: _root(unpacked, package) for package in chosen}
        urls = {package.name: _urls(roots[package.name], package) for package in chosen}
        aliases: dict[Url, Url] = {}
        for package in chosen:
            aliases |= _aliases(roots[package.name], urls[package.name], package)
        rewriter = LinkRewriter(
            [url for names in urls.values() for url in names.values()],
            [site for package in chosen for site in _mount_points(unpacked, package)],
            aliases,
        )
        in_links: Counter[Url] = Counter()
        topics: dict[Url, str] = {}

        def pages_of_packages() -> Iterator[MountedPage]:
            for package in chosen:
                for page in mount(roots[package.name], urls[package.name], rewriter, folder=f"/{package.root}/"):
                    in_links.update(link for link in page.links if link.startswith(package.base))
                    topics.setdefault(page.url, f"{package.topic}/{package.name}")
                    yield page

        pages, links = store_pages(pages_of_packages())
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
            options={"packages": "/".join(package.name for package in chosen)},
        )


def _choose(packages: str) -> Sequence[DocPackage]:
    known, names = (
        known_packages(),
        re.split("[,/ ]+", packages.strip(",/ ")) if packages.strip(",/ ") else DEFAULT_PACKAGES,
    )
    for name in names:
        if name not in known:
            listed = ", ".join(known)
            raise UsageError(
                f"debian-docs does not know what {name!r} documents; packages are separated by slashes, "
                f"as in packages=git-doc/sqlite3-doc, and it knows {listed}"
            )
    return [known[name] for name in dict.fromkeys(names)]


def _root(folder: Path, package: DocPackage) -> Path:
    candidates = (folder / package.name / package.root, folder / package.root)
    found = next((candidate for candidate in candidates if candidate.is_dir()), None)
    if found is None:
        raise UsageError(
            f"{package.name} is not unpacked in {folder}: there is no {candidates[0]}; "
            f"run dpkg-deb -x {package.name}_VERSION.deb {folder / package.name}, or leave it out of packages="
        )
    return found


def _urls(root: Path, package: DocPackage) -> dict[str, Url]:
    found = ((name, file_url(package.base, name)) for name in list_files(root, is_html_name))
    return {name: url for name, url in found if url is not None}


def _aliases(root: Path, urls: dict[str, Url], package: DocPackage) -> dict[Url, Url]:
    """Other URLs of pages, by the symbolic links of the package."""
    links = read_symlinks(root, refuse_outside=False)
    found = ((file_url(package.base, name), urls[target]) for name, target in links.items() if target in urls)
    return {alias: url for alias, url in found if alias is not None}


def _mount_points(folder: Path, package: DocPackage) -> list[MountPoint]:
    """The mount point of a package, and another one for each symbolic link to its root."""
    own = folder / package.name
    links = read_symlinks(own, refuse_outside=False) if own.is_dir() else {}
    return [
        package.mount_point(),
        *(MountPoint(package.base, f"/{name}/") for name, target in links.items() if target == package.root),
    ]


def _main_pages(urls: Sequence[Url], in_links: Counter[Url], aliases: Mapping[Url, Url]) -> list[Url]:
    """The topmost index page, then the pages with the most in-links from the package."""
    authored = [url for url in urls if not _GENERATED_PAGE.search(url)]
    names = {url: url for url in authored} | {alias: url for alias, url in aliases.items() if url in authored}
    home = names.get(min((name for name in names if PurePosixPath(name).stem == "index"), key=len, default=Url("")))
    return sorted(authored, key=lambda url: (url != home, -in_links[url], url))[:MAX_LISTED]


def _default_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "lycosa", "debian-docs")


def _download_missing(chosen: Sequence[DocPackage], cache: Path) -> Path:
    """The cache, after the missing packages were downloaded and unpacked."""
    missing = [package.name for package in chosen if not (cache / package.name).is_dir()]
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
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=_DOWNLOAD_TIMEOUT)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines() or ["it said nothing"]
        raise UsageError(
            f"{command[0]} {command[1]} failed ({lines[0]}); run apt-get update, or leave the package out"
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"{command[0]} took more than {_DOWNLOAD_TIMEOUT / 60:.0f} minutes; try again later") from None
