"""The errors that Lycosa reports to its user.

    LycosaError            the job failed; exit code 1
    ├── UsageError         wrong input: a command line, an argument; exit code 2
    │   └── RecipeError    the recipe (lycosa.toml) or a file it names is wrong
    ├── CollectionError    the collection cannot be read or written
    └── PluginError        a plug-in of another package is broken

The message is one line that says what to do. Failed requests are not errors but an `Outcome`.
"""

import re
from collections.abc import Iterator
from errno import EDQUOT, EFBIG, EIO, ENOENT, ENOSPC

import msgspec
from msgspec import inspect


class LycosaError(Exception):
    exit_code = 1


class UsageError(LycosaError):
    exit_code = 2


class RecipeError(UsageError):
    pass


class CollectionError(LycosaError):
    pass


class PluginError(LycosaError):
    pass


def explain_validation_error(error: msgspec.ValidationError, record: type) -> str:
    """Says where the mistake is and what to write there instead; lists the known keys if a key is unknown.

    >>> class Stop(msgspec.Struct, forbid_unknown_fields=True):
    ...     pages: int | None = None
    >>> try:
    ...     msgspec.convert({"pages": "many"}, Stop)
    ... except msgspec.ValidationError as error:
    ...     print(explain_validation_error(error, Stop))
    pages: write a whole number
    """
    what, _, path = str(error).partition(" - at `$")
    where = path.rstrip("`").lstrip(".")
    wanted = _field_at(where, inspect.type_info(record))
    _, is_unknown, unknown = what.partition("unknown field `")
    if is_unknown:
        known = ", ".join(name for kind in _kinds(wanted) for name in _fields(kind))
        return f"no key {unknown.removesuffix('`')!r} {f'in [{where}]' if where else 'at the top'}; there are {known}"
    return f"{where}: write {_describe_type(wanted)}"


def _field_at(where: str, record: inspect.Type) -> inspect.Type:
    """The field at a place such as `topic.keywords[0]`."""
    found = record
    for step in re.findall(r"\[[^\[\]]*\]|[^.\[]+", where):
        found = next(inner for kind in _kinds(found) if (inner := _within(kind, step)) is not None)
    return found


def _within(kind: inspect.Type, step: str) -> inspect.Type | None:
    if not step.startswith("["):
        return _fields(kind).get(step)
    if isinstance(kind, inspect.DictType):
        return kind.value_type
    return kind.item_type if isinstance(kind, inspect.VarTupleType) else None


def _fields(kind: inspect.Type) -> dict[str, inspect.Type]:
    return {field.encode_name: field.type for field in kind.fields} if isinstance(kind, inspect.StructType) else {}


def _kinds(wanted: inspect.Type) -> Iterator[inspect.Type]:
    """The types of a field, without None, which TOML cannot express."""
    kinds = wanted.types if isinstance(wanted, inspect.UnionType) else (wanted,)
    return (kind for kind in kinds if not isinstance(kind, inspect.NoneType))


def _describe_type(wanted: inspect.Type) -> str:
    return " or ".join(map(_describe_one_type, _kinds(wanted)))


def _describe_one_type(kind: inspect.Type) -> str:
    match kind:
        case inspect.IntType():
            return f"a whole number{_range(kind)}"
        case inspect.FloatType():
            return f"a number{_range(kind)}"
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType():
            return 'a text: "…"'
        case inspect.Metadata(extra_json_schema={"examples": [example, *_]}):
            return f'a text such as "{example}"'
        case inspect.LiteralType():
            return " or ".join(f'"{value}"' for value in kind.values)
        case inspect.VarTupleType():
            item = "{…}" if _fields(kind.item_type) else '"…"'
            return f"a list{' of one or more' if kind.min_length else ''}: [{item}, {item}]"
        case inspect.DictType():
            return 'a table: { name = "…" }'
        case inspect.StructType():
            return f"a table of {', '.join(_fields(kind))}"
    raise AssertionError(f"no words for {kind}")


def _range(number: inspect.IntType | inspect.FloatType) -> str:
    if number.ge is not None and number.le is not None:
        return f" from {number.ge:g} to {number.le:g}"
    if number.ge is not None:
        return f" of {number.ge:g} or more"
    if number.gt is not None and number.le is not None:
        return f" above {number.gt:g} and up to {number.le:g}"
    return "" if number.gt is None else f" above {number.gt:g}"


_REMEDIES = {ENOSPC: "make room", EDQUOT: "make room", ENOENT: "make its folder first"}
_DISK_ERRORS = frozenset((EDQUOT, EFBIG, EIO, ENOSPC))  # the disk is full or broken


def cannot_write(what: object, error: OSError, *, way_out: str) -> LycosaError:
    """The error for a failed write: LycosaError if the disk is full or broken, UsageError if the path is wrong.

    way_out: advice that always helps; advice for this particular error comes before it.
    """
    kind = LycosaError if error.errno in _DISK_ERRORS else UsageError
    remedy = _REMEDIES.get(error.errno or 0)
    return kind(f"cannot write {what}: {error.strerror or error}; {f'{remedy}, or ' if remedy else ''}{way_out}")
