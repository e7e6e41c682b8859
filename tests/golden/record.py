"""Records what this version computes, or compares it with what was recorded.

    python tests/golden/record.py [--check] [--seeds 1,2] [PART ...]

Parts: orders, command-line, served-crawl, and studies or studies:NAME; all of them unless named. --check prints what
differs and ends with 1; without it the files in tests/golden/data are written anew. See README.md.
"""

import argparse
import gzip
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
MAX_SHOWN = 40  # differences of one part
sys.path.insert(0, str(HERE.parent))


def _orders(seed: int) -> Any:
    from golden.orders import orders

    return orders()


def _command_line(seed: int) -> Any:
    from golden.command_line import command_line

    return command_line()


def _served_crawl(seed: int) -> Any:
    from golden.served_crawl import served_crawl

    with tempfile.TemporaryDirectory(prefix="lycosa-golden-") as work:
        return served_crawl(Path(work))


def _study(name: str) -> Callable[[int], Any]:
    def run(seed: int) -> Any:
        from golden.studies import study

        with tempfile.TemporaryDirectory(prefix="lycosa-golden-") as work:
            return study(name, seed, Path(work))

    return run


QUICK: Mapping[str, Callable[[int], Any]] = {
    "orders": _orders,
    "command-line": _command_line,
    "served-crawl": _served_crawl,
}
SEEDS = (1, 2)  # of studies
COMPRESSED = {"orders", "served-crawl"}
# Relative and absolute: a model is trained by products of matrices, whose last digits depend on the processor.
TOLERANCE = {"served-crawl": 1e-5}


def file_of(part: str, seed: int) -> Path:
    if part.startswith("studies:"):
        return DATA / "studies" / f"{part.partition(':')[2]}-{seed}.json"
    return DATA / f"{part}.json{'.gz' if part in COMPRESSED else ''}"


def recorded(part: str, seed: int = 0) -> Any:
    content = file_of(part, seed).read_bytes()
    return json.loads(gzip.decompress(content) if part in COMPRESSED else content)


def computed(part: str, seed: int = 0) -> Any:
    """What this version computes, as plain as a file has it."""
    make = _study(part.partition(":")[2]) if part.startswith("studies:") else QUICK[part]
    return json.loads(json.dumps(make(seed)))


def write(part: str, seed: int, found: Any) -> None:
    path = file_of(part, seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(found, indent=None if part in COMPRESSED else 1, ensure_ascii=False, sort_keys=False)
    content = f"{text}\n".encode()
    path.write_bytes(gzip.compress(content, mtime=0) if part in COMPRESSED else content)


def differences(old: Any, new: Any, where: tuple[str, ...] = (), *, tolerance: float = 0.0) -> Iterator[str]:
    """What differs, a line each: where it is, what it was, what it is.

    tolerance: relative and absolute difference up to which numbers are the same.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            if key not in new:
                yield f"{' / '.join((*where, key))}: is gone, was {_short(old[key])}"
            elif key not in old:
                yield f"{' / '.join((*where, key))}: is new: {_short(new[key])}"
            else:
                yield from differences(old[key], new[key], (*where, key), tolerance=tolerance)
        return
    if _is_same(old, new, tolerance):
        return
    if isinstance(old, list) and isinstance(new, list):
        yield from _differing_lists(old, new, where, tolerance)
    else:
        yield f"{' / '.join(where)}: was {_short(old)}, is {_short(new)}"


def _is_same(old: Any, new: Any, tolerance: float) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_is_same(old[key], new[key], tolerance) for key in old)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(_is_same(was, now, tolerance) for was, now in zip(old, new, strict=True))
    if isinstance(old, float) and isinstance(new, float):
        both_missing = math.isnan(old) and math.isnan(new)
        return both_missing or math.isclose(old, new, rel_tol=tolerance, abs_tol=tolerance)
    return bool(old == new)


def _differing_lists(old: list[Any], new: list[Any], where: tuple[str, ...], tolerance: float) -> Iterator[str]:
    """Where lists part, and how."""
    pairs = list(zip(old, new, strict=False))
    differ = [number for number, (was, now) in enumerate(pairs) if not _is_same(was, now, tolerance)]
    place = differ[0] if differ else len(pairs)
    length = "" if len(old) == len(new) else f"{len(old)} entries, now {len(new)}; "
    others = f"; {max(0, len(differ) - 1)} more differ"
    if place < len(pairs) and isinstance(old[place], dict | list):
        yield f"{' / '.join(where)}: {length}the first that differs is {place}{others}"
        yield from differences(old[place], new[place], (*where, f"[{place}]"), tolerance=tolerance)
    else:
        was, now = _short(old[place : place + 8]), _short(new[place : place + 8])
        yield f"{' / '.join(where)}: {length}from {place} on was {was}, is {now}{others}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}…"


def checked(part: str, seed: int = 0) -> list[str]:
    """What differs in a part from what was recorded."""
    named = f"{part}{f', seed {seed}' if part.startswith('studies:') else ''}"
    return list(differences(recorded(part, seed), computed(part, seed), (named,), tolerance=TOLERANCE.get(part, 0.0)))


def _jobs(parts: list[str], seeds: list[int]) -> Iterator[tuple[str, int]]:
    from golden.studies import STUDY_NAMES

    for part in parts or [*QUICK, "studies"]:
        if part == "studies":
            yield from ((f"studies:{name}", seed) for name in STUDY_NAMES for seed in seeds)
        elif part.startswith("studies:"):
            yield from ((part, seed) for seed in seeds)
        else:
            yield part, 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)))
    options = parser.parse_args()
    differ = False
    for part, seed in _jobs(options.parts, [int(seed) for seed in options.seeds.split(",")]):
        if not options.check:
            write(part, seed, computed(part, seed))
            _say(f"{part}: written {file_of(part, seed).relative_to(HERE)}")
            continue
        found = checked(part, seed)
        differ |= bool(found)
        _say(f"{part}{f', seed {seed}' if seed else ''}: {len(found) or 'no'} differences")
        for line in found[:MAX_SHOWN]:
            _say(f"  {line}")
        if len(found) > MAX_SHOWN:
            _say(f"  and {len(found) - MAX_SHOWN} more")
    sys.exit(differ)


if __name__ == "__main__":
    main()
