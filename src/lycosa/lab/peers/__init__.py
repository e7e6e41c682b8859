"""Peers by the thousand: how people come back to each other, networks that come and go, and compiled search."""
