"""A web that nobody wrote, as large as one likes: see `SyntheticWorld`.

options -> plan (sites, standing) -> links        columns of numbers, made once and saved
words -> text -> page                             one page, made when asked for
directory   evolving   readers                    what editors list, what changes, who reads
"""

from lycosa.worlds.world import Access

from .world import SyntheticWorld

__all__ = ["Access", "SyntheticWorld"]
