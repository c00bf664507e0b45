"""The outcome of a prompt."""

from __future__ import annotations

import dataclasses
from typing import List, Optional

from .errors import PromptFailed
from .events import AssistantMessage, CompactDone, Done, Error, Event, TextDelta, ToolCall, TurnEnd, UsageReport
from .messages import Usage


@dataclasses.dataclass
class Answer:
    """The model's last message as `text`, and how its last turn ended as `stop` (or `aborted`).

    `usage` is the sum of all turns. `error` is set when a turn failed without failing the prompt, because
    an extension stopped it."""

    text: str = ""
    stop: str = ""
    usage: Usage = dataclasses.field(default_factory=Usage)
    tool_calls: List[ToolCall] = dataclasses.field(default_factory=list)
    error: Optional[str] = None


class AnswerBuilder:
    """Collects the outcome of one prompt from its events."""

    def __init__(self) -> None:
        self.answer = Answer()
        self.failure: Optional[PromptFailed] = None
        self.summary: Optional[str] = None
        self._pieces: List[str] = []

    def add(self, event: Event) -> None:
        kind = event.__class__
        if kind is TextDelta:
            self._pieces.append(event.delta)  # type: ignore[attr-defined]
            return
        answer = self.answer
        if isinstance(event, AssistantMessage):
            answer.text, self._pieces = event.text, []
        elif isinstance(event, UsageReport):
            answer.usage = answer.usage + event.usage
        elif isinstance(event, ToolCall):
            answer.tool_calls.append(event)
        elif isinstance(event, TurnEnd):
            answer.stop, answer.error = event.stop, event.error
            self._use_pieces()
        elif isinstance(event, Done):
            self._use_pieces()
        elif isinstance(event, CompactDone):
            self.summary = event.summary
        elif isinstance(event, Error):
            wait = None if event.retry_after_ms is None else event.retry_after_ms / 1000
            self.failure = PromptFailed(event.message, event.code, wait)

    def finish(self, aborted: bool) -> None:
        """Completes the answer after the last event. A prompt aborted while tools run has no event that says so."""
        if aborted and self.answer.stop in ("", "tool_use"):
            self.answer.stop = "aborted"

    def _use_pieces(self) -> None:
        # A subscription may leave the whole message out.
        if self._pieces:
            self.answer.text, self._pieces = "".join(self._pieces), []
