"""The class that authors use: decorators to register, methods to talk to zot."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import (
    TYPE_CHECKING,
    Any,
    Awaitable,
    Callable,
    Dict,
    Literal,
    NoReturn,
    Optional,
    Protocol,
    Sequence,
    TypeVar,
    Union,
    cast,
    overload,
)

from .events import (
    AssistantMessage,
    HelloAck,
    PanelClose,
    PanelKey,
    PanelResize,
    SessionStart,
    ToolCall,
    TurnEnd,
    TurnStart,
)
from .registry import Callback, Command, Handler, Registry, Tool, make_tool
from .responses import Panel
from .runtime import Runtime
from .transport import Frame, claim_stdio, log
from .verdicts import Verdict

if TYPE_CHECKING:
    from pathlib import Path

R = TypeVar("R")
Function = TypeVar("Function", bound=Callable[..., Any])
E = TypeVar("E")
V = TypeVar("V", bound=Union[None, Verdict, Awaitable[Optional[Verdict]]])
Level = Literal["info", "success", "warn", "error"]
OnError = Optional[Literal["allow", "block"]]


class Observe(Protocol[E]):
    """A decorator for handlers of `E`, plain or async, with or without the argument."""

    @overload
    def __call__(self, function: Callable[[E], R]) -> Callable[[E], R]: ...
    @overload
    def __call__(self, function: Callable[[], R]) -> Callable[[], R]: ...


class Judge(Protocol[E]):
    """A decorator for interceptors of `E`."""

    @overload
    def __call__(self, function: Callable[[E], V]) -> Callable[[E], V]: ...
    @overload
    def __call__(self, function: Callable[[], V]) -> Callable[[], V]: ...


# How long atexit functions and the last flush may take.
_EXIT_SECONDS = 0.3


class Extension:
    """A zot extension. Register with the decorators, then call `run` as the last line."""

    def __init__(self, name: str, version: str = "0.0.0") -> None:
        self.name = name
        self.version = version
        self._registry = Registry()
        self._runtime: Optional[Runtime] = None

    # Registering

    def command(self, name: str, description: str = "") -> Callable[[Function], Function]:
        """Registers a slash command. The handler takes the text after its name, or no argument, and
        returns Prompt, Insert, Display, Panel, a string (shown) or None."""
        _must_be_name(name, "@ext.command(name)")

        def register(function: Function) -> Function:
            shown = description or (function.__doc__ or "").strip().split("\n")[0]
            command = Command(name.lstrip("/"), shown, Callback(function))
            self._registry.commands[command.name] = command
            self._announce(command.frame())
            return function

        return register

    def tool(
        self,
        name: Optional[str] = None,
        description: Optional[str] = None,
        *,
        schema: Optional[Dict[str, Any]] = None,
    ) -> Callable[[Function], Function]:
        """Registers a tool the model can call. Without `schema` it comes from the signature, and
        arguments are checked against it; with `schema` the handler takes them as one dict.
        Name and description default to those of the function."""
        if name is not None:
            _must_be_name(name, "@ext.tool()")

        def register(function: Function) -> Function:
            self.add_tool(make_tool(function, name, description, schema))
            return function

        return register

    def add_tool(self, tool: Tool) -> None:
        """Registers a tool made by `make_tool`."""
        self._registry.tools[tool.name] = tool
        self._announce(tool.frame())

    @overload
    def on(self, event: Literal["session_start"]) -> Observe[SessionStart]: ...
    @overload
    def on(self, event: Literal["turn_start"]) -> Observe[TurnStart]: ...
    @overload
    def on(self, event: Literal["turn_end"]) -> Observe[TurnEnd]: ...
    @overload
    def on(self, event: Literal["tool_call"]) -> Observe[ToolCall]: ...
    @overload
    def on(self, event: Literal["assistant_message"]) -> Observe[AssistantMessage]: ...
    def on(self, event: str) -> Any:
        """Observes an event. Handlers run one at a time, in the order of the events."""

        def register(function: Function) -> Function:
            self._registry.add_observer(event, function)
            self._announce_subscription()
            return function

        return register

    @overload
    def intercept(self, event: Literal["tool_call"], *, on_error: OnError = None) -> Judge[ToolCall]: ...
    @overload
    def intercept(self, event: Literal["turn_start"], *, on_error: OnError = None) -> Judge[TurnStart]: ...
    @overload
    def intercept(
        self, event: Literal["assistant_message"], *, on_error: OnError = None, hold_text: bool = False
    ) -> Judge[AssistantMessage]: ...
    def intercept(self, event: str, *, on_error: OnError = None, hold_text: bool = False) -> Any:
        """Decides about an event before it happens: the handler returns None or allow(), block(reason),
        modify(args) or replace(text), within 5 s. If it raises, `on_error` decides, otherwise the
        manifest's `on_failure`, otherwise the event is allowed. `hold_text` delays showing the text until
        the interceptor has seen it."""

        def register(function: Function) -> Function:
            self._registry.add_interceptor(event, function, on_error)
            self._registry.hold_text |= hold_text
            self._announce_subscription()
            return function

        return register

    def on_panel_key(self, panel_id: str) -> Observe[PanelKey]:
        """Called for each key pressed in a panel; a Panel it returns is drawn."""
        return self._panel_decorator("panel_key", panel_id)

    def on_panel_resize(self, panel_id: str) -> Observe[PanelResize]:
        """Called with the size of a panel; a Panel it returns is drawn."""
        return self._panel_decorator("panel_resize", panel_id)

    def on_panel_close(self, panel_id: str) -> Observe[PanelClose]:
        """Called when the user has closed a panel."""
        return self._panel_decorator("panel_close", panel_id)

    def on_start(self, function: Function) -> Function:
        """Called with the HelloAck before `ready` is sent, to register what depends on the model or the
        directory. zot waits 3 s for it."""
        self._registry.start.append(Callback(function))
        return function

    def on_shutdown(self, function: Function) -> Function:
        """Called when zot ends, for at most about a second; the last one registered is called first."""
        self._registry.shutdown.append(Handler(function))
        return function

    # Talking to zot

    def notify(self, level: Level, message: str) -> None:
        """Shows a notice to the user. Works at any time and from any thread once `run` has been called."""
        self._connected().send({"type": "notify", "level": level, "message": message})

    def render_panel(
        self,
        panel_id: str,
        lines: Optional[Sequence[str]] = None,
        *,
        title: Optional[str] = None,
        footer: Optional[str] = None,
    ) -> None:
        """Redraws an open panel; what is not given stays unchanged."""
        self._connected().panel(panel_id).render(lines, title=title, footer=footer)

    def close_panel(self, panel_id: str) -> None:
        """Closes a panel."""
        runtime = self._connected()
        runtime.panel(panel_id).close()
        runtime.panels.pop(panel_id, None)

    @property
    def hello_ack(self) -> HelloAck:
        """zot's response to hello: provider, model, cwd, extension_dir, data_dir."""
        hello_ack = self._connected().hello_ack
        if hello_ack is None:
            raise RuntimeError("zot has not responded yet: use on_start or a handler")
        return hello_ack

    @property
    def data_dir(self) -> Path:
        """The directory for the extension's state; created if missing."""
        from pathlib import Path

        directory = Path(self.hello_ack.data_dir or self.hello_ack.extension_dir or ".")
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    @property
    def stopping(self) -> threading.Event:
        """Set when zot ends, for background threads: `while not ext.stopping.wait(60): ...`."""
        return self._connected().stopping

    # Running

    def run(self) -> NoReturn:
        """Serves zot on standard input and output until it ends, then exits the process.

        `print` writes to standard error meanwhile. Code after `run` is never reached: use `on_shutdown`
        to clean up; atexit functions run, too."""
        if sys.stdin is not None and sys.stdin.isatty():
            log(f"{self.name} is a zot extension and expects zot on its standard input; try: zot --ext DIRECTORY")
        runtime = self._open(*claim_stdio())
        if threading.current_thread() is threading.main_thread():
            _end_on_sigterm(runtime)
        status = self._serve(runtime)
        leaving = threading.Thread(target=_leave, daemon=True)
        leaving.start()
        leaving.join(_EXIT_SECONDS)
        # Not sys.exit, which would wait for the author's threads: a handler may hang forever.
        os._exit(status)

    def serve(self, requests: int, responses: int) -> int:
        """Serves a host on two file descriptors and returns the exit status, without ending the process."""
        runtime = self._open(requests, responses)
        try:
            return self._serve(runtime)
        finally:
            runtime.close()

    def _open(self, requests: int, responses: int) -> Runtime:
        if self._runtime is not None and not self._runtime.stopping.is_set():
            raise RuntimeError(f"{self.name} is already being served")
        return Runtime(self.name, self.version, self._registry, requests, responses)

    def _serve(self, runtime: Runtime) -> int:
        runtime.greet()
        self._runtime = runtime
        return runtime.serve()

    def _connected(self) -> Runtime:
        if self._runtime is None:
            raise RuntimeError("not connected to zot: call this from a handler, after run() was called")
        return self._runtime

    def _announce(self, frame: Frame) -> None:
        if self._runtime is not None and not self._runtime.stopping.is_set():
            self._runtime.send(frame)

    def _announce_subscription(self) -> None:
        if self._runtime is not None and not self._runtime.stopping.is_set():
            self._runtime.announce_subscription()

    def _panel_decorator(self, kind: str, panel_id: str) -> Observe[Any]:
        def register(function: Function) -> Function:
            self._registry.panel_callbacks.setdefault((kind, panel_id), []).append(Callback(function))
            return function

        return cast("Observe[Any]", register)


def _must_be_name(name: object, usage: str) -> None:
    # A decorator without parentheses would otherwise silently register nothing.
    if not isinstance(name, str) or not name:
        raise TypeError(f"expected a name, got {name!r}: write {usage}")


def _end_on_sigterm(runtime: Runtime) -> None:
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return  # The author has a handler.

    def terminate(number: int, frame: object) -> None:
        if runtime.stopping.is_set():
            os._exit(128 + number)
        runtime.end("terminated", 128 + number)

    signal.set_wakeup_fd(runtime.wakeup_descriptor, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, terminate)


def _leave() -> None:
    import atexit

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass
