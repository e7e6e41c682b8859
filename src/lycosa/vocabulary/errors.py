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
    message, _, path = str(error).partition(" - at `$")
    field_path = path.rstrip("`").lstrip(".")
    expected = _type_at(field_path, inspect.type_info(record))
    _, is_unknown, unknown = message.partition("unknown field `")
    if is_unknown:
        known = ", ".join(name for member in _members(expected) for name in _fields(member))
        table = f"in [{field_path}]" if field_path else "at the top"
        return f"no key {unknown.removesuffix('`')!r} {table}; there are {known}"
    return f"{field_path}: write {_describe_type(expected)}"


def _type_at(field_path: str, record: inspect.Type) -> inspect.Type:
    """The type of the field at a path such as `topic.keywords[0]`."""
    current = record
    for segment in re.findall(r"\[[^\[\]]*\]|[^.\[]+", field_path):
        current = next(inner for member in _members(current) if (inner := _inner_type(member, segment)) is not None)
    return current


def _inner_type(outer: inspect.Type, segment: str) -> inspect.Type | None:
    """The type one step of a path further in: of a field, or of the items of a table or list."""
    if not segment.startswith("["):
        return _fields(outer).get(segment)
    if isinstance(outer, inspect.DictType):
        return outer.value_type
    return outer.item_type if isinstance(outer, inspect.VarTupleType) else None


def _fields(record: inspect.Type) -> dict[str, inspect.Type]:
    return {field.encode_name: field.type for field in record.fields} if isinstance(record, inspect.StructType) else {}


def _members(union: inspect.Type) -> Iterator[inspect.Type]:
    """The members of a union type, or the type itself; without None, which TOML cannot express."""
    members = union.types if isinstance(union, inspect.UnionType) else (union,)
    return (member for member in members if not isinstance(member, inspect.NoneType))


def _describe_type(expected: inspect.Type) -> str:
    return " or ".join(map(_describe_member, _members(expected)))


def _describe_member(member: inspect.Type) -> str:
    match member:
        case inspect.IntType():
            return f"a whole number{_range(member)}"
        case inspect.FloatType():
            return f"a number{_range(member)}"
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType():
            return 'a text: "…"'
        case inspect.Metadata(extra_json_schema={"examples": [example, *_]}):
            return f'a text such as "{example}"'
        case inspect.LiteralType():
            return " or ".join(f'"{value}"' for value in member.values)
        case inspect.VarTupleType():
            item = "{…}" if _fields(member.item_type) else '"…"'
            return f"a list{' of one or more' if member.min_length else ''}: [{item}, {item}]"
        case inspect.DictType():
            return 'a table: { name = "…" }'
        case inspect.StructType():
            return f"a table of {', '.join(_fields(member))}"
    raise AssertionError(f"no description for {member}")


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


def cannot_write(what: object, error: OSError, *, advice: str) -> LycosaError:
    """The error for a failed write: LycosaError if the disk is full or broken, UsageError if the path is wrong.

    what: what was to be written, for the message.
    advice: what always helps; the remedy for this particular error comes before it.
    """
    error_class = LycosaError if error.errno in _DISK_ERRORS else UsageError
    remedy = _REMEDIES.get(error.errno or 0)
    return error_class(f"cannot write {what}: {error.strerror or error}; {f'{remedy}, or ' if remedy else ''}{advice}")
