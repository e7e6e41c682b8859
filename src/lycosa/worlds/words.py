"""What the made-up web talks about, and in which words."""

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


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text.split()))


TOPICS = {topic: _words(text) for topic, text in _TOPICS.items()}
COMMON = _words(_COMMON)
PLACES = _words(
    """garden house corner notes journal club guild society library workshop diary almanac circle forum review post
    letters archive academy collective"""
)
SECTIONS = _words("news guides stories people places tools history questions gallery seasons letters lessons")
LEADS = ("See", "Compare", "Read", "More in", "Also", "Then there is", "Elsewhere:")
TITLES = ("{} and {}", "The {} of the {}", "{} for {}", "On {} and {}", "A {} without {}", "{}, then {}")
GENERIC_ANCHORS = ("read more", "see here", "this page", "another view", "more on this", "continue", "a related note")

# At most three fixed words stand between two gaps, so that independent pages share next to no run of four words.
_SENTENCES = """
    The {} and the {} belong to every {}.
    Without a good {}, no {} will last the {}.
    Some {} comes from {}, but most {} does not.
    A {} needs {} as much as {} and {}.
    In {} we found {} beside an old {}.
    How the {} became {} is a {} of its own.
    Many a {} begins with {} and ends in {}.
    Look at the {} before the {}, never after {}.
    Every {} has its {}, and each {} its {}.
    Between {} and {} lies the whole {}.
    She keeps {}, {} and {} in one {}.
    He wrote of {} and {} for the {}.
    What {} means to {} depends on {}.
    There is {} in this {}, and also some {}.
    They compared {} with {} over one {}.
    Once the {} is ready, {} and {} can follow.
    If the {} fails, try {} or a second {}.
    Old {} often hides {} under the {}.
    Our {} asked about {}, {} and the {}.
    When {} meets {}, expect {} by the {}.
    Few know that {} and {} share a {}.
    Nobody expected the {} to change {} into {}.
    For the {}, a simple {} is better than {}.
    Last {} the {} brought us {} and {}.
    Not all {} is {}; ask any {}.
    With {} at hand, the {} looks like {}.
    From {} to {} it took one {} and some {}.
    Here is {}, there is {}, and beyond them {}.
    Learn the {} first, then {}, then the {}.
    It was {} that gave the {} its {}.
"""
SENTENCES = tuple(sentence.strip() for sentence in _SENTENCES.strip().splitlines())
