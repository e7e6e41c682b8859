"""Attacks that were once successful, or nearly: each is a test here, and stays.

The servers, files and peers are hostile; what is promised is an outcome for each, in bounded time and memory, and that
the work at hand goes on. What is measured is counted (requests, bytes, growth with the size of the attack), never
seconds on a clock.
"""
