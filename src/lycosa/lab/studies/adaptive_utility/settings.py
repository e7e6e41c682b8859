"""The crawlers that are compared."""

from lycosa.lab.studies.utility_tradeoff import ALPHAS, fixed

TARGETS = (0.6, 0.7, 0.8, 0.9)
ORACLE_ALPHAS = (0.0, 0.2, 0.3, 0.5)  # from 0.5 on, no standing outweighs being off the topic
START = 0.5  # α before the first page
SECOND_COUNTER = 104_729  # tells the draws of the second source of in-links from all others


def adaptive(target: float) -> str:
    return f"δ={target:g}"


def ranked(target: float) -> str:
    return f"ranked δ={target:g}"


def oracle(alpha: float) -> str:
    return f"oracle α={alpha:g}"


HALF, TOPIC_ONLY, USUAL = fixed(0.5), fixed(1.0), adaptive(0.7)
FIXED = [fixed(alpha) for alpha in ALPHAS]
ADAPTIVE = [adaptive(target) for target in TARGETS]
RANKED = [ranked(target) for target in TARGETS]  # the same, of which links stay comparable while α moves
ORACLE = [oracle(alpha) for alpha in ORACLE_ALPHAS]
PAIR = [USUAL, TOPIC_ONLY]
CRAWLERS = {"fixed α": FIXED, "adaptive δ": ADAPTIVE, "ranked δ": RANKED, "knows the truth": ORACLE}
