"""A strategy, a relevance model and an export format for Lycosa."""
