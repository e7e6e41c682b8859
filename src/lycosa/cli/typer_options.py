"""How every Typer app of Lycosa behaves; apart, since help is shown without anything else being loaded."""

from typing import Any

TYPER_OPTIONS: dict[str, Any] = {  # of every Typer app
    "no_args_is_help": True,
    "add_completion": False,
    "suggest_commands": False,  # click does it
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
