"""Screens: a local web application over the collections of a folder, for people and, as JSON, for programs.

Everything shown was written by strangers, and every program on the machine can reach the port: `access_control` decides
which requests are answered, `library` which folders can be named at all. `app` has the routes; every other module
computes what a screen shows, its view, which a template renders.
"""
