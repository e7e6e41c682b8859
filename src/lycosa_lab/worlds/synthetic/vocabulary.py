"""The words of a synthetic world: English ones that any text may have, and for eight topics; otherwise random ones.

Topics form two levels: a few top-level topics (tops), and below each of them the topics of pages (leaves), named
"top/leaf". One table contains every word three times: in lower case, with a full stop, and with a capital letter. A
word that several topics share occurs in it for each of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product

import numpy as np
from numpy.typing import NDArray

from lycosa.reading.stop_words import STOP_WORDS

from .counter_rng import Floats, Ints, stream_key, uniforms


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _distinct_words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.split()))


_TOPICS = {
    "beekeeping": """
        bee hive honey queen swarm nectar pollen wax comb drone brood keeper smoker apiary mead worker colony
        frame propolis forage clover heather varroa mite super extractor veil sting larva pupa hatch requeen
        split skep langstroth foundation supersedure nurse guard cluster winter syrup feeder candle blossom
        orchard meadow linden acacia lavender thyme pollinate buzz antenna mandible royal jelly cappings
        uncapping knife strainer jar label harvest entrance reducer excluder hornet wasp moth foulbrood nosema
        inspection temper nuc package swarming
    """,
    "sailing": """
        sail mast rudder anchor harbour keel deck crew tide rope captain voyage hull compass boom jib
        spinnaker genoa halyard sheet cleat winch tack jibe leeward windward helm tiller bow stern port
        starboard mooring buoy marina dinghy yacht catamaran sloop ketch schooner regatta knot chart current
        swell reef squall gale lighthouse ballast bilge galley cabin berth fender shroud stay spreader batten
        luff leech foot channel shoal estuary ferry passage crossing navigation sextant star latitude horizon
        skipper race course wind wave canvas varnish
    """,
    "astronomy": """
        star planet galaxy telescope orbit comet nebula moon eclipse meteor asteroid constellation supernova
        quasar pulsar spectrum redshift lens mirror aperture eyepiece observatory dome night sky magnitude
        luminosity parallax cluster dwarf giant corona sunspot crater ring satellite rocket probe lander rover
        solstice equinox zenith horizon ecliptic latitude occultation transit exoplanet cosmic radiation dust
        gas gravity mass light year dark matter hydrogen helium fusion collapse filter tracking mount polar
        alignment exposure shadow phase tide
    """,
    "pottery": """
        clay kiln glaze wheel bowl vase pot firing bisque slip stoneware earthenware porcelain ceramic potter
        throw trim handle spout lid rim foot wedge coil slab mould cone temperature ash oxide cobalt copper
        iron feldspar silica kaolin grog sgraffito engobe majolica raku salt crackle celadon tenmoku shino
        brush sponge rib wire needle bat shelf prop crack warp shrink dry leather bone burnish studio workshop
        plate cup teapot jug tile mosaic sculpture figurine terracotta pigment melt flux viscosity crystal
        heat furnace smoke reduction
    """,
    "cycling": """
        bicycle wheel pedal chain gear saddle handlebar brake tyre tube rim spoke hub frame fork derailleur
        cassette crank bearing helmet jersey cadence climb descent sprint peloton stage race course time trial
        velodrome breakaway domestique mountain pass gravel road path lane commute pannier rack lamp bell lock
        puncture pump patch lever cable grease wrench stand bottle cage tour touring randonneur tandem
        recumbent courier wind draft slope switchback summit valley watt training interval recovery carbon
        steel titanium aluminium fixed mudguard rider
    """,
    "cheese": """
        milk curd whey rennet cheese rind cheddar brie gouda parmesan feta ricotta mozzarella gruyere
        roquefort stilton camembert goat sheep cow dairy churn butter cream culture bacteria mould ripening
        cave cellar brine salt press cloth wheel wedge slice grate melt fondue raclette creamery cheesemonger
        affineur pasteurise raw vat ladle cut stir drain wash bloom blue veined soft hard crumbly nutty tangy
        pungent aroma taste board cracker wine grape fig honey pasture hay herd lactose protein fat acid
        temperature humidity turning wax shelf
    """,
    "chess": """
        king queen rook bishop knight pawn board square check mate stalemate opening gambit defence endgame
        castle castling file rank diagonal pin fork skewer sacrifice exchange tempo initiative combination
        variation line theory grandmaster master tournament round clock blitz bullet rapid rating title match
        champion challenger draw resign blunder zugzwang promotion passant centre flank attack counterplay
        prophylaxis outpost pair majority isolated backward passed chain structure sicilian french dutch
        italian spanish indian slav puzzle study engine table
    """,
    "volcanoes": """
        lava magma eruption crater volcano ash cone vent caldera plume pumice basalt andesite rhyolite
        obsidian tephra lahar fumarole geyser sulphur gas steam mantle crust plate subduction rift hotspot
        seamount island chain seismic tremor earthquake fault tsunami summit slope dome flow shield
        stratovolcano fissure dyke sill pluton granite silica viscosity temperature melt crystal glass bomb
        cinder scoria geologist observatory monitor alert evacuation hazard valley glacier hot spring mineral
        heat pressure chamber collapse cloud column
    """,
}
_COMMON = """
    people time year day work place house water town river field garden hand week month season summer autumn
    spring story book friend family child neighbour teacher group member club visit journey question answer
    idea reason kind part side corner table window door wall floor street market shop price cost money weather
    rain sun morning evening hour picture photograph map list note letter page guide lesson course habit
    practice skill tool box bag bottle paper wood stone metal glass colour shape size weight length surface
    edge centre top bottom middle beginning end change result problem mistake success trouble advice rule
    measure number pair piece amount level quality variety history tradition village country region coast hill
    forest meadow road path bridge north south east west museum library school office report research study
    expert science method test sample detail example difference choice plan project event meeting festival
    prize winner visitor newcomer beginner owner maker writer reader voice sound smell touch warmth cold light
    shadow air ground soil plant leaf root seed fruit animal bird insect horse dog cat fish body eye ear foot
    heart
"""

TOPICS = {topic: _distinct_words(text) for topic, text in _TOPICS.items()}
COMMON = _distinct_words(_COMMON)

FUNCTION_WORDS = _words(
    """the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which
    one you were all her she there would their we him been has when who will no more if out so up said what its about"""
)
SECTION_NAMES = _words("news guides stories people places tools history letters gallery lessons archive notes reviews")
FOLDERS = _words("old new winter summer spring autumn north south first second third misc")
GENERIC_ANCHORS = ("read more", "here", "this page", "see also", "details", "a note", "continue", "full story")
_ONSETS = _words("b d f g h k l m n p r s t v w z")
_VOWELS = _words("a e i o u")
_ENDS = ("", *_words("n r l s m t k nd rk"))

BACKGROUND, RARE, PER_TOP, PER_LEAF = 6000, 20_000, 300, 320  # numbers of words: of any text, rare, per top and leaf
POOL = 300  # words shared by topics of any top
OWN_SHARE, TOP_SHARE = 0.2, 0.35  # of the words of a leaf: its own, and those of its top; the others are of the pool
NUMBERS = 1200


_ENGLISH_WORDS = STOP_WORDS.union(COMMON, TOPICS, *TOPICS.values())


def random_words(seed: int) -> Iterator[str]:
    """Pronounceable random words, each once, and none of the English words of this file."""
    syllables = ["".join(parts) for parts in product(_ONSETS, _VOWELS)]
    short = len(syllables) ** 2 * len(_ENDS)
    shift = stream_key(seed, "words") % short
    for number in range(short * len(syllables)):
        longer, index = divmod(number, short)
        index = (index * 19_777 + shift) % short  # a permutation, so that consecutive words do not look alike
        rest, end = divmod(index, len(_ENDS))
        first, second = divmod(rest, len(syllables))
        middle = syllables[longer - 1] if longer else ""
        word = syllables[first] + middle + syllables[second] + _ENDS[end]
        if word not in _ENGLISH_WORDS:
            yield word


@dataclass(frozen=True)
class Vocabulary:
    """The table of words, and the indices at which its kinds of words begin (`numbers`, `background`, `rare`, `tops`,
    `leaves`)."""

    table: NDArray[np.object_]  # all words in lower case, then all with a full stop, then all with a capital letter
    size: int  # number of words
    numbers: int
    background: int
    rare: int
    tops: NDArray[np.int64]  # of the words of each top
    leaves: NDArray[np.int64]  # of the words of each leaf
    names: tuple[str, ...]  # of the leaf topics, "top/leaf"
    top_of_leaf: NDArray[np.int64]

    def words(self, ids: NDArray[np.int64]) -> list[str]:
        """The words at the given indices of the table."""
        found: list[str] = self.table[ids].tolist()
        return found

    def related(self, topics: Ints, u: Floats) -> Ints:
        """For each topic a random one of the same top; `u` are uniform random numbers."""
        first_leaves = np.searchsorted(self.top_of_leaf, np.arange(len(self.tops) + 1))
        top = self.top_of_leaf[topics]
        related: Ints = first_leaves[top] + (u * (first_leaves[top + 1] - first_leaves[top])).astype(np.int64)
        return related


def make_vocabulary(seed: int, topic_count: int) -> tuple[Vocabulary, Iterator[str]]:
    """The vocabulary of a world, and further random words, which occur in no text, for host names."""
    unused = random_words(seed)
    count_of_tops = max(1, round(topic_count**0.5))
    top_of_leaf = np.sort((uniforms(stream_key(seed, "tops"), topic_count) * count_of_tops).astype(np.int64))
    top_of_leaf[:count_of_tops] = np.arange(count_of_tops)[:topic_count]  # no top is without leaves
    top_of_leaf.sort()
    background = len(FUNCTION_WORDS) + NUMBERS
    rare = background + BACKGROUND
    tops = rare + RARE + PER_TOP * np.arange(count_of_tops)
    leaves = rare + RARE + PER_TOP * count_of_tops + PER_LEAF * np.arange(topic_count)
    others = BACKGROUND - len(COMMON) + RARE + count_of_tops * PER_TOP
    plain = [*FUNCTION_WORDS, *_number_words(seed), *COMMON, *islice(unused, others)]
    pool = list(islice(unused, POOL))
    known = [(name, *words) for name, words in TOPICS.items()]
    for leaf, top in enumerate(top_of_leaf.tolist()):
        of_top = plain[tops[top] : tops[top] + PER_TOP]
        own = chain(known[leaf] if leaf < len(known) else (), unused)
        plain += _leaf_words(stream_key(seed, "leaf words", leaf), own, of_top, pool)
    names = tuple(
        f"{plain[tops[top]]}/{plain[leaf]}" for top, leaf in zip(top_of_leaf.tolist(), leaves.tolist(), strict=True)
    )
    table = np.array([*plain, *(word + "." for word in plain), *(word.capitalize() for word in plain)], dtype=object)
    found = Vocabulary(table, len(plain), len(FUNCTION_WORDS), background, rare, tops, leaves, names, top_of_leaf)
    return found, unused


def _leaf_words(rng_key: int, own_words: Iterator[str], of_top: Sequence[str], pool: Sequence[str]) -> list[str]:
    """The words of a leaf topic: its own, the first of which names it, mixed at random with words of its top and of
    the pool."""
    kinds, picks = uniforms(rng_key, 2 * PER_LEAF).reshape(2, PER_LEAF).tolist()
    kinds[0] = 0.0
    words = []
    for kind, pick in zip(kinds, picks, strict=True):
        if kind < OWN_SHARE:
            words.append(next(own_words))
        else:
            shared = of_top if kind < OWN_SHARE + TOP_SHARE else pool
            words.append(shared[int(pick * len(shared))])
    return words


def _number_words(seed: int) -> list[str]:
    """Numbers of two to four digits, log-uniform."""
    sizes = 10.0 ** (1.0 + 3.0 * uniforms(stream_key(seed, "numbers"), NUMBERS))
    return [str(int(size)) for size in sizes]
