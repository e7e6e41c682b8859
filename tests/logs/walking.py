"""The walk of one reader, out of the columns of all."""

from lycosa.logs import AccessLog
from lycosa.logs.access_log import FloatArray, Int32Array


def walk_of(access_log: AccessLog, user: int) -> tuple[FloatArray, Int32Array]:
    """What a user read, in order of time, and when."""
    walk = slice(*access_log.walk_starts[user : user + 2])
    return access_log.url_ids[walk], access_log.times[walk]
