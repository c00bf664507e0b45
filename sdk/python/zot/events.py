"""The events of docs/events.md, one class for each type.

An unknown type, or one with unexpected fields, becomes an UnknownEvent.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, List, Optional

from .fields import Frame, mapping, optional_text, text, texts, truth, whole
from .messages import Block, Usage, read_blocks, read_usage, text_of
from .results import McpServer, read_mcp_server


@dataclasses.dataclass
class Event:
    """An event; `raw` is the frame as received, including fields that this version does not know."""

    raw: Frame = dataclasses.field(repr=False)


@dataclasses.dataclass
class UnknownEvent(Event):
    """An event that is newer than this package."""

    type: str


@dataclasses.dataclass
class UserMessage(Event):
    """The prompt, or a steering message, as it joined the conversation."""

    content: List[Block]
    time: Optional[str]

    @property
    def text(self) -> str:
        return text_of(self.content)


@dataclasses.dataclass
class TurnStart(Event):
    """A model call starts; `step` counts from 1 within a prompt."""

    step: int


@dataclasses.dataclass
class AssistantStart(Event):
    """The provider accepted the request."""


@dataclasses.dataclass
class TextDelta(Event):
    """A piece of the answer."""

    delta: str


@dataclasses.dataclass
class ThinkingDelta(Event):
    """A piece of the model's thinking; only after subscribing to it."""

    delta: str


@dataclasses.dataclass
class Retry(Event):
    """A request failed and is retried; only after subscribing to it."""

    failures: int
    wait_ms: int
    message: str


@dataclasses.dataclass
class ToolUseStart(Event):
    """The model starts writing a tool call."""

    id: str
    name: str


@dataclasses.dataclass
class ToolUseArgs(Event):
    """A piece of the call's arguments, as JSON text."""

    id: str
    delta: str


@dataclasses.dataclass
class ToolUseEnd(Event):
    """The call's arguments are complete."""

    id: str


@dataclasses.dataclass
class UsageReport(Event):
    """Usage of the model call, and of all calls since the process started."""

    usage: Usage
    cumulative: Usage


@dataclasses.dataclass
class AssistantMessage(Event):
    """The answer, as it joined the conversation."""

    content: List[Block]
    time: Optional[str]

    @property
    def text(self) -> str:
        return text_of(self.content)


@dataclasses.dataclass
class ToolCall(Event):
    """A tool call that is about to run."""

    id: str
    name: str
    args: Dict[str, Any]


@dataclasses.dataclass
class TurnEnd(Event):
    """The model call is over. `stop`: end, tool_use, length, error, aborted."""

    stop: str
    error: Optional[str]


@dataclasses.dataclass
class ToolProgress(Event):
    """Output of a running tool."""

    id: str
    text: str


@dataclasses.dataclass
class NetworkContact:
    """A host that a command in a sandbox contacted, or wanted to."""

    host: str
    port: int
    allowed: bool


@dataclasses.dataclass
class ToolResult(Event):
    """The result of a tool call. `network` are the hosts that it contacted through the sandbox, or wanted to."""

    id: str
    is_error: bool
    content: List[Block]
    network: List[NetworkContact] = dataclasses.field(default_factory=list)

    @property
    def text(self) -> str:
        return text_of(self.content)


@dataclasses.dataclass
class ToolConfirm(Event):
    """A tool call waits for approval. `preview` shows what it would do, where zot knows."""

    id: str
    name: str
    args: Dict[str, Any]
    preview: Optional[str]
    hint: Optional[str] = None


@dataclasses.dataclass
class ToolQuestion(Event):
    """A running tool asks the user: answer with `client.answer`. Sent only with `questions=True`."""

    id: str
    call_id: str
    #: Who asks, for example an MCP server.
    origin: str
    message: str
    #: The form to fill in, as a JSON Schema, or None if there is an address to open.
    schema: Optional[Dict[str, Any]]
    url: Optional[str]


@dataclasses.dataclass
class SteerDropped(Event):
    """A steering message that was not delivered, because the prompt ended."""

    content: List[Block]


@dataclasses.dataclass
class Error(Event):
    """The prompt or compaction failed; the process stays usable."""

    message: str
    code: str
    retry_after_ms: Optional[int]


@dataclasses.dataclass
class Fallback(Event):
    """A provider failed, and another model takes over the turn."""

    #: Provider and model, as `openai/gpt-5`.
    origin: str
    to: str
    message: str
    code: str


@dataclasses.dataclass
class CompactDone(Event):
    """The conversation was compacted."""

    summary: str


@dataclasses.dataclass
class Done(Event):
    """The prompt is over, whether it succeeded or not."""


@dataclasses.dataclass
class Notice(Event):
    """The base of notices that extensions send on their own; they belong to no prompt."""

    extension: str


@dataclasses.dataclass
class ExtensionNotify(Notice):
    level: str
    message: str


@dataclasses.dataclass
class ExtensionDisplay(Notice):
    text: str


@dataclasses.dataclass
class ExtensionPanel(Notice):
    """The complete content of a panel."""

    panel_id: str
    title: str
    lines: List[str]
    footer: str


@dataclasses.dataclass
class ExtensionPanelClose(Notice):
    panel_id: str


@dataclasses.dataclass
class McpState(Event):
    """The state of an MCP server has changed, also outside of prompts."""

    server: McpServer


def read_event(frame: Frame) -> Event:
    """Never fails for an object with a `type`."""
    kind = frame.get("type")
    reader = _READERS.get(kind)  # type: ignore[arg-type]
    if reader is not None:
        try:
            return reader(frame)
        except (KeyError, TypeError):
            pass
    return UnknownEvent(frame, str(kind))


def _read_panel(f: Frame) -> Event:
    title, footer = optional_text(f, "title") or "", optional_text(f, "footer") or ""
    return ExtensionPanel(f, text(f, "extension"), text(f, "panel_id"), title, texts(f, "lines"), footer)


def _read_error(f: Frame) -> Event:
    wait = None if f.get("retry_after_ms") is None else whole(f, "retry_after_ms")
    return Error(f, text(f, "message"), optional_text(f, "code") or "", wait)


def _read_confirm(f: Frame) -> Event:
    return ToolConfirm(f, text(f, "id"), text(f, "name"), mapping(f, "args"), optional_text(f, "preview"), optional_text(f, "hint"))


def _read_question(f: Frame) -> Event:
    schema = None if f.get("schema") is None else mapping(f, "schema")
    asked = (text(f, "id"), text(f, "call_id"), text(f, "origin"), text(f, "message"))
    return ToolQuestion(f, *asked, schema, optional_text(f, "url"))


def _read_result(f: Frame) -> Event:
    contacts = [NetworkContact(text(c, "host"), whole(c, "port"), truth(c, "allowed")) for c in f.get("network") or []]
    return ToolResult(f, text(f, "id"), truth(f, "is_error"), read_blocks(f, "content"), contacts)


_READERS: Dict[str, Callable[[Frame], Event]] = {
    "user_message": lambda f: UserMessage(f, read_blocks(f, "content"), optional_text(f, "time")),
    "turn_start": lambda f: TurnStart(f, whole(f, "step")),
    "assistant_start": AssistantStart,
    "text_delta": lambda f: TextDelta(f, text(f, "delta")),
    "thinking_delta": lambda f: ThinkingDelta(f, text(f, "delta")),
    "retry": lambda f: Retry(f, whole(f, "failures"), whole(f, "wait_ms"), text(f, "message")),
    "tool_use_start": lambda f: ToolUseStart(f, text(f, "id"), text(f, "name")),
    "tool_use_args": lambda f: ToolUseArgs(f, text(f, "id"), text(f, "delta")),
    "tool_use_end": lambda f: ToolUseEnd(f, text(f, "id")),
    "usage": lambda f: UsageReport(f, read_usage(f), read_usage(mapping(f, "cumulative"))),
    "assistant_message": lambda f: AssistantMessage(f, read_blocks(f, "content"), optional_text(f, "time")),
    "tool_call": lambda f: ToolCall(f, text(f, "id"), text(f, "name"), mapping(f, "args")),
    "turn_end": lambda f: TurnEnd(f, text(f, "stop"), optional_text(f, "error")),
    "tool_progress": lambda f: ToolProgress(f, text(f, "id"), text(f, "text")),
    "tool_result": _read_result,
    "tool_confirm": _read_confirm,
    "tool_question": _read_question,
    "steer_dropped": lambda f: SteerDropped(f, read_blocks(f, "content")),
    "fallback": lambda f: Fallback(f, text(f, "from"), text(f, "to"), text(f, "message"), text(f, "code")),
    "error": _read_error,
    "compact_done": lambda f: CompactDone(f, text(f, "summary")),
    "done": Done,
    "ext_notify": lambda f: ExtensionNotify(f, text(f, "extension"), text(f, "level"), text(f, "message")),
    "ext_display": lambda f: ExtensionDisplay(f, text(f, "extension"), text(f, "text")),
    "mcp_state": lambda f: McpState(f, read_mcp_server(f)),
    "ext_panel": _read_panel,
    "ext_panel_close": lambda f: ExtensionPanelClose(f, text(f, "extension"), text(f, "panel_id")),
}
