"""Access logs: who read what, when. `Readings` is what strategies see of one; `import_logs` makes one from files.

A line comes in through `lines`, is understood by one of `formats` or by `tables`, judged in `dropping` and `page_urls`,
becomes numbers in `gathering`, loses `groups`, and is written by `taking_in` into a `log_file`.
"""

from .log_file import open_readings
from .readings import Readings

__all__ = ["Readings", "open_readings"]
