"""The program `lycosa`, and `python -m lycosa`."""

import signal


def main() -> None:
    """Runs the command line; Ctrl-C ends it at once, without a word, while its modules are still being loaded."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lycosa.cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
