"""One connection to zot: reads frames, runs handlers, responds, and ends in time.

One thread reads and never runs an author's code, so that neither a slow tool nor a hanging
interceptor delays the next frame or the shutdown.
"""

from __future__ import annotations

import inspect
import json
import os
import queue
import threading
import traceback
from typing import Any, Callable, Dict, List, Optional, Tuple

from .content import HandlerError, tool_result_frame
from .events import Event, HelloAck, read_event, read_hello_ack, read_panel_event
from .registry import Callback, Command, Handler, Registry, Tool
from .responses import Panel, command_response_frame
from .schema import InvalidArguments
from .transport import Frame, FrameReader, FrameWriter, log
from .verdicts import Verdict, apply, block, intercept_response_frame
from .workers import Lane, Loop

# Plain tool functions that run at the same time; further ones wait.
TOOL_THREADS = 16
COMMAND_THREADS = 4
INTERCEPT_THREADS = 8

# zot kills an extension 2 s after `shutdown`: cancelling and cleaning up must fit into that.
CANCEL_SECONDS = 0.4
CLEANUP_SECONDS = 1.2

# How long handlers of `on_start` wait for the response to hello.
HELLO_ACK_SECONDS = 5.0


class Runtime:
    """Serves one connection, from hello to its end."""

    def __init__(self, name: str, version: str, registry: Registry, requests: int, responses: int) -> None:
        self._name = name
        self._version = version
        self._registry = registry
        self._reader = FrameReader(requests)
        self._writer = FrameWriter(responses)
        self._tools = Lane("tool", TOOL_THREADS)
        self._commands = Lane("command", COMMAND_THREADS)
        self._intercepts = Lane("intercept", INTERCEPT_THREADS)
        # One thread each, so that events and keys are delivered in order.
        self._events = Lane("event", 1)
        self._panel_events = Lane("panel", 1)
        self._loop = Loop()
        self._ended: queue.SimpleQueue[Tuple[str, int]] = queue.SimpleQueue()
        # A byte in this pipe wakes `serve`. A signal handler can write one at any time, whereas a signal
        # just before a wait for a lock goes unnoticed until the lock is free.
        sleeping, waking = os.pipe()
        os.set_blocking(waking, False)
        self._sleeping, self._waking = os.fdopen(sleeping, "rb", 0), os.fdopen(waking, "wb", 0)
        self._greeted = threading.Event()
        self._registered = False
        self.stopping = threading.Event()
        self.hello_ack: Optional[HelloAck] = None
        self.panels: Dict[str, Panel] = {}

    def greet(self) -> None:
        """Sends hello, which must be the first frame, and `ready` unless `on_start` handlers run first."""
        hello: Frame = {
            "type": "hello",
            "name": self._name,
            "version": self._version,
            "capabilities": ["commands", "tools", "events"],
        }
        self.send(hello, *self._registry.registration_frames(), *([] if self._registry.start else self._final_frames()))

    def serve(self) -> int:
        """Serves until the end and returns the exit status, in time even if handlers hang. Call `greet` first."""
        threading.Thread(target=self._read, name="zot-read", daemon=True).start()
        # From here on this thread writes nothing, so that a host that does not read cannot block its end.
        if self._registry.start:
            threading.Thread(target=self._start, name="zot-start", daemon=True).start()
        elif self._registry.has_async_handlers():
            self._loop.start()
        try:
            reason, status = self._wait_for_end()
        except KeyboardInterrupt:
            reason, status = "interrupted", 130
        self.stopping.set()
        finishing = threading.Thread(target=self._finish, args=(reason,), name="zot-finish", daemon=True)
        finishing.start()
        # A full pipe or an author's clean-up blocks that thread only.
        finishing.join(CLEANUP_SECONDS)
        for lane in (self._tools, self._commands, self._intercepts, self._events, self._panel_events):
            lane.close()
        self._loop.close()
        return status

    def close(self) -> None:
        """Releases the pipe and drops late responses, for a process that keeps running."""
        self._writer.close()
        self._sleeping.close()
        self._waking.close()

    def end(self, reason: str, status: int) -> None:
        """Makes `serve` return. Safe in a signal handler."""
        self._ended.put((reason, status))
        try:
            self._waking.write(b".")
        except (OSError, ValueError):
            pass  # It has already ended.

    @property
    def wakeup_descriptor(self) -> int:
        """For `signal.set_wakeup_fd`."""
        return self._waking.fileno()

    def _wait_for_end(self) -> Tuple[str, int]:
        while True:
            self._sleeping.read(1)
            try:
                return self._ended.get_nowait()
            except queue.Empty:
                continue  # A signal whose Python handler has not run yet.

    def send(self, *frames: Frame) -> None:
        """Sends the frames in one piece; ends the connection if zot is gone."""
        try:
            self._writer.send(*frames)
        except OSError as error:
            if not self.stopping.is_set():
                log(f"zot no longer reads: {error}")
            self.end("gone", 0)

    def announce_subscription(self) -> None:
        """Subscribes again, unless the first subscription has not been sent yet."""
        if self._registered:
            self.send(*self._registry.subscription_frames())

    def _final_frames(self) -> List[Frame]:
        """Returns the frames that end the initial registration."""
        self._registered = True
        return [*self._registry.subscription_frames(), {"type": "ready"}]

    def _start(self) -> None:
        if not self._greeted.wait(HELLO_ACK_SECONDS):
            log("no hello_ack from zot; starting without it")
        for callback in self._registry.start:
            try:
                self._call(callback.handler, callback.arguments(self.hello_ack or HelloAck()))
            except BaseException as error:
                self._report("on_start", error)
        self.send(*self._final_frames())

    def _read(self) -> None:
        handlers: Dict[str, Callable[[Frame], None]] = {
            "hello_ack": self._on_hello_ack,
            "command_invoked": self._on_command,
            "tool_call": self._on_tool_call,
            "event": self._on_event,
            "event_intercept": self._on_intercept,
            "panel_key": self._on_panel_event,
            "panel_resize": self._on_panel_event,
            "panel_close": self._on_panel_event,
        }
        for frame in self._reader:
            if frame["type"] == "shutdown":
                self.end("shutdown", 0)
                return
            handle = handlers.get(frame["type"])
            if handle is None:
                continue  # A newer zot may send frames that this SDK does not know.
            try:
                handle(frame)
            except Exception:
                log(f"skipped a {frame['type']} frame\n{traceback.format_exc()}")
        self.end("end of input", 0)

    def _finish(self, reason: str) -> None:
        if reason == "shutdown":
            self.send({"type": "shutdown_ack"})
        self._loop.cancel_all(CANCEL_SECONDS)
        for handler in reversed(self._registry.shutdown):
            try:
                self._call(handler, ())
            except BaseException as error:
                log(f"on_shutdown failed: {_message(error)}\n{_traceback(error)}")

    def _call(self, handler: Handler, arguments: Tuple[Any, ...]) -> Any:
        """Calls a handler from a lane's thread and waits for it, even if it is a coroutine."""
        result = handler.function(*arguments)
        if inspect.iscoroutine(result):
            return self._loop.spawn(result).result()
        return result

    def _respond(
        self,
        lane: Lane,
        handler: Handler,
        arguments: Callable[[], Tuple[Tuple[Any, ...], Dict[str, Any]]],
        succeed: Callable[[object], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        """Runs a handler on its lane or loop; exactly one of `succeed` and `fail` sends the response."""

        def run() -> None:
            try:
                positional, named = arguments()
                result = handler.function(*positional, **named)
                if inspect.iscoroutine(result):
                    result = self._loop.spawn(result).result()
                succeed(result)
            except BaseException as error:
                fail(error)

        async def run_async() -> None:
            try:
                positional, named = arguments()
                succeed(await handler.function(*positional, **named))
            except BaseException as error:
                if not self.stopping.is_set():
                    fail(error)

        if handler.is_async:
            self._loop.spawn(run_async())
        elif not lane.submit(run):
            fail(HandlerError("too busy: too many calls are waiting for this extension"))

    def _on_hello_ack(self, frame: Frame) -> None:
        self.hello_ack = read_hello_ack(frame)
        self._greeted.set()

    def _on_tool_call(self, frame: Frame) -> None:
        call_id, name = frame["id"], frame.get("name")
        tool: Optional[Tool] = self._registry.tools.get(str(name))

        def succeed(result: object) -> None:
            self.send(tool_result_frame(call_id, result))

        def fail(error: BaseException) -> None:
            if isinstance(error, InvalidArguments):
                message = f"invalid arguments for {name}: {error}"
            else:
                message = _message(error)
                _log_unexpected(f"tool {name}", error)
            content = [{"type": "text", "text": message}]
            self.send({"type": "tool_result", "id": call_id, "content": content, "is_error": True})

        if tool is None:
            fail(HandlerError(f"this extension has no tool {name!r}"))
            return
        known = tool
        self._respond(self._tools, known.handler, lambda: known.arguments(frame.get("args")), succeed, fail)

    def _on_command(self, frame: Frame) -> None:
        command_id, name, args = frame["id"], frame.get("name"), frame.get("args")
        command: Optional[Command] = self._registry.commands.get(str(name))

        def succeed(result: object) -> None:
            if isinstance(result, Panel):
                self.adopt(result)
            self.send(command_response_frame(command_id, result))

        def fail(error: BaseException) -> None:
            _log_unexpected(f"command /{name}", error)
            self.send(command_response_frame(command_id, HandlerError(_message(error))))

        if command is None:
            fail(HandlerError(f"this extension has no command {name!r}"))
            return
        positional = command.callback.arguments(args if isinstance(args, str) else "")
        self._respond(self._commands, command.callback.handler, lambda: (positional, {}), succeed, fail)

    def _on_event(self, frame: Frame) -> None:
        event = read_event(frame)
        callbacks = list(self._registry.observers.get(str(frame.get("event")), ()))
        if event is not None and callbacks:
            self._deliver(self._events, f"event {frame['event']}", callbacks, event)

    def _on_panel_event(self, frame: Frame) -> None:
        panel_id = str(frame["panel_id"])
        panel = self.panel(panel_id)
        event = read_panel_event(frame, panel)
        if frame["type"] == "panel_close":
            self.panels.pop(panel_id, None)
        callbacks = list(self._registry.panel_callbacks.get((frame["type"], panel_id), ()))
        if callbacks:
            self._deliver(self._panel_events, frame["type"], callbacks, event)

    def _deliver(self, lane: Lane, what: str, callbacks: List[Callback], event: object) -> None:
        def run() -> None:
            for callback in callbacks:
                try:
                    result = self._call(callback.handler, callback.arguments(event))
                    if isinstance(result, Panel):
                        self.adopt(result).render()
                except BaseException as error:
                    self._report(what, error)

        if not lane.submit(run):
            log(f"dropped {what}: its handlers are too slow")

    def _on_intercept(self, frame: Frame) -> None:
        intercept_id, event = frame["id"], read_event(frame)

        def run() -> None:
            if event is None:
                self.send({"type": "event_intercept_response", "id": intercept_id, "block": False})
                return
            after, verdict = self._judge(str(frame["event"]), event)
            try:
                self.send(intercept_response_frame(intercept_id, event, after, verdict))
            except (TypeError, ValueError) as error:
                verdict = self._verdict_of_failure(str(frame["event"]), None, error)
                self.send(intercept_response_frame(intercept_id, event, event, verdict))

        if not self._intercepts.submit(run):
            log("dropped an intercept: too many are waiting")

    def _judge(self, name: str, event: Event) -> Tuple[Event, Verdict]:
        """Calls the interceptors one after another: the first block wins, rewrites chain."""
        for interceptor in list(self._registry.interceptors.get(name, ())):
            try:
                verdict = self._call(interceptor.callback.handler, interceptor.callback.arguments(event))
                if verdict is None:
                    continue
                event = apply(event, verdict)
            except BaseException as error:
                verdict = self._verdict_of_failure(name, interceptor.on_error, error)
            if verdict.blocked:
                return event, verdict
        return event, Verdict()

    def _verdict_of_failure(self, name: str, on_error: Optional[str], error: BaseException) -> Verdict:
        policy = on_error or self._manifest_on_failure()
        self._report(f"interceptor of {name} ({policy})", error)
        return block(f"{self._name} failed: {_message(error)}") if policy == "block" else Verdict()

    def _manifest_on_failure(self) -> str:
        directory = self.hello_ack.extension_dir if self.hello_ack else ""
        try:
            with open(os.path.join(directory, "extension.json"), encoding="utf-8") as manifest:
                return "block" if json.load(manifest).get("on_failure") == "block" else "allow"
        except (OSError, ValueError, AttributeError):
            return "allow"

    def _report(self, what: str, error: BaseException) -> None:
        """Shows the user a failure that no response can carry."""
        if self.stopping.is_set():
            return
        _log_unexpected(what, error)
        self.send({"type": "notify", "level": "error", "message": f"{what} failed: {_message(error)}"})

    def adopt(self, panel: Panel) -> Panel:
        """Connects an author's panel, so that it can be drawn."""
        panel._send = self.send
        self.panels[panel.id] = panel
        return panel

    def panel(self, panel_id: str) -> Panel:
        """Returns the open panel with that id, or an empty one for an unknown id."""
        return self.panels.get(panel_id) or Panel(panel_id, _send=self.send)


def _message(error: BaseException) -> str:
    text = str(error)
    if isinstance(error, HandlerError) and text:
        return text
    name = type(error).__name__
    return f"{name}: {text}" if text else name


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def _log_unexpected(what: str, error: BaseException) -> None:
    if not isinstance(error, HandlerError):
        log(f"{what} failed\n{_traceback(error)}")
