"""The program `lycosa`, and `python -m lycosa`."""

import signal


def main() -> None:
    """Runs the command line; Ctrl-C while modules are still being imported ends it silently."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lycosa.cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
