"""The commands that `lycosa` gets from this package, by the entry point group `lycosa.commands`."""
