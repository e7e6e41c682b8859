"""Chance that can be drawn again: a number follows from what it is drawn for, and not from what was drawn before.

All is arithmetic of unsigned 64-bit numbers, so that compiled code draws the same. `mix` is the finaliser of
splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
"""

GOLDEN = 0x9E3779B97F4A7C15
_ALL = (1 << 64) - 1


def mix(number: int) -> int:
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _ALL
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _ALL
    return number ^ (number >> 31)


def draw(seed: int, query: int, walker: int, step: int, among: int, attempt: int = 0) -> int:
    """One of 0 ... among - 1, each as likely, for this step of this walker of this query.

    `step` is the time to live of the message that is about to be sent; `attempt` counts the choices at this step
    that came to nothing, because the one chosen was down.
    """
    place = (walker << 48) | (attempt << 32) | step
    number = mix(((seed ^ query) + GOLDEN) & _ALL)
    number = mix(((number ^ place) + GOLDEN) & _ALL)
    return ((number >> 32) * among) >> 32


def query_number(seed: int, count: int) -> int:
    """The id of the query that is asked as number `count` of a simulation: any 64 bits, none twice."""
    return mix(((seed ^ GOLDEN) + (count + 1) * GOLDEN) & _ALL)
