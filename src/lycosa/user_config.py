"""Settings for all collections of a user: environment variables, and ~/.config/lycosa/config.toml.

XDG_CONFIG_HOME and XDG_DATA_HOME are used if they are absolute paths, as the XDG base directory specification says.
"""

import os
import tomllib
from pathlib import Path

import msgspec
from msgspec import Struct

from lycosa.vocabulary.errors import RecipeError, UsageError, explain_validation_error

CONTACT_VARIABLE = "LYCOSA_CONTACT"
_MAX_BYTES = 100_000  # of config.toml


class UserConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of config.toml."""

    contact: str = ""  # for recipes that name none
    searxng: str = ""  # address of a SearXNG that `lycosa seeds` asks


def config_file() -> Path:
    return _folder_in("XDG_CONFIG_HOME", ".config") / "config.toml"


def data_folder() -> Path:
    """The folder of files that all collections of a user share."""
    return _folder_in("XDG_DATA_HOME", ".local/share")


def authority_file() -> Path:
    """The table of public rank lists, for all collections."""
    return data_folder() / "authority.table"


def _folder_in(variable: str, default: str) -> Path:
    value = Path(os.environ.get(variable, ""))
    if value.is_absolute():
        return value / "lycosa"
    try:
        return Path.home() / default / "lycosa"
    except RuntimeError:
        raise UsageError(f"there is no home folder; set {variable} to the folder for your files") from None


def load_user_config() -> UserConfig:
    path = config_file()
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return UserConfig()
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror}; give access, or remove it") from None
    if len(content) > _MAX_BYTES:
        raise RecipeError(f'{path}: larger than {_MAX_BYTES} bytes; it needs one line: contact = "you@example.org"')
    try:
        return msgspec.convert(tomllib.loads(content.decode()), UserConfig)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecipeError(f'{path}: not TOML: {error}; fix that line: contact = "you@example.org"') from None
    except msgspec.ValidationError as error:
        raise RecipeError(f"{path}: {explain_validation_error(error, UserConfig)}") from None


def user_contact() -> str:
    """The contact for recipes without one, from the environment or config.toml; empty if neither has one."""
    value = os.environ.get(CONTACT_VARIABLE, "").strip()
    return checked_contact(value, CONTACT_VARIABLE) or checked_contact(load_user_config().contact, str(config_file()))


def checked_contact(contact: str, source: str) -> str:
    """Checks that a contact is valid in a request header, whose characters are those of Latin-1."""
    if not contact.isprintable() or len(contact) > 200 or max(contact, default="") > "\xff":
        raise RecipeError(f"{source}: not a contact: {contact[:100]!r}; write an e-mail address or a web page")
    return contact.strip()
