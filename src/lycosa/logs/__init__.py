"""Access logs: who read what, when. `Readings` is what strategies see of one; `imports` makes one from files.

A line is parsed by one of `formats` into an entry (`entries`), its URL is cleaned by `page_urls`, `imports` turns
entries into columns of numbers (`accesses`) without groups, and a `log_file` stores them.
"""

from .log_file import open_readings
from .readings import Readings

__all__ = ["Readings", "open_readings"]
