"""What an extension has registered, and the frames for it."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, Callable, Dict, List, Optional, Tuple

from .events import EVENTS, INTERCEPTABLE
from .schema import Shape, UnsupportedType, parameters
from .transport import Frame


class Handler:
    """An author's function, plain or async."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"a handler must be a function, not {type(function).__name__}")
        self.function = function
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)
        )

    @classmethod
    def of_one_argument(cls, function: Callable[..., Any]) -> Tuple[Handler, bool]:
        """Returns the handler, and whether it takes the argument."""
        handler = cls(function)
        signature = inspect.signature(function)
        for arguments in ((None,), ()):
            try:
                signature.bind(*arguments)
            except TypeError:
                continue
            return handler, bool(arguments)
        name = getattr(function, "__qualname__", repr(function))
        raise TypeError(f"{name}{signature} must take one argument or none")


class Callback:
    """A handler that takes one argument, or none."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.handler, self._takes_argument = Handler.of_one_argument(function)

    def arguments(self, value: object) -> Tuple[object, ...]:
        return (value,) if self._takes_argument else ()


@dataclasses.dataclass(frozen=True)
class Command:
    name: str
    description: str
    callback: Callback

    def frame(self) -> Frame:
        return {"type": "register_command", "name": self.name, "description": self.description}


@dataclasses.dataclass(frozen=True)
class Tool:
    """A tool. `shape` is None if the author wrote the schema: the handler then takes the arguments unchecked."""

    name: str
    description: str
    schema: Dict[str, Any]
    handler: Handler
    shape: Optional[Shape]

    def frame(self) -> Frame:
        return {
            "type": "register_tool",
            "name": self.name,
            "description": self.description,
            "schema": self.schema,
        }

    def arguments(self, args: object) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
        """Returns positional and keyword arguments. Raises InvalidArguments."""
        args = {} if args is None else args
        if self.shape is None:
            return (args,), {}
        return (), self.shape.read(args, "")


def make_tool(
    function: Callable[..., Any],
    name: Optional[str],
    description: Optional[str],
    written_schema: Optional[Dict[str, Any]],
) -> Tool:
    """Makes a tool. Raises TypeError if the schema is not that of an object, or cannot be derived."""
    name = name or function.__name__
    description = description or inspect.getdoc(function) or ""
    if written_schema is not None:
        if written_schema.get("type") != "object":
            raise TypeError(f'tool {name!r}: a tool\'s schema must be an object with "type": "object"')
        return Tool(name, description, written_schema, Handler(function), None)
    try:
        shape = parameters(function)
    except UnsupportedType as error:
        raise UnsupportedType(f"tool {name!r}: {error}") from error
    return Tool(name, description, shape.schema, Handler(function), shape)


@dataclasses.dataclass(frozen=True)
class Interceptor:
    """An interceptor; without `on_error` the manifest's `on_failure` applies."""

    callback: Callback
    on_error: Optional[str]


class Registry:
    """Everything registered so far."""

    def __init__(self) -> None:
        self.commands: Dict[str, Command] = {}
        self.tools: Dict[str, Tool] = {}
        self.observers: Dict[str, List[Callback]] = {}
        self.interceptors: Dict[str, List[Interceptor]] = {}
        self.panel_callbacks: Dict[Tuple[str, str], List[Callback]] = {}
        self.start: List[Callback] = []
        self.shutdown: List[Handler] = []
        self.hold_text = False

    def add_observer(self, event: str, function: Callable[..., Any]) -> None:
        if event not in EVENTS:
            raise ValueError(f"unknown event {event!r}: expected one of {', '.join(EVENTS)}")
        self.observers.setdefault(event, []).append(Callback(function))

    def add_interceptor(self, event: str, function: Callable[..., Any], on_error: Optional[str]) -> None:
        if event not in INTERCEPTABLE:
            raise ValueError(f"cannot intercept {event!r}: expected one of {', '.join(INTERCEPTABLE)}")
        if on_error not in (None, "allow", "block"):
            raise ValueError(f'on_error must be "allow" or "block", not {on_error!r}')
        self.interceptors.setdefault(event, []).append(Interceptor(Callback(function), on_error))

    def registration_frames(self) -> List[Frame]:
        commands = [command.frame() for command in self.commands.values()]
        return commands + [tool.frame() for tool in self.tools.values()]

    def subscription_frames(self) -> List[Frame]:
        """Returns no frame or one. A later subscription replaces an earlier one, so it lists everything."""
        if not self.observers and not self.interceptors:
            return []
        frame: Frame = {
            "type": "subscribe",
            "events": [event for event in EVENTS if event in self.observers],
            "intercept": [event for event in INTERCEPTABLE if event in self.interceptors],
        }
        if self.hold_text:
            frame["hold_text"] = True
        return [frame]

    def has_async_handlers(self) -> bool:
        callbacks = [command.callback for command in self.commands.values()]
        for group in (*self.observers.values(), *self.panel_callbacks.values()):
            callbacks += group
        for interceptors in self.interceptors.values():
            callbacks += [interceptor.callback for interceptor in interceptors]
        handlers = [callback.handler for callback in callbacks] + [tool.handler for tool in self.tools.values()]
        return any(handler.is_async for handler in handlers)
