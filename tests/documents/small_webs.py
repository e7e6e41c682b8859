"""Small webs of documents on disk: what the real archives look like, in a few files each."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

HOME = "<html><head><title>Home</title></head><body><p>A home with a door and many windows in it. {}</p></body></html>"


def page(title: str, text: str = "", *hrefs: str) -> str:
    anchors = "".join(f'<a href="{href}">{href}</a> ' for href in hrefs)
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text}</p>{anchors}</body></html>"


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def tar_of(path: Path, files: Mapping[str, str | bytes], *members: tarfile.TarInfo) -> Path:
    """A tar, compressed as its name says, of some files and then of members that are no files."""
    with tarfile.open(path, f"w:{path.suffix[1:]}" if path.suffix != ".tar" else "w") as tar:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
        for member in members:
            tar.addfile(member)
    return path


BEES = "Bees are insects that fly from flower to flower and make honey of it. They live in hives."
SHIPS = "Ships are large vessels that cross the seas with people and goods on board. They float."

GARDEN: dict[str, str | bytes] = {
    "index.html": page(
        "Garden", "A garden with many flowers, trees and a pond for the frogs.", "bees/", "ships/tall.html"
    ),
    "bees/index.html": page("Bees", BEES, "../index.html", "Drones.html"),
    "bees/drones.html": page("Drones", BEES, "/index.html"),
    "ships/tall.html": page("Tall ships", SHIPS, "../bees/", "http://elsewhere.example/"),
    "notes.txt": "not a page",
}

_SUBJECTS = "wpcd/wp/index/subject"
SCHOOLS: dict[str, str | bytes] = {
    "wpcd/index.htm": page("Schools", "", "wp/index/subject.htm"),
    f"{_SUBJECTS}.htm": page("Subjects", "", "subject.Maths.htm", "subject.Life.htm"),
    f"{_SUBJECTS}.Maths.htm": page("Maths", "", "subject.htm", "../../wp/a/Algebra.htm"),
    f"{_SUBJECTS}.Life.htm": page("Life", "", "subject.htm", "subject.Life.Bees.htm", "subject.Life.Ships.htm"),
    f"{_SUBJECTS}.Life.Bees.htm": page("Bees", "", "../../wp/b/Bee_%2528insect%2529.htm", "../../wp/a/Algebra.htm"),
    f"{_SUBJECTS}.Life.Ships.htm": page("Ships", "", "../../wp/s/Ship.htm", "../../images/1.jpg.htm"),
    "wpcd/wp/a/Algebra.htm": page(
        "Algebra", "Algebra is a branch of mathematics that bees do not know.", "../../index.htm"
    ),
    "wpcd/wp/b/Bee_%28insect%29.htm": page("Bee", BEES, "../../wp/s/Ship.htm", "../index/subject.Life.Bees.htm"),
    "wpcd/wp/s/Ship.htm": page("Ship", SHIPS, "../../wp/b/Bee_%2528insect%2529.htm"),
}

_HEADERS = "Date: Fri, 13 Dec 1996 14:49:44 GMT\nServer: NCSA/1.5\nContent-type: text/html\n\n"
UNIVERSITIES: dict[str, str | bytes] = {
    "webkb/student/cornell/http:^^www.cs.cornell.edu^~ann^": _HEADERS
    + page("Ann", BEES, "http://www.cs.cornell.edu/bob.html"),
    "webkb/faculty/cornell/http:^^www.cs.cornell.edu^bob.html": _HEADERS + page("Bob", SHIPS, "~ann/index.html"),
    "webkb/faculty/misc/http:^^www.cs.cornell.edu^bob.html": _HEADERS + page("Bob again", SHIPS),
    "webkb/project/misc/ftp:^^ftp.cs.wisc.edu^pub^home.html": page(
        "Project: by FTP", BEES, "http://www.cs.cornell.edu/bob.html"
    ),
}

_JINJA, _PYTHON = (
    "python-jinja2-doc/usr/share/doc/python-jinja2-doc/html",
    "python3.11-doc/usr/share/doc/python3.11/html",
)
MANUALS: dict[str, str | bytes] = {
    f"{_JINJA}/index.html": page(
        "Jinja", BEES, "api.html", "genindex.html", "https://docs.python.org/2/library/os.html"
    ),
    f"{_JINJA}/api.html": page("API", SHIPS, "index.html", "/usr/share/doc/python3-doc/html/library/os.html#os.path"),
    f"{_JINJA}/genindex.html": page("Index", "", "api.html", "index.html"),
    f"{_PYTHON}/index.html": page("Python", BEES, "library/os.html", "http://jinja.pocoo.org/docs/api/"),
    f"{_PYTHON}/library/os.html": page("os", "Säle und Gänge".replace("ä", "&auml;"), "../index.html", "news.html.gz"),
    f"{_PYTHON}/library/latin.html": page("Latin", "Stra\xdfe und caf\xe9 und noch mehr W\xf6rter daneben.").encode(
        "latin-1"
    ),
}
