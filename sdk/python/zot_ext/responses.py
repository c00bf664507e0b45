"""The values a command may return, and panels."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from .content import HandlerError


@dataclasses.dataclass(frozen=True)
class Prompt:
    """Sends `text` to the agent as the user's message."""

    text: str


@dataclasses.dataclass(frozen=True)
class Insert:
    """Puts `text` into the editor at the cursor, without sending it."""

    text: str


@dataclasses.dataclass(frozen=True)
class Display:
    """Shows `text` in the chat. The model does not see it."""

    text: str


@dataclasses.dataclass(frozen=True)
class Noop:
    """Does nothing; returning None means the same."""


@dataclasses.dataclass
class Panel:
    """A panel of lines. Return it from a command to open it, then change and `render` it."""

    id: str
    title: str = ""
    lines: Sequence[str] = ()
    footer: str = ""
    _send: Optional[Callable[[Dict[str, Any]], None]] = dataclasses.field(
        default=None, repr=False, compare=False
    )

    def render(
        self,
        lines: Optional[Sequence[str]] = None,
        *,
        title: Optional[str] = None,
        footer: Optional[str] = None,
    ) -> None:
        """Redraws the panel; what is not given stays unchanged."""
        if lines is not None:
            self.lines = lines
        if title is not None:
            self.title = title
        if footer is not None:
            self.footer = footer
        self._sender()({"type": "panel_render", "panel_id": self.id, **self._content()})

    def close(self) -> None:
        """Closes the panel."""
        self._sender()({"type": "panel_close", "panel_id": self.id})

    def _sender(self) -> Callable[[Dict[str, Any]], None]:
        if self._send is None:
            raise RuntimeError(f"panel {self.id!r} is not open: return it from a command first")
        return self._send

    def _content(self) -> Dict[str, Any]:
        if isinstance(self.lines, str):
            lines: List[str] = self.lines.split("\n")
        else:
            lines = [str(line) for line in self.lines]
        return {"title": self.title, "lines": lines, "footer": self.footer}


CommandResult = Union[None, str, Prompt, Insert, Display, Noop, Panel, HandlerError]


def command_response_frame(command_id: str, result: object) -> Dict[str, Any]:
    """Returns the response to a command. Raises TypeError if the result is not one a command may return."""
    frame: Dict[str, Any] = {"type": "command_response", "id": command_id}
    if result is None or isinstance(result, Noop):
        frame["action"] = "noop"
    elif isinstance(result, HandlerError):
        frame.update(action="noop", error=str(result))
    elif isinstance(result, str):
        frame.update(action="display", display=result)
    elif isinstance(result, Prompt):
        frame.update(action="prompt", prompt=result.text)
    elif isinstance(result, Insert):
        frame.update(action="insert", insert=result.text)
    elif isinstance(result, Display):
        frame.update(action="display", display=result.text)
    elif isinstance(result, Panel):
        frame.update(action="open_panel", open_panel={"id": result.id, **result._content()})
    else:
        raise TypeError(
            f"a command returned {type(result).__name__}: "
            "return Prompt, Insert, Display, Panel, Noop, a string or None"
        )
    return frame
