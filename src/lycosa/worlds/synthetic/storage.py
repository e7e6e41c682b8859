"""A synthetic world as a folder: one file of facts, and one for each column, read back without loading them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lycosa.vocabulary.errors import UsageError

from .links import Links
from .options import Options
from .plan import COLUMNS, Plan

FORMAT = 1
FACTS = "synthetic.json"
_LINK_COLUMNS = tuple(field.name for field in fields(Links))


def save_columns(folder: Path, options: Options, plan: Plan, links: Links) -> None:
    """Writes a world into a folder that is empty or not there yet; the same world gives the same bytes."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name another folder for the world")
        for name in COLUMNS:
            np.save(folder / f"{name}.npy", getattr(plan, name))
        for name in _LINK_COLUMNS:
            np.save(folder / f"links-{name}.npy", getattr(links, name))
        facts = {"world": "synthetic", "format": FORMAT, "options": asdict(options)}
        (folder / FACTS).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the world to {folder}: {error.strerror or error}") from None


def load_columns(folder: Path) -> tuple[Options, Plan, Links]:
    """What `save_columns` wrote, the columns mapped into memory."""
    options = _options(folder / FACTS)
    plan = Plan(**{name: _column(folder / f"{name}.npy") for name in COLUMNS})
    links = Links(**{name: _column(folder / f"links-{name}.npy") for name in _LINK_COLUMNS})
    sizes = {len(plan), len(plan.kind), len(plan.in_links), len(links.start) - 1, options.pages}
    if len(sizes) != 1 or int(links.start[-1]) != len(links.target):
        raise UsageError(f"the columns in {folder} do not fit each other; make the world again")
    return options, plan, links


def _options(path: Path) -> Options:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}; is it the folder of a world?") from None
    except ValueError:
        raise UsageError(f"{path} is not JSON; make the world again") from None
    if not isinstance(facts, Mapping) or facts.get("world") != "synthetic" or facts.get("format") != FORMAT:
        raise UsageError(f"{path} does not describe a synthetic world of format {FORMAT}; make the world again")
    try:
        return Options(**facts["options"])
    except (KeyError, TypeError):
        raise UsageError(f"{path} has options that no synthetic world has; make the world again") from None


def _column(path: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"cannot read {path}: {error}; make the world again") from None
