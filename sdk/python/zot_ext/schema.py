"""JSON Schemas from signatures and type hints, and arguments checked and converted by the same hints.

A type becomes a `Shape`: the schema that the model sees, and the reader that converts the model's
arguments to Python values. Both are made together, so that they cannot disagree.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import json
import sys
import types
import typing
from typing import Any, Callable, Dict, List, Literal, Mapping, Optional, Tuple, Union

Schema = Dict[str, Any]

_UNIONS: Tuple[Any, ...] = (Union, getattr(types, "UnionType", Union))
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_SETS = (set, frozenset, collections.abc.Set)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_SHOWN_CHARACTERS = 60


class InvalidArguments(Exception):
    """The problems with a value, each with the name of its field."""

    def __init__(self, problems: List[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class UnsupportedType(TypeError):
    """A type hint without a JSON Schema."""


@dataclasses.dataclass(frozen=True)
class Shape:
    schema: Schema
    read: Callable[[Any, str], Any]


@dataclasses.dataclass(frozen=True)
class _Field:
    shape: Shape
    required: bool


def parameters(function: Callable[..., Any]) -> Shape:
    """Returns the shape of a function's keyword arguments. Raises UnsupportedType at definition time."""
    hints = _hints(function)
    fields: Dict[str, _Field] = {}
    open_ended = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise UnsupportedType(f"parameter {name!r} must be accepted by keyword: change it, or pass schema={{...}}")
        hint = hints.get(name, Any)
        fields[name] = _field(hint, name, parameter.default, parameter.empty)
    return _object(fields, lambda values: values, open_ended)


def shape(hint: Any, name: str = "value", inside: Tuple[Any, ...] = ()) -> Shape:
    """Returns the shape of a type; `inside` holds the classes it is nested in."""
    if hint is Any or hint is object or isinstance(hint, typing.TypeVar):
        return Shape({}, lambda value, path: value)
    if hint is None or hint is type(None):
        return Shape({"type": "null"}, _reader("null", lambda value: value is None))
    if hint is bool:
        return Shape({"type": "boolean"}, _reader("a boolean", lambda value: isinstance(value, bool)))
    if hint is int:
        return Shape({"type": "integer"}, _read_integer)
    if hint is float:
        return Shape({"type": "number"}, _read_number)
    if hint is str:
        return Shape({"type": "string"}, _reader("a string", lambda value: isinstance(value, str)))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _enumeration(hint)
    if isinstance(hint, type) and hint.__module__.split(".")[0] == "pathlib":
        text = _reader("a string", lambda value: isinstance(value, str))
        return Shape({"type": "string"}, lambda value, path: hint(text(value, path)))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _dataclass(hint, _nest(hint, inside))
    if _is_typed_dict(hint):
        return _typed_dict(hint, _nest(hint, inside))
    if hasattr(hint, "__supertype__"):  # A NewType.
        return shape(hint.__supertype__, name, inside)
    return _generic(hint, name, inside)


def _generic(hint: Any, name: str, inside: Tuple[Any, ...]) -> Shape:
    origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is typing.Annotated or hasattr(hint, "__metadata__"):
        return _annotated(shape(hint.__origin__, name, inside), hint.__metadata__)
    if origin is Literal:
        return _choice(list(arguments), {})
    if origin in _UNIONS:
        return _union([shape(argument, name, inside) for argument in arguments])
    if origin is tuple:
        return _tuple(arguments, name, inside)
    if origin in _LISTS:
        return _array(_item(arguments, name, inside), list, {})
    if origin in _SETS:
        return _array(_item(arguments, name, inside), set if origin is set else frozenset, {"uniqueItems": True})
    if origin in _MAPPINGS:
        if arguments and arguments[0] not in (str, Any):
            raise UnsupportedType(f"{name!r}: the keys of a JSON object are strings, not {arguments[0]!r}")
        return _mapping(shape(arguments[1], name, inside) if arguments else shape(Any))
    raise UnsupportedType(f"{name!r}: no JSON Schema for the type {hint!r}; pass schema={{...}} for this tool")


def _hints(target: Any) -> Dict[str, Any]:
    if not inspect.isclass(target) and not inspect.isfunction(target) and not inspect.ismethod(target):
        target = getattr(target, "func", None) or getattr(target, "__call__", target)
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception as error:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise UnsupportedType(
            f"cannot read the type hints of {getattr(target, '__qualname__', target)!r} under Python {version}: "
            f"{error}. The types must be global names of the module; `X | None` needs Python 3.10"
        ) from error


def _nest(hint: Any, inside: Tuple[Any, ...]) -> Tuple[Any, ...]:
    if hint in inside:
        raise UnsupportedType(f"{hint.__name__!r} contains itself; pass schema={{...}} for this tool")
    return (*inside, hint)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def _wrong(path: str, expected: str, value: Any) -> InvalidArguments:
    return InvalidArguments([f"{path} must be {expected}, not {_shown(value)}"])


def _reader(expected: str, fits: Callable[[Any], bool]) -> Callable[[Any, str], Any]:
    def read(value: Any, path: str) -> Any:
        if fits(value):
            return value
        raise _wrong(path, expected, value)

    return read


def _read_integer(value: Any, path: str) -> int:
    # JSON Schema counts 3.0 as an integer; Python counts True as one.
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise _wrong(path, "an integer", value)


def _read_number(value: Any, path: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise _wrong(path, "a number", value)


def _field(hint: Any, name: str, default: Any, missing: Any, inside: Tuple[Any, ...] = ()) -> _Field:
    made = shape(hint, name, inside)
    if default is missing:
        return _Field(made, required=True)
    if default is not None:
        try:
            if json.loads(json.dumps(default, allow_nan=False)) == default:
                made = Shape({**made.schema, "default": default}, made.read)
        except (TypeError, ValueError):
            pass  # The default still applies; the model just does not see it.
    return _Field(made, required=False)


def _object(fields: Mapping[str, _Field], build: Callable[[Dict[str, Any]], Any], open_ended: bool = False) -> Shape:
    schema: Schema = {"type": "object", "properties": {name: field.shape.schema for name, field in fields.items()}}
    required = [name for name, field in fields.items() if field.required]
    if required:
        schema["required"] = required
    if not open_ended:
        schema["additionalProperties"] = False

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(path or "the arguments", "an object", value)
        prefix = f"{path}." if path else ""
        problems = [f"{prefix}{name} is required" for name in required if name not in value]
        values: Dict[str, Any] = {}
        for name, item in value.items():
            field = fields.get(name)
            if field is not None:
                try:
                    values[name] = field.shape.read(item, f"{prefix}{name}")
                except InvalidArguments as error:
                    problems += error.problems
            elif open_ended:
                values[name] = item
            else:
                problems.append(f"{prefix}{name} is unknown (known: {', '.join(fields) or 'none'})")
        if problems:
            raise InvalidArguments(problems)
        return build(values)

    return Shape(schema, read)


def _dataclass(hint: Any, inside: Tuple[Any, ...]) -> Shape:
    hints = _hints(hint)
    fields: Dict[str, _Field] = {}
    for field in dataclasses.fields(hint):
        if field.init:
            default = field.default
            if default is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
                default = None
            fields[field.name] = _field(hints[field.name], field.name, default, dataclasses.MISSING, inside)

    def build(values: Dict[str, Any]) -> Any:
        try:
            return hint(**values)
        except ValueError as error:  # What __post_init__ rejects is the model's mistake.
            raise InvalidArguments([str(error)]) from error

    return _object(fields, build)


def _is_typed_dict(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__required_keys__")


def _typed_dict(hint: Any, inside: Tuple[Any, ...]) -> Shape:
    fields: Dict[str, _Field] = {}
    for name, field_hint in _hints(hint).items():
        required = name in hint.__required_keys__
        # Under postponed annotations the class itself does not see these marks (python/cpython#97727).
        mark = getattr(typing.get_origin(field_hint), "_name", None)
        if mark in ("Required", "NotRequired"):
            required, field_hint = mark == "Required", typing.get_args(field_hint)[0]
        fields[name] = _Field(shape(field_hint, name, inside), required)
    return _object(fields, lambda values: values)


def _choice(values: List[Any], members: Mapping[Any, Any]) -> Shape:
    schema: Schema = {"enum": values}
    kinds = {type(value) for value in values}
    names = {str: "string", int: "integer", bool: "boolean"}
    if len(kinds) == 1 and next(iter(kinds)) in names:
        schema = {"type": names[next(iter(kinds))], "enum": values}

    def read(value: Any, path: str) -> Any:
        for known in values:
            # True == 1 in Python, but not in JSON.
            if known == value and isinstance(known, bool) == isinstance(value, bool):
                return members.get(known, known)
        raise _wrong(path, "one of " + ", ".join(_shown(known) for known in values), value)

    return Shape(schema, read)


def _enumeration(hint: Any) -> Shape:
    members = {member.value: member for member in hint}
    return _choice(list(members), members)


def _union(options: List[Shape]) -> Shape:
    def read(value: Any, path: str) -> Any:
        problems: List[str] = []
        for option in options:
            try:
                return option.read(value, path)
            except InvalidArguments as error:
                problems += error.problems
        start = f"{path} must be "
        if all(problem.startswith(start) for problem in problems):
            expected = [problem[len(start) :].rsplit(", not ", 1)[0] for problem in problems]
            raise _wrong(path, " or ".join(dict.fromkeys(expected)), value)
        raise InvalidArguments(problems)

    return Shape({"anyOf": [option.schema for option in options]}, read)


def _annotated(made: Shape, metadata: Tuple[Any, ...]) -> Shape:
    description = next((item for item in metadata if isinstance(item, str)), None)
    return made if description is None else Shape({**made.schema, "description": description}, made.read)


def _item(arguments: Tuple[Any, ...], name: str, inside: Tuple[Any, ...]) -> Shape:
    return shape(arguments[0] if arguments else Any, name, inside)


def _read_items(items: List[Tuple[Any, Shape]], path: str) -> List[Any]:
    values, problems = [], []
    for index, (value, item) in enumerate(items):
        try:
            values.append(item.read(value, f"{path}[{index}]"))
        except InvalidArguments as error:
            problems += error.problems
    if problems:
        raise InvalidArguments(problems)
    return values


def _array(item: Shape, build: Callable[[List[Any]], Any], extra: Schema) -> Shape:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise _wrong(path, "an array", value)
        values = _read_items([(one, item) for one in value], path)
        try:
            return build(values)
        except TypeError as error:
            raise InvalidArguments([f"{path}: {error}"]) from error

    return Shape({"type": "array", "items": item.schema, **extra}, read)


def _tuple(arguments: Tuple[Any, ...], name: str, inside: Tuple[Any, ...]) -> Shape:
    if not arguments or (len(arguments) == 2 and arguments[1] is Ellipsis):
        return _array(_item(arguments, name, inside), tuple, {})
    items = [shape(argument, name, inside) for argument in arguments]
    count = len(items)

    def read(value: Any, path: str) -> Any:
        if not isinstance(value, list) or len(value) != count:
            raise _wrong(path, f"an array of {count}", value)
        return tuple(_read_items(list(zip(value, items)), path))

    schema = {"type": "array", "prefixItems": [item.schema for item in items], "minItems": count, "maxItems": count}
    return Shape(schema, read)


def _mapping(item: Shape) -> Shape:
    def read(value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(path, "an object", value)
        values: Dict[str, Any] = {}
        problems: List[str] = []
        for key, one in value.items():
            try:
                values[key] = item.read(one, f"{path}.{key}")
            except InvalidArguments as error:
                problems += error.problems
        if problems:
            raise InvalidArguments(problems)
        return values

    return Shape({"type": "object", "additionalProperties": item.schema}, read)
