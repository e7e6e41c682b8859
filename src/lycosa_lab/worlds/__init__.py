"""Worlds: fixed webs to crawl offline, generated or read from files, for the demo and for studies."""

from .world import Access, Category, DirectoryEntry, StudyWorld, World

__all__ = ["Access", "Category", "DirectoryEntry", "StudyWorld", "World"]
