"""Webs that stand still: made up or found, for the demo, for tests and for studies."""

from .fixed import FixedWorld
from .world import Access, Category, Entry, StudyWorld, World

__all__ = ["Access", "Category", "Entry", "FixedWorld", "StudyWorld", "World"]
