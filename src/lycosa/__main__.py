"""The program `lycosa`, and `python -m lycosa`."""

import signal


def main() -> None:
    """Runs the command line; Ctrl-C while modules are still being imported ends it silently."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lycosa import cli

    signal.signal(signal.SIGINT, before)
    cli.main()


if __name__ == "__main__":
    main()
