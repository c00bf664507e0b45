"""The verdicts of interceptors."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Mapping, Optional

from .events import AssistantMessage, Event, ToolCall


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The verdict of an interceptor, made by `allow`, `block`, `modify` or `replace`; None allows."""

    blocked: bool = False
    reason: str = ""
    args: Optional[Dict[str, Any]] = None
    text: Optional[str] = None


def allow() -> Verdict:
    """Allows the event."""
    return Verdict()


def block(reason: str) -> Verdict:
    """Blocks the event. The model reads the reason as the tool's error."""
    return Verdict(blocked=True, reason=reason)


def modify(args: Mapping[str, Any]) -> Verdict:
    """Runs a tool call with exactly these arguments instead of the model's."""
    return Verdict(args=dict(args))


def replace(text: str) -> Verdict:
    """Replaces the text of the assistant's message."""
    return Verdict(text=text)


def apply(event: Event, verdict: object) -> Event:
    """Returns the event for the next interceptor. Raises TypeError for a verdict that does not fit."""
    if not isinstance(verdict, Verdict):
        raise TypeError(
            f"an interceptor returned {type(verdict).__name__}: "
            "return None, allow(), block(reason), modify(args) or replace(text)"
        )
    if verdict.args is not None:
        if not isinstance(event, ToolCall):
            raise TypeError("modify(args) is for tool_call interceptors only")
        event = dataclasses.replace(event, tool_args=verdict.args)
    if verdict.text is not None:
        if not isinstance(event, AssistantMessage):
            raise TypeError("replace(text) is for assistant_message interceptors only")
        event = dataclasses.replace(event, text=verdict.text)
    return event


def intercept_response_frame(intercept_id: str, before: Event, after: Event, verdict: Verdict) -> Dict[str, Any]:
    """Returns the response to an intercept, after all its interceptors have run."""
    frame: Dict[str, Any] = {"type": "event_intercept_response", "id": intercept_id, "block": verdict.blocked}
    if verdict.blocked:
        frame["reason"] = verdict.reason
    elif after is not before and isinstance(after, ToolCall):
        frame["modified_args"] = after.tool_args
    elif after is not before and isinstance(after, AssistantMessage):
        frame["replace_text"] = after.text
    return frame
