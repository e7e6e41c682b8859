"""People who listen to music, as peers: the data set hetrec2011-lastfm-2k."""

import datetime
from pathlib import Path

import numpy as np

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import DamagedTextError, LineTooLongError, numbered_lines, unpacked

from .file_sharing import WEEK
from .peer_networks import (
    Generator,
    Ints,
    PeerNetwork,
    RaggedArray,
    Sharing,
    Trace,
    group_distinct,
    undirected,
    with_min_degree,
)

LISTENS, FRIENDS, TAGS = "user_artists", "user_friends", "user_taggedartists"
INTERESTS = 10  # tags of a person, those they use most


class Lastfm(PeerNetwork):
    """People who share what they listen to: artists are items, friendships the overlay, tags are interests.

    A person has the artists listened to most. They asked for the others that they tagged, when they first did, in the
    order of these dates, which are spread over a week. Who gave it is not known: it is drawn evenly from those who have
    it, so that nothing of interests is put in.

    Cantador, Brusilovsky, Kuflik: HetRec 2011.

    path: the folder with user_artists.dat, user_friends.dat and user_taggedartists.dat, plain or gzipped, whatever
        stands before these names.
    """

    name = "lastfm"
    knows_providers = False

    def __init__(self, *, path: str = "", neighbours: int = 4, seed: int = 1):
        if not path:
            raise UsageError("this world needs its data: say lastfm:path=FOLDER, with lastfm-user_artists.dat.gz in it")
        chance = np.random.default_rng([seed, 9])
        listens, friends, tags = (_numbers_in(_file(Path(path), name), width) for name, width in _WIDTHS.items())
        people = np.unique(np.concatenate([listens[:, 0], tags[:, 0], friends.ravel()]))
        artists = np.unique(np.concatenate([listens[:, 1], tags[:, 1]]))
        listener, tagger = (people.searchsorted(rows[:, 0]) for rows in (listens, tags))
        heard, tagged = (artists.searchsorted(rows[:, 1]) for rows in (listens, tags))
        size, items = len(people), len(artists)
        libraries = group_distinct(listener, heard, size, items)
        used, category = np.unique(tags[:, 2], return_inverse=True)
        interests = _most_used(tagger, category, size, len(used))
        trace = _asked(tagger, tagged, _days(tags), libraries, items, chance)
        graph = undirected(people.searchsorted(friends[:, 0]), people.searchsorted(friends[:, 1]), size)
        sharing = Sharing(libraries, interests, len(used), items, trace)
        options = {"neighbours": neighbours, "seed": seed}
        super().__init__(with_min_degree(graph, least=neighbours, chance=chance), sharing, options=options)


_LONGEST_LINE = 10_000  # bytes
_WIDTHS = {LISTENS: 3, FRIENDS: 2, TAGS: 6}


def _file(folder: Path, name: str) -> Path:
    found = sorted([*folder.glob(f"*{name}.dat"), *folder.glob(f"*{name}.dat.gz")]) if folder.is_dir() else []
    if not found:
        raise UsageError(f"there is no file {name}.dat or {name}.dat.gz in {folder}; say lastfm:path=FOLDER")
    return found[0]


def _numbers_in(path: Path, width: int) -> Ints:
    """The rows of whole numbers below the heading."""
    rows = []
    try:
        with path.open("rb") as file:
            for number, line in numbered_lines(unpacked(file), longest_line=_LONGEST_LINE):
                words = line.split() if number > 1 else []
                if words:
                    if len(words) != width or not all(word.isdigit() and len(word) < 10 for word in words):
                        raise UsageError(f"{path}:{number}: not {width} whole numbers; fetch the file again")
                    rows.append([int(word) for word in words])
    except (OSError, DamagedTextError, LineTooLongError) as error:
        raise UsageError(f"{path} cannot be read ({error}); fetch it again") from None
    if not rows:
        raise UsageError(f"{path}:1: nothing in it; fetch the file again")
    return np.array(rows, np.int64)


def _days(tags: Ints) -> Ints:
    """The day of each row, counted from the year 1; a 31st of a month of 30 days is the 1st of the next."""
    day, month, year = (tags[:, column].tolist() for column in (3, 4, 5))
    return np.array(
        [
            datetime.date(min(max(y, 1), 9_999), min(max(m, 1), 12), 1).toordinal() + d - 1
            for d, m, y in zip(day, month, year, strict=True)
        ],
        np.int64,
    )


def _most_used(people: Ints, tags: Ints, size: int, width: int) -> RaggedArray:
    keys, counts = np.unique(people * width + tags, return_counts=True)
    order = np.lexsort((keys, -counts, keys // width))
    keys = keys[order]
    person = keys // width
    begins = np.searchsorted(person, person)  # where the rows of the same person begin
    are_kept = np.arange(len(keys)) - begins < INTERESTS
    return group_distinct(person[are_kept], keys[are_kept] % width, size, width)


def _asked(people: Ints, artists: Ints, days: Ints, libraries: RaggedArray, items: int, chance: Generator) -> Trace:
    owned = np.repeat(np.arange(len(libraries)), libraries.lengths()) * items + libraries.values
    order = np.argsort(days, kind="stable")
    keys = (people * items + artists)[order]
    _, firsts = np.unique(keys, return_index=True)
    rows = order[np.sort(firsts)]
    who, what = people[rows], artists[rows]
    holders = libraries.turned(items)
    can_ask = (holders.lengths()[what] > 0) & ~np.isin(who * items + what, owned)
    who, what = who[can_ask], what[can_ask]
    places = holders.offsets[what] + (chance.random(len(what)) * holders.lengths()[what]).astype(np.int64)
    times = np.linspace(0.0, WEEK, len(who), endpoint=False, dtype=np.float64)
    return Trace(who, what, holders.values[places].astype(np.int64), times)
