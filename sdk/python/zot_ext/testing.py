"""A host for tests: drives an extension as zot does, in this process or as a program.

    with Host(ext) as host:
        assert host.call_tool("weather", city="Berlin").text == "Berlin: sunny"
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, TypeVar, Union

from .extension import Extension
from .transport import Frame, FrameReader, FrameWriter

T = TypeVar("T")

TIMEOUT_SECONDS = 10.0


class HostError(AssertionError):
    """The extension did not do what the protocol or the test expects."""


@dataclasses.dataclass(frozen=True)
class RegisteredTool:
    name: str
    description: str
    schema: Dict[str, Any]


@dataclasses.dataclass(frozen=True)
class ToolOutcome:
    """A `tool_result`; `text` is its text blocks, joined by line feeds."""

    text: str
    content: List[Dict[str, Any]]
    is_error: bool


@dataclasses.dataclass(frozen=True)
class CommandOutcome:
    """A `command_response`; `text` is the prompt, the inserted or the displayed text."""

    action: str
    text: str
    panel: Optional[Dict[str, Any]]
    error: str


@dataclasses.dataclass(frozen=True)
class InterceptOutcome:
    block: bool
    reason: str
    modified_args: Optional[Dict[str, Any]]
    replace_text: Optional[str]


@dataclasses.dataclass(frozen=True)
class Notification:
    level: str
    message: str


class Pending:
    """A request whose response has not arrived yet."""

    def __init__(self, host: Host, request_id: str, what: str) -> None:
        self._host = host
        self._id = request_id
        self._what = what

    def result(self, timeout: float = TIMEOUT_SECONDS) -> Frame:
        """Waits for the response frame."""
        return self._host.wait_for(lambda: self._host._responses.get(self._id), self._what, timeout)

    def done(self) -> bool:
        return self._id in self._host._responses


class Host:
    """Connects to an extension, collects its frames and sends it requests.

    `extension` is an Extension, which runs on threads of this process, or a directory with an
    `extension.json` or a command line, which is started as a process.
    """

    def __init__(
        self,
        extension: Union[Extension, str, os.PathLike[str], Sequence[str]],
        *,
        provider: str = "offline",
        model: str = "offline",
        cwd: Optional[str] = None,
        data_dir: Optional[str] = None,
        extension_dir: Optional[str] = None,
    ) -> None:
        self.hello: Frame = {}
        self.ready = False
        self.commands: Dict[str, str] = {}
        self.tools: Dict[str, RegisteredTool] = {}
        self.subscribed: List[str] = []
        self.intercepted: List[str] = []
        self.hold_text = False
        self.notifications: List[Notification] = []
        self.panels: Dict[str, Dict[str, Any]] = {}
        self.frames: List[Frame] = []
        self.acknowledged_shutdown = False
        self.process: Optional[subprocess.Popen[bytes]] = None
        self._responses: Dict[str, Frame] = {}
        self._closed = False
        self._fault = ""
        self._status: Optional[int] = None
        self._changed = threading.Condition()
        self._ids = itertools.count(1)
        self._extension = extension
        self._temporary: Optional[tempfile.TemporaryDirectory[str]] = None
        self._provider, self._model, self._cwd = provider, model, cwd or os.getcwd()
        self._data_dir, self._extension_dir = data_dir, extension_dir

    def __enter__(self) -> Host:
        try:
            self.start()
            self.wait_for(lambda: self.ready, "ready")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Starts the extension and responds to its hello; `with` also waits until it is ready."""
        if self._data_dir is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="zot-ext-")
            self._data_dir = self._temporary.name
        if isinstance(self._extension, Extension):
            self._start_in_process(self._extension)
        else:
            self._start_process(*self._program(self._extension))
        threading.Thread(target=self._collect, daemon=True).start()

    # Requests

    def invoke(self, name: str, args: str = "", *, timeout: float = TIMEOUT_SECONDS) -> CommandOutcome:
        """Runs a slash command."""
        self._must_have("command", name, self.commands)
        frame = self.request("command_invoked", name=name, args=args).result(timeout)
        action = str(frame.get("action", ""))
        panel = frame.get("open_panel") if action == "open_panel" else None
        if panel is not None:
            self.panels[panel["id"]] = panel
        return CommandOutcome(action, str(frame.get(action, "") if panel is None else ""), panel, frame.get("error", ""))

    def call_tool(
        self, name: str, args: Optional[Dict[str, Any]] = None, /, *, timeout: float = TIMEOUT_SECONDS, **named: Any
    ) -> ToolOutcome:
        """Calls a tool as the model would, with a dict of arguments or with keywords (except `timeout`)."""
        frame = self.begin_tool_call(name, {**(args or {}), **named}).result(timeout)
        content = frame.get("content") or []
        text = "\n".join(block["text"] for block in content if block.get("type") == "text")
        return ToolOutcome(text, content, frame.get("is_error", False))

    def begin_tool_call(self, name: str, args: Optional[Dict[str, Any]] = None) -> Pending:
        """Calls a tool without waiting for its result."""
        self._must_have("tool", name, self.tools)
        return self.request("tool_call", name=name, args=args or {})

    def intercept(self, event: str, *, timeout: float = TIMEOUT_SECONDS, **fields: Any) -> InterceptOutcome:
        """Runs the interceptors: `host.intercept("tool_call", tool_name="bash", tool_args={...})`."""
        if event not in self.intercepted:
            raise HostError(f"the extension does not intercept {event}; it intercepts {self.intercepted}")
        if event == "tool_call":
            fields = {"tool_id": "call_1", "tool_args": {}, **fields}
        frame = self.request("event_intercept", event=event, **fields).result(timeout)
        return InterceptOutcome(
            frame.get("block", False),
            frame.get("reason", ""),
            frame.get("modified_args"),
            frame.get("replace_text"),
        )

    def emit(self, event: str, **fields: Any) -> None:
        """Sends an event if the extension has subscribed to it."""
        if event in self.subscribed:
            self.send({"type": "event", "event": event, **fields})

    def panel_key(self, panel_id: str, key: str, text: str = "") -> None:
        self.send({"type": "panel_key", "panel_id": panel_id, "key": key, **({"text": text} if text else {})})

    def panel_resize(self, panel_id: str, width: int, height: int) -> None:
        self.send({"type": "panel_resize", "panel_id": panel_id, "width": width, "height": height})

    def panel_close(self, panel_id: str) -> None:
        self.send({"type": "panel_close", "panel_id": panel_id})

    def shutdown(self, timeout: float = TIMEOUT_SECONDS) -> int:
        """Ends the extension as zot does; returns its exit status."""
        self.send({"type": "shutdown"})
        self._close_requests()
        return self.wait_exit(timeout)

    def close_stdin(self) -> None:
        """Closes the extension's input without `shutdown`, as a zot that crashed would."""
        self._close_requests()

    def wait_exit(self, timeout: float = TIMEOUT_SECONDS) -> int:
        if self.process is not None:
            try:
                self._status = self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                raise HostError(f"the extension still runs after {timeout} s") from None
            # Frames sent before its end count, too.
            self.wait_for(lambda: self._closed, "the end of its output", timeout)
        self.wait_for(lambda: self._status is not None, "its end", timeout)
        assert self._status is not None
        return self._status

    def wait_for(self, condition: Callable[[], Optional[T]], what: str = "a condition", timeout: float = TIMEOUT_SECONDS) -> T:
        """Waits until `condition` is true, checking after each frame; returns its value."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                if self._fault:
                    raise HostError(self._fault)
                value = condition()
                if value:
                    return value
                left = deadline - time.monotonic()
                # The condition may depend on the state of the test itself: check often.
                if left <= 0:
                    raise HostError(f"waited {timeout} s for {what}; the last frames: {self.frames[-3:]}")
                if self._closed and not condition():
                    raise HostError(f"the extension ended before {what}")
                self._changed.wait(min(left, 0.02))

    def request(self, kind: str, **fields: Any) -> Pending:
        """Sends a frame with a new id."""
        request_id = str(next(self._ids))
        self.send({"type": kind, "id": request_id, **fields})
        return Pending(self, request_id, f"the response to {kind} {fields.get('name', '')}".strip())

    def send(self, frame: Frame) -> None:
        """Sends any frame."""
        self._writer.send(frame)

    def send_bytes(self, data: bytes) -> None:
        """Sends any bytes, even invalid frames."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._requests, rest) :]

    def close(self) -> None:
        """Ends the extension, if necessary by force, and removes what `start` created."""
        try:
            if self.process is not None and self.process.poll() is None:
                self._close_politely()
                if self.process.poll() is None:
                    self.process.send_signal(signal.SIGKILL)
                self.process.wait()
            elif self.process is None and self._status is None and hasattr(self, "_writer"):
                self._close_politely()
        finally:
            self._close_requests()
            if self._temporary is not None:
                self._temporary.cleanup()
                self._temporary = None

    # Internals

    def _close_politely(self) -> None:
        try:
            self.shutdown(timeout=3.0)
        except (HostError, OSError):
            pass

    def _must_have(self, what: str, name: str, known: Dict[str, Any]) -> None:
        if name not in known:
            raise HostError(f"the extension has no {what} {name!r}; it has {sorted(known)}")

    def _program(self, extension: Union[str, os.PathLike[str], Sequence[str]]) -> List[Any]:
        if not isinstance(extension, (str, os.PathLike)):
            return [list(extension), self._extension_dir or os.getcwd()]
        directory = os.path.abspath(os.fspath(extension))
        with open(os.path.join(directory, "extension.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        program = str(manifest["exec"])
        path = os.path.join(directory, program)
        if not os.path.exists(path) and os.sep not in program:
            path = shutil.which(program) or program
        return [[path, *manifest.get("args", [])], directory]

    def _start_process(self, command: List[str], directory: str) -> None:
        self._extension_dir = self._extension_dir or directory
        self.process = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self._connect(self.process.stdin.fileno(), self.process.stdout.fileno())

    def _start_in_process(self, extension: Extension) -> None:
        self._extension_dir = self._extension_dir or self._data_dir
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        self._connect(ours_out, ours_in)

        def serve() -> None:
            try:
                self._status = extension.serve(theirs_in, theirs_out)
            finally:
                os.close(theirs_in)
                os.close(theirs_out)

        threading.Thread(target=serve, name="zot-extension", daemon=True).start()

    def _connect(self, requests: int, responses: int) -> None:
        self._requests, self._responses_end = requests, responses
        self._writer = FrameWriter(requests)

    def _close_requests(self) -> None:
        requests = getattr(self, "_requests", None)
        if requests is None:
            return
        self._requests = None  # type: ignore[assignment]
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
        else:
            os.close(requests)

    def _collect(self) -> None:
        for frame in FrameReader(self._responses_end):
            with self._changed:
                self.frames.append(frame)
                self._note(frame)
                self._changed.notify_all()
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self.process is not None and self.process.stdout is not None:
            self.process.stdout.close()
        else:
            os.close(self._responses_end)

    def _note(self, frame: Frame) -> None:
        kind = frame["type"]
        if kind == "hello":
            self.hello = frame
            self.send({
                "type": "hello_ack",
                "protocol_version": 1,
                "zot_version": "test",
                "provider": self._provider,
                "model": self._model,
                "cwd": self._cwd,
                "extension_dir": self._extension_dir,
                "data_dir": self._data_dir,
            })
        elif kind == "register_command":
            self.commands[frame["name"]] = frame.get("description", "")
        elif kind == "register_tool":
            tool = RegisteredTool(frame["name"], frame.get("description", ""), frame["schema"])
            self.tools[tool.name] = tool
        elif kind == "subscribe":
            self.subscribed = frame.get("events", [])
            self.intercepted = frame.get("intercept", [])
            self.hold_text = frame.get("hold_text", False)
        elif kind == "ready":
            self.ready = True
        elif kind == "notify":
            self.notifications.append(Notification(frame.get("level", ""), frame.get("message", "")))
        elif kind == "panel_render":
            self.panels[frame["panel_id"]] = {**frame, "id": frame["panel_id"]}
        elif kind == "panel_close":
            self.panels.pop(frame["panel_id"], None)
        elif kind == "shutdown_ack":
            self.acknowledged_shutdown = True
        elif "id" in frame:
            if frame["id"] in self._responses:
                self._fault = f"a second response to {frame['id']}: {frame}"
            self._responses[frame["id"]] = frame
