"""Every command of docs/rpc.md as data: what to send, and how to read the response."""

from __future__ import annotations

import base64
import dataclasses
import json
import mimetypes
import os
from typing import Any, Callable, Dict, Generic, List, Literal, Optional, Sequence, Set, TypeVar, Union

from zot_ext import Image

from . import results
from .fields import Frame, objects, optional_text, text, texts
from .messages import Message, read_message

T = TypeVar("T")

WhenBusy = Literal["reject", "queue", "steer"]
Remember = Literal["call", "tool", "session"]
AnswerAction = Literal["accept", "decline", "cancel"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
ImageInput = Union[Image, str, "os.PathLike[str]"]
MessageInput = Union[Message, Dict[str, Any]]

# A line is limited to 16 MiB; this leaves room for the rest of the frame.
PIECE_BYTES = 15 * 1024 * 1024

# The client needs these to notice the end of a prompt, and why it failed.
NEEDED_EVENTS = ("error", "done", "compact_done")


@dataclasses.dataclass(frozen=True)
class Budget:
    """Limits for a prompt, or for all prompts of a client; see docs/rpc.md."""

    max_steps: Optional[int] = None
    max_cost_usd: Optional[float] = None
    max_tokens: Optional[int] = None
    timeout_ms: Optional[int] = None

    def fields(self) -> Frame:
        return _given(dataclasses.asdict(self))


@dataclasses.dataclass(frozen=True)
class Request(Generic[T]):
    """`read` decodes the `data` of the response; `starts` returns whether that data starts a stream of events."""

    command: str
    fields: Frame
    read: Callable[[Frame], T]
    starts: Optional[Callable[[Frame], bool]] = None
    # The response may take long, because other work comes first.
    queues: bool = False
    changes_messages: bool = False
    is_setting: bool = False


def hello(token: Optional[str], confirms: bool = False, answers: bool = False) -> Request[results.Hello]:
    capabilities = [name for name, given in (("confirm", confirms), ("questions", answers)) if given] or None
    return Request("hello", _given({"token": token, "capabilities": capabilities}), results.read_hello)


def prompt(message: str, images: Sequence[ImageInput], budget: Optional[Budget], when_busy: WhenBusy) -> Request[bool]:
    """The response says whether a prompt has started; false means that it became a steering message."""
    fields: Frame = {"message": message, "when_busy": when_busy, **(budget.fields() if budget else {})}
    if images:
        fields["images"] = [_image(image) for image in images]
    return Request("prompt", fields, _started, starts=_started, queues=when_busy == "queue")


def compact() -> Request[bool]:
    return Request("compact", {}, _started, starts=_started, queues=True)


def steer(message: str, images: Sequence[ImageInput]) -> Request[None]:
    fields: Frame = {"message": message}
    if images:
        fields["images"] = [_image(image) for image in images]
    return Request("steer", fields, _nothing)


def abort() -> Request[None]:
    return Request("abort", {}, _nothing)


def confirm(
    call_id: str, allow: bool, reason: Optional[str], remember: Remember, args: Optional[Dict[str, Any]]
) -> Request[None]:
    fields = _given({"call_id": call_id, "allow": allow, "reason": reason, "remember": remember, "args": args})
    return Request("confirm", fields, _nothing)


def answer(question_id: str, action: AnswerAction, content: Optional[Dict[str, Any]]) -> Request[None]:
    fields = _given({"question_id": question_id, "action": action, "content": content})
    return Request("answer", fields, _nothing)


def get_state() -> Request[results.State]:
    return Request("get_state", {}, results.read_state)


def get_messages(full: bool) -> Request[List[Message]]:
    return Request("get_messages", {"full": True} if full else {}, _messages)


def get_raw_messages() -> Request[List[Frame]]:
    """The whole conversation as received."""
    return Request("get_messages", {"full": True}, lambda data: objects(data, "messages"))


def set_messages(messages: Sequence[MessageInput], append: bool) -> List[Request[results.MessagesSet]]:
    """Returns several requests if the messages do not fit one line; splits before user messages."""
    requests = []
    for piece in _pieces([message.raw if isinstance(message, Message) else message for message in messages]):
        fields: Frame = {"messages": piece, **({"append": True} if append else {})}
        requests.append(Request("set_messages", fields, results.read_messages_set, changes_messages=True))
        append = True
    return requests


def merge_messages_set(answers: Sequence[results.MessagesSet]) -> results.MessagesSet:
    """Sums up the responses to several pieces."""
    return results.MessagesSet(
        answers[-1].message_count,
        sum(answer.results_added for answer in answers),
        sum(answer.results_dropped for answer in answers),
        sum(answer.messages_dropped for answer in answers),
    )


def clear() -> Request[None]:
    return Request("clear", {}, _nothing, changes_messages=True)


def set_model(model: str) -> Request[str]:
    return Request("set_model", {"model": model}, lambda data: text(data, "model"), is_setting=True)


def get_models() -> Request[List[results.Model]]:
    return Request("get_models", {}, results.read_models)


def set_reasoning(effort: Optional[Effort]) -> Request[Optional[str]]:
    fields = _given({"effort": effort})
    return Request("set_reasoning", fields, lambda data: optional_text(data, "effort"), is_setting=True)


def set_tools(tools: Optional[Sequence[str]]) -> Request[List[results.Tool]]:
    fields: Frame = {} if tools is None else {"tools": list(tools)}
    return Request("set_tools", fields, results.read_tools, is_setting=True)


def as_sandbox(sandbox: Union[str, results.Sandbox]) -> results.Sandbox:
    """Checks what a caller passed: what is not understood must not count as no sandbox."""
    if isinstance(sandbox, str):
        return results.Sandbox(sandbox)
    if not isinstance(sandbox, results.Sandbox):
        raise TypeError(
            "sandbox takes 'off', 'workspace', 'read-only' or a zot.Sandbox, such as "
            f"zot.Sandbox('workspace', connect=['example.com']), not a {type(sandbox).__name__}"
        )
    if not isinstance(sandbox.level, str):
        raise TypeError(f"the level of a Sandbox is 'off', 'workspace' or 'read-only', not {sandbox.level!r}")
    for name in ("read", "write", "run", "connect", "unix_sockets", "environment"):
        # Each character would become an entry, and "/" allow everything.
        if isinstance(getattr(sandbox, name), (str, bytes)):
            raise TypeError(f"{name} of a Sandbox takes a list, not a string")
    return sandbox


def set_sandbox(sandbox: Union[str, results.Sandbox]) -> Request[results.Sandbox]:
    fields = _given(dataclasses.asdict(as_sandbox(sandbox)))
    fields.pop("caveats")
    lists = {name: list(value) for name, value in fields.items() if isinstance(value, (list, tuple))}
    return Request("set_sandbox", {**fields, **lists}, results.read_sandbox, is_setting=True)


def get_tools() -> Request[List[results.Tool]]:
    return Request("get_tools", {}, results.read_tools)


def get_mcp() -> Request[List[results.McpServer]]:
    return Request("get_mcp", {}, results.read_mcp)


def set_system_prompt(system_prompt: Optional[str]) -> Request[None]:
    return Request("set_system_prompt", _given({"prompt": system_prompt}), _nothing, is_setting=True)


def get_usage() -> Request[results.Spent]:
    return Request("get_usage", {}, results.read_spent)


def subscribe(events: Optional[Sequence[str]], details: bool, needed: Set[str]) -> Request[List[str]]:
    fields: Frame = {"details": True} if details else {}
    if events is not None:
        fields["events"] = list(dict.fromkeys([*events, *sorted(needed)]))
    return Request("subscribe", fields, lambda data: texts(data, "events"), is_setting=True)


def get_commands() -> Request[List[results.ExtensionCommand]]:
    return Request("get_commands", {}, results.read_commands)


def invoke_command(name: str, args: str) -> Request[results.CommandOutcome]:
    fields = {"name": name, "args": args}
    return Request("invoke_command", fields, results.read_outcome, starts=lambda data: data.get("action") == "prompt")


def reload_extensions() -> Request[List[results.ExtensionState]]:
    return Request("reload_ext", {}, results.read_extensions)


def panel_key(extension: str, panel_id: str, key: str, typed: Optional[str]) -> Request[None]:
    return Request(
        "panel_key", _given({"extension": extension, "panel_id": panel_id, "key": key, "text": typed}), _nothing
    )


def panel_resize(extension: str, panel_id: str, width: int, height: int) -> Request[None]:
    fields = {"extension": extension, "panel_id": panel_id, "width": width, "height": height}
    return Request("panel_resize", fields, _nothing)


def panel_close(extension: str, panel_id: str) -> Request[None]:
    return Request("panel_close", {"extension": extension, "panel_id": panel_id}, _nothing)


def ping() -> Request[None]:
    return Request("ping", {}, _nothing)


def _given(fields: Frame) -> Frame:
    return {name: value for name, value in fields.items() if value is not None}


def _nothing(_: Frame) -> None:
    return None


def _started(data: Frame) -> bool:
    return data.get("started") is True


def _messages(data: Frame) -> List[Message]:
    return [read_message(message) for message in objects(data, "messages")]


def _image(image: ImageInput) -> Frame:
    if not isinstance(image, Image):
        path = os.fspath(image)
        mime = mimetypes.guess_type(path)[0] or ""
        if not mime.startswith("image/"):
            raise ValueError(f"unknown image type: {path!r}: pass zot.Image(data, mime)")
        with open(path, "rb") as file:
            image = Image(file.read(), mime)
    return {"mime_type": image.mime, "data": base64.b64encode(image.data).decode("ascii")}


def _pieces(messages: List[Frame]) -> List[List[Frame]]:
    pieces: List[List[Frame]] = [[]]
    size = since_user = 0  # Of the piece, and of the messages from its last user message on.
    cut = 0
    for message in messages:
        if message.get("role") == "user":
            cut, since_user = len(pieces[-1]), 0
        length = len(json.dumps(message))
        if size + length > PIECE_BYTES and cut:
            tail = pieces[-1][cut:]
            del pieces[-1][cut:]
            pieces.append(tail)
            size, cut = since_user, 0
        pieces[-1].append(message)
        size += length
        since_user += length
    return pieces
