"""Worlds: fixed webs to crawl without touching the Web, random or read from files, for the demo and for studies."""

from .world import Access, Category, DirectoryEntry, StudyWorld, World

__all__ = ["Access", "Category", "DirectoryEntry", "StudyWorld", "World"]
