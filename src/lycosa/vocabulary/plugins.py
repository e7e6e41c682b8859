"""Plug-ins: objects that other installed packages add to Lycosa by entry points.

A package declares its plug-ins in its pyproject.toml, and they are found by name:

    [project.entry-points."lycosa.strategies"]
    shortest-url = "my_package.strategies:ShortestUrl"

Built-in objects are in dictionaries. Entry points are read only if a name is not built in, or to list all names; a
plug-in's package is imported only by `load_plugin`.
"""

from collections.abc import Callable, Iterable, Mapping
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

T = TypeVar("T")


@cache
def plugins(group: EntryPointGroup) -> "Mapping[str, EntryPoint]":
    """The plug-ins of a group by name, none of them imported."""
    from importlib.metadata import entry_points  # imported late: takes 15 ms, and most commands do not need it

    return {entry.name: entry for entry in sorted(entry_points(group=group), key=lambda entry: entry.name)}


def distribution_of(entry: "EntryPoint") -> str:
    """The installed package that an entry point belongs to, with its version."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "an unknown package"


def load_plugin(group: EntryPointGroup, name: str) -> Any:
    """Imports a plug-in listed by `plugins`; a broken one raises PluginError, which names its package."""
    entry = plugins(group)[name]
    try:
        return entry.load()
    except LycosaError:  # its message already says what to do, such as to install an extra
        raise
    except Exception as error:  # a plug-in may raise anything
        raise _load_error(entry, error) from error


def instantiate(make: Callable[[], T], group: EntryPointGroup, name: str) -> T:
    """The object that a class or function makes; if a plug-in's fails, PluginError, which names its package.

    name: under which it is registered; it may be built in.
    """
    try:
        return make()
    except LycosaError:
        raise
    except Exception as error:  # a plug-in may raise anything
        if name not in plugins(group):
            raise
        raise _load_error(plugins(group)[name], error) from error


def _load_error(entry: "EntryPoint", error: Exception) -> PluginError:
    problem = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return PluginError(
        f"the plug-in {entry.name!r} of {distribution_of(entry)} cannot be loaded ({entry.value}: {problem}); "
        "fix or uninstall that package"
    )


def find_by_name(built_in: Mapping[str, T], group: EntryPointGroup, name: str, *, what: str) -> T:
    """The built-in object of this name, or that of a plug-in; UsageError, which lists all names, if there is none.

    what: the kind of object, for the message.
    """
    if name in built_in:
        return built_in[name]
    if name not in plugins(group):
        raise UsageError(f"no {what} {name!r}; there are {names_of(built_in, group)}")
    plugin: T = load_plugin(group, name)
    return plugin


def require_members(plugin: object, group: EntryPointGroup, name: str, *, attributes: Iterable[str], what: str) -> None:
    """Raises PluginError, which names the package, if a plug-in lacks one of these attributes.

    what: what the plug-in should be, for the message.
    """
    for attribute in attributes:
        if not hasattr(plugin, attribute):
            package = distribution_of(plugins(group)[name])
            raise PluginError(
                f"the plug-in {name!r} of {package} is not {what}: it has no {attribute!r}; fix that package"
            )


def names_of(built_in: Mapping[str, object], group: EntryPointGroup) -> str:
    """All names for messages: built-in ones, then those of plug-ins."""
    return ", ".join([*built_in, *(name for name in plugins(group) if name not in built_in)])
