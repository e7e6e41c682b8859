"""Options of every Typer app of Lycosa; in a file of their own, since help is shown without loading anything else."""

from typing import Any

TYPER_OPTIONS: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "suggest_commands": False,  # click does it
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
