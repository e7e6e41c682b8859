"""Access logs: who read what, when. `AccessLog` is what strategies see of one; `imports` makes one from files.

A line is parsed by one of `formats` into an entry (`entries`), its URL is cleaned by `page_urls`, `imports` turns
entries into columns of numbers (`accesses`) without groups, and a `log_file` stores them. A group is a user with too
many requests for one person: a proxy that many share, or a robot.
"""

from .access_log import AccessLog
from .log_file import open_access_log

__all__ = ["AccessLog", "open_access_log"]
