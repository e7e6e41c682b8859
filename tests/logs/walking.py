"""The walk of one reader, out of the columns of all."""

from lycosa.logs import Readings
from lycosa.logs.readings import Numbers, Reals


def walk_of(readings: Readings, user: int) -> tuple[Numbers, Reals]:
    """What a user read, in order of time, and when."""
    walk = slice(*readings.walk_starts[user : user + 2])
    return readings.walks[walk], readings.times[walk]
