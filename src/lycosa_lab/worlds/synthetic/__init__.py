"""A random web of any size, calibrated to measurements of the real one: see `SyntheticWorld`.

plan -> links                  columns of numbers (sites, topics, standing; who links to whom), made once and saved
vocabulary -> text -> pages    one page, generated when it is requested
directory, evolution, readers  what editors list, how pages change over time, who reads them
"""

from .world import SyntheticWorld

__all__ = ["SyntheticWorld"]
