"""The names of the crawls that are compared, as tables and pictures show them."""

from typing import Final

COLLABORATIVE: Final = "collaborative"  # with all three factors and the whole log, from no seeds
DRAWS: Final = (COLLABORATIVE, "collaborative, draw 2", "collaborative, draw 3")  # by chance, other pages of the log
COMBINED: Final = "combined"  # likewise
INTELLIGENT: Final = "intelligent"  # the best of several runs from pages drawn by chance
STARTS: Final = tuple(f"intelligent, start {number}" for number in range(1, 6))

FREQUENCY: Final = "frequency"  # one factor alone
SIGNATURE: Final = "signature"
TEMPORAL: Final = "temporal"
ALONE: Final = (FREQUENCY, SIGNATURE, TEMPORAL)

TWO_READERS: Final = "2 readers"  # pages that fewer people read are not in the log
FIVE_READERS: Final = "5 readers"
TEN_READERS: Final = "10 readers"
TENTH: Final = "10 % of readers"  # the others are not in the log
HUNDREDTH: Final = "1 % of readers"
FADING: Final = "half-life, a quarter"  # of the time of the log, in which an access loses half its weight
FADING_FAST: Final = "half-life, a twentieth"
SCARCE: Final = (TWO_READERS, FIVE_READERS, TEN_READERS, TENTH, HUNDREDTH)
AGED: Final = (FADING, FADING_FAST)

SHUFFLED: Final = "collaborative, shuffled"  # what was read is dealt out among the readers by chance

COLLABORATIVE_LISTED: Final = "collaborative, listed"  # these from pages that the directory lists and that satisfy
INTELLIGENT_LISTED: Final = "intelligent, listed"
COMBINED_LISTED: Final = "combined, listed"
BEST_FIRST_LISTED: Final = "best-first, listed"
GUIDED_LISTED: Final = "best-first with readers, listed"
LISTED: Final = (COLLABORATIVE_LISTED, INTELLIGENT_LISTED, COMBINED_LISTED, BEST_FIRST_LISTED, GUIDED_LISTED)
