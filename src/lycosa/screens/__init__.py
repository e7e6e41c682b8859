"""Screens: a local web application over the collections of a folder, for people and, as JSON, for programs.

Everything shown was written by strangers, and everyone on the machine can reach a port of it; `gate` says who is
answered, `library` which folders can be named at all, `views` what is shown, `app` where.
"""
