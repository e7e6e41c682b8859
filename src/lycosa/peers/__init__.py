"""Peers that search each other's collections, and learn whom to ask.

Read `messages` (what they say), `buddies` (whom they ask first), `routing` (how a query travels) and `node` (one
peer). A node knows neither sockets nor clocks: `wire` runs it over TCP, `simulation` on a simulated wire.
"""
