"""The program `lycosa`, and `python -m lycosa`."""

import signal


def main() -> None:
    """Runs the command line; Ctrl-C while modules are imported, or while Python shuts down, ends it silently."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lycosa import cli

    signal.signal(signal.SIGINT, before)
    try:
        cli.main()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    main()
