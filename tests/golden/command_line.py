"""Every command, argument and option of the command line, as `--help` lists them; the wording aside."""

from collections.abc import Iterator
from typing import Any

import typer

from lycosa.cli import COMMANDS, app

NOTHING = {"[]", "[None, None]", "False", "None"}  # facts that are left out


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """A command and all below it."""
    yield " ".join(path), command
    names = COMMANDS if len(path) == 1 else getattr(command, "commands", {})
    for name in names:
        yield from _commands(command.get_command(None, name), (*path, name))


def _parameter(parameter: Any) -> tuple[str, dict[str, Any]]:
    """What a user can say and what holds when nothing is said; the name of the variable behind it aside."""
    kind = parameter.type
    facts = {
        "kind": parameter.param_type_name,
        "type": kind.name,
        "choices": [str(choice) for choice in getattr(kind, "choices", ())],
        "range": [getattr(kind, "min", None), getattr(kind, "max", None)],
        "required": parameter.required,
        "default": None if callable(parameter.default) else _plain(parameter.default),
        "many": parameter.nargs != 1 or getattr(parameter, "multiple", False),
        "also": [*parameter.opts[1:], *parameter.secondary_opts] if parameter.param_type_name == "option" else [],
        "flag": getattr(parameter, "is_flag", False),
        "hidden": getattr(parameter, "hidden", False),
    }
    name = parameter.opts[0] if parameter.param_type_name == "option" else parameter.human_readable_name
    return name, {fact: value for fact, value in facts.items() if repr(value) not in NOTHING}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def command_line() -> dict[str, Any]:
    """Command, then parameter: its facts."""
    return {
        path: dict(_parameter(parameter) for parameter in command.params)
        for path, command in _commands(typer.main.get_command(app), ("lycosa",))
    }
