"""Runs the parsers of foreign bytes on damaged inputs for a while.

    python tests/fortress/fuzz.py [--seconds 60] [PARSER ...]

With atheris installed (`pip install atheris`) inputs are chosen by the code they reach, one parser a process; beside
that, and without it, they are drawn at random. An input that a parser does not bear is written to `corpus/`, and
`make test` tries it from then on.
"""

import argparse
import hashlib
import subprocess
import sys
import time
import traceback
from contextlib import AbstractContextManager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))


def instrumented() -> AbstractContextManager[object]:
    """Within it, what is imported of Lycosa counts for atheris."""
    if "--guided" not in sys.argv:
        return nullcontext()
    import atheris

    return atheris.instrument_imports(include=["lycosa", "lycosa_peers"], enable_loader_override=False)


with instrumented():
    from fortress.mutation import mutated
    from fortress.parsers import PARSERS, Parser
    from lycosa.vocabulary.errors import LycosaError

CORPUS = Path(__file__).parent / "corpus"


def tried(name: str, parser: Parser, data: bytes) -> bool:
    """Whether a parser bears an input; where it does not, the input is kept and the error printed."""
    try:
        parser.parse(data)
    except LycosaError:
        pass
    except Exception:  # noqa: BLE001  # whatever it is, it is what is looked for
        CORPUS.mkdir(exist_ok=True)
        kept = CORPUS / f"{name.replace(' ', '-')}.{hashlib.sha256(data).hexdigest()[:12]}"
        kept.write_bytes(data)
        sys.stderr.write(f"{name}: {kept.name}\n{traceback.format_exc()}\n")
        return False
    return True


def at_random(name: str, seconds: float, seed: int) -> tuple[int, int, float]:
    """Executions, failures, and the longest time of one, in seconds."""
    parser, random = PARSERS[name], Random(seed)
    executions = failures = 0
    longest = 0.0
    until = time.monotonic() + seconds
    while (begun := time.monotonic()) < until and failures < 5:
        failures += not tried(name, parser, mutated(parser.seeds, random))
        executions += 1
        longest = max(longest, time.monotonic() - begun)
    return executions, failures, longest


def guided(name: str, seconds: float) -> None:
    """One parser by atheris, which ends the process."""
    import atheris

    parser = PARSERS[name]
    found = CORPUS.parent / ".found" / name.replace(" ", "-")
    found.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(parser.seeds):
        (found / f"seed-{number}").write_bytes(seed)

    def one(data: bytes) -> None:
        if not tried(name, parser, data):
            raise SystemExit(1)

    atheris.Setup([sys.argv[0], f"-max_total_time={seconds:.0f}", "-max_len=20000", "-timeout=20", str(found)], one)
    atheris.Fuzz()


def main() -> int:
    """Fuzzes the named parsers, or all of them, one after the other."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("parsers", nargs="*", choices=[*PARSERS, []], metavar="PARSER")
    arguments.add_argument("--seconds", type=float, default=60.0, help="for all of them together")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--guided", action="store_true", help="by atheris, one parser in this process")
    given = arguments.parse_args()
    names = given.parsers or list(PARSERS)
    share = given.seconds / len(names)
    if given.guided:
        guided(names[0], share)
    total = failed = 0
    for name in names:
        if find_spec("atheris") is not None:
            command = [sys.executable, __file__, name, "--guided", "--seconds", str(share / 2)]
            ended = subprocess.run(command, check=False, capture_output=True, text=True)
            runs = [line for line in ended.stderr.splitlines() if line.startswith("Done ")]
            total += int(runs[-1].split()[1]) if runs else 0
            failed += ended.returncode != 0
            if ended.returncode != 0:
                sys.stderr.write(ended.stderr[-3000:])
        executions, failures, longest = at_random(name, share / 2, given.seed)
        total, failed = total + executions, failed + failures
        sys.stdout.write(f"{name}: {executions} at random, {failures} failed, the longest {longest:.2f} s\n")
        sys.stdout.flush()
    sys.stdout.write(f"{total} executions, {failed} failed\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
