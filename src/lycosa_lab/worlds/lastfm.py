"""The data set hetrec2011-lastfm-2k as a network of peers: people who share the music they listen to."""

import datetime
from pathlib import Path

import numpy as np

from lycosa.vocabulary.errors import UsageError
from lycosa.vocabulary.files import DamagedTextError, LineTooLongError, decompressed, numbered_lines

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
_COLUMNS = {LISTENS: 3, FRIENDS: 2, TAGS: 6}  # number of columns of each file
_MAX_LINE = 10_000  # bytes
INTERESTS = 10  # of a person: the tags they use most


class Lastfm(PeerNetwork):
    """People who share what they listen to: artists are items, friendships the overlay, tags are interests.

    The library of a person is the artists they listened to most. They are taken to have downloaded the other artists
    they tagged, in order of the date of the first tag, spread over a week. The provider is not recorded: it is drawn
    uniformly from those who have the artist, so that the data favour no provider of similar interests.

    Cantador, Brusilovsky, Kuflik: HetRec 2011.

    path: the folder with user_artists.dat, user_friends.dat and user_taggedartists.dat, plain or gzipped; the names may
        have a prefix.
    neighbours: the least number of neighbours of a person; where friends are fewer, links are added.
    """

    name = "lastfm"
    knows_providers = False

    def __init__(self, *, path: str = "", neighbours: int = 4, seed: int = 1):
        if not path:
            raise UsageError(
                "this world needs its data: give lastfm:path=FOLDER, a folder with lastfm-user_artists.dat.gz in it"
            )
        rng = np.random.default_rng([seed, 9])
        listens, friends, tags = (_read_numbers(_file(Path(path), name), width) for name, width in _COLUMNS.items())
        people = np.unique(np.concatenate([listens[:, 0], tags[:, 0], friends.ravel()]))
        artists = np.unique(np.concatenate([listens[:, 1], tags[:, 1]]))
        listener, tagger = (people.searchsorted(rows[:, 0]) for rows in (listens, tags))
        heard, tagged = (artists.searchsorted(rows[:, 1]) for rows in (listens, tags))
        size, item_count = len(people), len(artists)
        libraries = group_distinct(listener, heard, size, item_count)
        tag_ids, category = np.unique(tags[:, 2], return_inverse=True)
        interests = _most_used_tags(tagger, category, size, len(tag_ids))
        trace = _downloads(tagger, tagged, _days(tags), libraries, item_count, rng)
        graph = undirected(people.searchsorted(friends[:, 0]), people.searchsorted(friends[:, 1]), size)
        sharing = Sharing(libraries, interests, len(tag_ids), item_count, trace)
        options = {"neighbours": neighbours, "seed": seed}
        super().__init__(with_min_degree(graph, min_degree=neighbours, rng=rng), sharing, options=options)


def _file(folder: Path, name: str) -> Path:
    found = sorted([*folder.glob(f"*{name}.dat"), *folder.glob(f"*{name}.dat.gz")]) if folder.is_dir() else []
    if not found:
        raise UsageError(f"there is no file {name}.dat or {name}.dat.gz in {folder}; say lastfm:path=FOLDER")
    return found[0]


def _read_numbers(path: Path, width: int) -> Ints:
    """The rows of `width` whole numbers below the header line."""
    rows = []
    try:
        with path.open("rb") as file:
            for number, line in numbered_lines(decompressed(file), longest_line=_MAX_LINE):
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
    """The day of each row, from the year 1 on; the 31st of a month of 30 days counts as the 1st of the next."""
    day, month, year = (tags[:, column].tolist() for column in (3, 4, 5))
    return np.array(
        [
            datetime.date(min(max(y, 1), 9_999), min(max(m, 1), 12), 1).toordinal() + d - 1
            for d, m, y in zip(day, month, year, strict=True)
        ],
        np.int64,
    )


def _most_used_tags(people: Ints, tags: Ints, person_count: int, tag_count: int) -> RaggedArray:
    """The INTERESTS tags that each person used most often, by the person and the tag of each use."""
    keys, counts = np.unique(people * tag_count + tags, return_counts=True)
    order = np.lexsort((keys, -counts, keys // tag_count))
    keys = keys[order]
    person = keys // tag_count
    begins = np.searchsorted(person, person)  # the first row of the same person
    is_kept = np.arange(len(keys)) - begins < INTERESTS
    return group_distinct(person[is_kept], keys[is_kept] % tag_count, person_count, tag_count)


def _downloads(
    people: Ints, artists: Ints, days: Ints, libraries: RaggedArray, item_count: int, rng: Generator
) -> Trace:
    """The downloads that tags stand for, by person, artist and day of each tag: the first of a person for an artist who
    is in the library of others and not in their own."""
    owned = np.repeat(np.arange(len(libraries)), libraries.lengths()) * item_count + libraries.values
    order = np.argsort(days, kind="stable")
    keys = (people * item_count + artists)[order]
    _, first_rows = np.unique(keys, return_index=True)
    rows = order[np.sort(first_rows)]
    consumers, downloaded = people[rows], artists[rows]
    holders = libraries.transposed(item_count)
    is_download = (holders.lengths()[downloaded] > 0) & ~np.isin(consumers * item_count + downloaded, owned)
    consumers, downloaded = consumers[is_download], downloaded[is_download]
    indices = holders.offsets[downloaded] + (rng.random(len(downloaded)) * holders.lengths()[downloaded]).astype(
        np.int64
    )
    times = np.linspace(0.0, WEEK, len(consumers), endpoint=False, dtype=np.float64)
    return Trace(consumers, downloaded, holders.values[indices].astype(np.int64), times)
