"""The events that zot sends to an extension. Attributes have the names of the wire."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Union

if TYPE_CHECKING:
    from .responses import Panel


@dataclasses.dataclass(frozen=True)
class HelloAck:
    """zot's response to the extension's hello."""

    protocol_version: int = 1
    zot_version: str = ""
    provider: str = ""
    model: str = ""
    cwd: str = ""
    extension_dir: str = ""
    data_dir: str = ""


@dataclasses.dataclass(frozen=True)
class SessionStart:
    """A session has started."""


@dataclasses.dataclass(frozen=True)
class TurnStart:
    """A model call is about to start; `step` counts from 1 within each prompt."""

    step: int = 0


@dataclasses.dataclass(frozen=True)
class TurnEnd:
    """A model call has ended. `stop` is end, tool_use, length, error or aborted."""

    stop: str = ""
    error: Optional[str] = None


@dataclasses.dataclass(frozen=True)
class ToolCall:
    """The model calls a tool: a built-in one, or one of any extension."""

    tool_id: str
    tool_name: str
    tool_args: Dict[str, Any]


@dataclasses.dataclass(frozen=True)
class AssistantMessage:
    """The model's message is complete; `text` is empty if it consists of tool calls only."""

    text: str = ""


Event = Union[SessionStart, TurnStart, TurnEnd, ToolCall, AssistantMessage]


@dataclasses.dataclass(frozen=True)
class PanelKey:
    """A key pressed in a panel. `key` is "rune" if it types `text` (including a space), otherwise its name: up, down,
    left, right, home, end, pageup, pagedown, enter, tab, backspace, delete, insert, f1, paste (with its text),
    ctrl+a, shift+tab. Esc is not sent: it closes the panel."""

    panel: Panel
    key: str
    text: str = ""

    @property
    def panel_id(self) -> str:
        return self.panel.id


@dataclasses.dataclass(frozen=True)
class PanelResize:
    """The size of a panel, in cells."""

    panel: Panel
    width: int
    height: int

    @property
    def panel_id(self) -> str:
        return self.panel.id


@dataclasses.dataclass(frozen=True)
class PanelClose:
    """The user closed a panel."""

    panel: Panel

    @property
    def panel_id(self) -> str:
        return self.panel.id


EVENTS = ("session_start", "turn_start", "turn_end", "tool_call", "assistant_message")
INTERCEPTABLE = ("tool_call", "turn_start", "assistant_message")


def _text(frame: Mapping[str, Any], field: str) -> str:
    value = frame.get(field)
    return value if isinstance(value, str) else ""


def _number(frame: Mapping[str, Any], field: str) -> int:
    value = frame.get(field)
    return int(value) if isinstance(value, (int, float)) else 0


def _tool_call(frame: Mapping[str, Any]) -> ToolCall:
    args = frame.get("tool_args")
    return ToolCall(_text(frame, "tool_id"), _text(frame, "tool_name"), args if isinstance(args, dict) else {})


_READERS: Dict[str, Callable[[Mapping[str, Any]], Event]] = {
    "session_start": lambda frame: SessionStart(),
    "turn_start": lambda frame: TurnStart(_number(frame, "step")),
    "turn_end": lambda frame: TurnEnd(_text(frame, "stop"), _text(frame, "error") or None),
    "tool_call": _tool_call,
    "assistant_message": lambda frame: AssistantMessage(_text(frame, "text")),
}


def read_event(frame: Mapping[str, Any]) -> Optional[Event]:
    """Returns the event of an `event` or `event_intercept` frame; None for one that this SDK does not know."""
    reader = _READERS.get(_text(frame, "event"))
    return None if reader is None else reader(frame)


def read_hello_ack(frame: Mapping[str, Any]) -> HelloAck:
    return HelloAck(
        protocol_version=_number(frame, "protocol_version"),
        zot_version=_text(frame, "zot_version"),
        provider=_text(frame, "provider"),
        model=_text(frame, "model"),
        cwd=_text(frame, "cwd"),
        extension_dir=_text(frame, "extension_dir"),
        data_dir=_text(frame, "data_dir"),
    )


def read_panel_event(frame: Mapping[str, Any], panel: Panel) -> Union[PanelKey, PanelResize, PanelClose]:
    if frame["type"] == "panel_key":
        return PanelKey(panel, _text(frame, "key"), _text(frame, "text"))
    if frame["type"] == "panel_resize":
        return PanelResize(panel, _number(frame, "width"), _number(frame, "height"))
    return PanelClose(panel)
