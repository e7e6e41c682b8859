"""Plug-ins: pieces that other installed packages add to Lycosa by entry points.

A package names its pieces in its pyproject.toml, and they are found by that name:

    [project.entry-points."lycosa.strategies"]
    shortest-url = "my_package.strategies:ShortestUrl"

Lycosa's own pieces stand in dictionaries, so nothing here is looked at unless a name is not among them or all names are
to be listed. To know a name is not to import its package: that happens in `load_plugin` alone.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .errors import LycosaError, PluginError, UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

EntryPointGroup = Literal[
    "lycosa.strategies",
    "lycosa.relevance",
    "lycosa.refresh",
    "lycosa.exporters",
    "lycosa.studies",
    "lycosa.commands",
]

P = TypeVar("P")


@cache
def plugins(group: EntryPointGroup) -> "Mapping[str, EntryPoint]":
    """The plug-ins of a group by name, none of them imported."""
    from importlib.metadata import entry_points  # 15 ms that most commands need not spend

    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}


def distribution_of(entry: "EntryPoint") -> str:
    """The installed package that an entry point belongs to, with its version."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unknown package"


def load_plugin(group: EntryPointGroup, name: str) -> Any:
    """Imports a plug-in that `plugins` names; one that is broken is one line that names its package."""
    entry = plugins(group)[name]
    try:
        return entry.load()
    except LycosaError:  # it says by itself what is wrong and what to do, such as to install an extra
        raise
    except Exception as error:  # a plug-in may raise anything; the error names the plug-in
        problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise PluginError(
            f"the plug-in {name!r} of {distribution_of(entry)} cannot be loaded ({entry.value}: {problem}); "
            "mend or uninstall that package"
        ) from error


def find_piece(built_in: Mapping[str, P], group: EntryPointGroup, name: str, *, what: str) -> P:
    """Lycosa's own piece of this name, or that of a plug-in; UsageError that names those there are.

    what: what such a piece is called, for the message.
    """
    if name in built_in:
        return built_in[name]
    if name not in plugins(group):
        raise UsageError(f"no {what} {name!r}; there are {names_of(built_in, group)}")
    piece: P = load_plugin(group, name)
    return piece


def require_members(piece: object, group: EntryPointGroup, name: str, *, has: Iterable[str], what: str) -> None:
    """Refuses a plug-in that lacks an attribute of the contract, in one line that names its package."""
    for attribute in has:
        if not hasattr(piece, attribute):
            whose = distribution_of(plugins(group)[name])
            raise PluginError(
                f"the plug-in {name!r} of {whose} is not {what}: it has no {attribute!r}; mend that package"
            )


def names_of(built_in: Mapping[str, object], group: EntryPointGroup) -> str:
    """All names that there are, for messages: Lycosa's own, then those of plug-ins."""
    return ", ".join([*built_in, *(name for name in plugins(group) if name not in built_in)])
