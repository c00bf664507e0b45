"""Schemas from signatures, and arguments read by them."""

import collections.abc
import dataclasses
import enum
import functools
import pathlib
import sys
import typing
import unittest
from typing import Annotated, Any, Dict, FrozenSet, List, Literal, NewType, Optional, Set, Tuple, TypedDict, Union

import support  # noqa: F401

from zot_ext.schema import InvalidArguments, UnsupportedType, parameters, shape


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    tags: List[str] = dataclasses.field(default_factory=list)
    norm: float = dataclasses.field(init=False, default=0.0)

    def __post_init__(self):
        if self.x < 0:
            raise ValueError("x must not be negative")


class Optionals(TypedDict, total=False):
    limit: int


class Query(Optionals):
    text: str


@dataclasses.dataclass
class Tree:
    children: "List[Tree]"


UserId = NewType("UserId", int)


class Schemas(unittest.TestCase):
    def check(self, hint, schema, good=(), bad=()):
        made = shape(hint)
        self.assertEqual(made.schema, schema)
        for sent, value in good:
            read = made.read(sent, "field")
            self.assertEqual(read, value)
            self.assertIs(type(read), type(value))
        for sent, message in bad:
            with self.assertRaises(InvalidArguments) as caught:
                made.read(sent, "field")
            self.assertEqual(str(caught.exception), message)

    def test_plain_types(self):
        self.check(str, {"type": "string"}, [("a", "a")], [(1, "field must be a string, not 1")])
        self.check(
            int,
            {"type": "integer"},
            [(1, 1), (2.0, 2)],
            [
                (True, "field must be an integer, not true"),
                (1.5, "field must be an integer, not 1.5"),
                ("3", 'field must be an integer, not "3"'),
            ],
        )
        self.check(float, {"type": "number"}, [(1, 1.0), (1.5, 1.5)], [(False, "field must be a number, not false")])
        self.check(bool, {"type": "boolean"}, [(True, True)], [(1, "field must be a boolean, not 1")])
        self.check(None, {"type": "null"}, [(None, None)], [(0, "field must be null, not 0")])
        self.check(Any, {}, [({"a": 1}, {"a": 1})])
        self.check(pathlib.Path, {"type": "string"}, [("/a", pathlib.Path("/a"))])
        self.check(UserId, {"type": "integer"}, [(7, 7)])

    def test_choices(self):
        self.check(
            Literal["a", "b"],
            {"type": "string", "enum": ["a", "b"]},
            [("a", "a")],
            [("c", 'field must be one of "a", "b", not "c"')],
        )
        self.check(Literal["a", 1], {"enum": ["a", 1]}, [(1, 1)], [(True, 'field must be one of "a", 1, not true')])
        self.check(Colour, {"type": "string", "enum": ["red", "blue"]}, [("red", Colour.RED)])

    def test_unions(self):
        null = {"type": "null"}
        self.check(
            Optional[int],
            {"anyOf": [{"type": "integer"}, null]},
            [(None, None), (1, 1)],
            [("x", 'field must be an integer or null, not "x"')],
        )
        self.check(Union[str, List[int]], {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]})
        if sys.version_info >= (3, 10):
            self.check(eval("int | None"), {"anyOf": [{"type": "integer"}, null]}, [(None, None)])

    def test_collections(self):
        integers = {"type": "array", "items": {"type": "integer"}}
        for hint in (List[int], list[int], typing.Sequence[int], collections.abc.Sequence[int]):
            self.check(hint, integers, [([1], [1])], [("x", 'field must be an array, not "x"')])
        self.check(list, {"type": "array", "items": {}}, [([1, "a"], [1, "a"])])
        self.check(Tuple[int, ...], integers, [([1, 2], (1, 2))])
        self.check(Set[int], {**integers, "uniqueItems": True}, [([1, 1], {1})])
        self.check(FrozenSet[int], {**integers, "uniqueItems": True}, [([1], frozenset({1}))])
        self.check(
            Tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
            [([1, "a"], (1, "a"))],
            [([1], "field must be an array of 2, not [1]"), (["a", "b"], 'field[0] must be an integer, not "a"')],
        )
        self.check(
            Dict[str, int],
            {"type": "object", "additionalProperties": {"type": "integer"}},
            [({"a": 1}, {"a": 1})],
            [({"a": "x"}, 'field.a must be an integer, not "x"'), ([], "field must be an object, not []")],
        )
        self.check(dict, {"type": "object", "additionalProperties": {}})

    def test_structures(self):
        self.check(
            Point,
            {
                "type": "object",
                "properties": {
                    "x": {"type": "number"},
                    "y": {"type": "number", "default": 0.0},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["x"],
                "additionalProperties": False,
            },
            [({"x": 1}, Point(1.0)), ({"x": 1, "tags": ["a"]}, Point(1.0, tags=["a"]))],
            [
                ({"y": 1}, "field.x is required"),
                ({"x": -1}, "x must not be negative"),
                ({"x": "a", "tags": [1], "z": 0}, 'field.x must be a number, not "a"; '
                 "field.tags[0] must be a string, not 1; field.z is unknown (known: x, y, tags)"),
            ],
        )
        self.check(
            Query,
            {
                "type": "object",
                "properties": {"limit": {"type": "integer"}, "text": {"type": "string"}},
                "required": ["text"],
                "additionalProperties": False,
            },
            [({"text": "a"}, {"text": "a"})],
            [({"limit": 1}, "field.text is required")],
        )
        self.check(List[Point], {"type": "array", "items": shape(Point).schema}, [([{"x": 1}], [Point(1.0)])])

    @unittest.skipIf(sys.version_info < (3, 11), "NotRequired came with Python 3.11")
    def test_not_required(self):
        made = shape(TypedDict("Marked", {"a": int, "b": typing.NotRequired[int]}))
        self.assertEqual(made.schema["required"], ["a"])
        self.assertEqual(made.schema["properties"]["b"], {"type": "integer"})

    def test_descriptions(self):
        self.check(
            Annotated[int, "how many", object()],
            {"type": "integer", "description": "how many"},
            [(1, 1)],
            [("a", 'field must be an integer, not "a"')],
        )

    def test_long_values_are_cut_in_messages(self):
        with self.assertRaises(InvalidArguments) as caught:
            shape(int).read("x" * 10000, "field")
        self.assertLess(len(str(caught.exception)), 120)


class Parameters(unittest.TestCase):
    def test_defaults_are_optional(self):
        def weather(city: str, days: int = 1, unit: Optional[str] = None, *, raw=False):
            pass

        made = parameters(weather)
        self.assertEqual(made.schema, {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer", "default": 1},
                "unit": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "raw": {"default": False},
            },
            "required": ["city"],
            "additionalProperties": False,
        })
        self.assertEqual(made.read({"city": "Berlin"}, ""), {"city": "Berlin"})
        with self.assertRaises(InvalidArguments) as caught:
            made.read({"days": "three"}, "")
        self.assertEqual(caught.exception.problems, ["city is required", 'days must be an integer, not "three"'])
        with self.assertRaisesRegex(InvalidArguments, "the arguments must be an object"):
            made.read([], "")

    def test_keyword_rest_takes_everything(self):
        def anything(a: int, **rest: str):
            pass

        made = parameters(anything)
        self.assertNotIn("additionalProperties", made.schema)
        self.assertEqual(made.read({"a": 1, "b": 2}, ""), {"a": 1, "b": 2})

    def test_postponed_annotations(self):
        namespace = {}
        exec("from __future__ import annotations\nfrom typing import List\ndef f(a: List[int]): ...", namespace)
        self.assertEqual(parameters(namespace["f"]).schema["properties"]["a"]["type"], "array")

    def test_methods_partials_and_callable_objects(self):
        class Tool:
            def method(self, a: int): ...

            def __call__(self, b: str): ...

        self.assertEqual(list(parameters(Tool().method).schema["properties"]), ["a"])
        self.assertEqual(parameters(Tool()).schema["properties"], {"b": {"type": "string"}})
        def two(a: int, b: int): ...
        self.assertEqual(parameters(functools.partial(two, 1)).schema["properties"], {"b": {"type": "integer"}})

    def test_a_type_without_a_schema_is_rejected_with_a_hint(self):
        def check(function, message):
            with self.assertRaisesRegex(UnsupportedType, message):
                parameters(function)

        def complex_number(z: complex): ...
        def positional(*values: int): ...
        def keys(d: Dict[int, str]): ...
        def recursive(tree: Tree): ...
        def unknown(a: "Missing"): ...  # noqa: F821

        check(complex_number, r"'z': no JSON Schema for the type .*complex.*; pass schema=")
        check(positional, "'values' must be accepted by keyword")
        check(keys, "the keys of a JSON object are strings")
        check(recursive, "'Tree' contains itself")
        check(unknown, "cannot read the type hints of .*Missing.*global names")


if __name__ == "__main__":
    unittest.main()
