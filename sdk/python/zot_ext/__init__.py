"""Write zot extensions in Python: slash commands, tools, events, interception and panels.

    from zot_ext import Extension, Prompt

    ext = Extension("hello", "1.0.0")

    @ext.command("hello", "say hi")
    def hello(args: str):
        return Prompt("Greet me in one short sentence.")

    ext.run()
"""

from .content import CommandError, Image, Text, ToolError, ToolResult
from .events import (
    AssistantMessage,
    Event,
    HelloAck,
    PanelClose,
    PanelKey,
    PanelResize,
    SessionStart,
    ToolCall,
    TurnEnd,
    TurnStart,
)
from .extension import Extension
from .responses import CommandResult, Display, Insert, Noop, Panel, Prompt
from .verdicts import Verdict, allow, block, modify, replace

__version__ = "0.1.0"

__all__ = [
    "AssistantMessage",
    "CommandError",
    "CommandResult",
    "Display",
    "Event",
    "Extension",
    "HelloAck",
    "Image",
    "Insert",
    "Noop",
    "Panel",
    "PanelClose",
    "PanelKey",
    "PanelResize",
    "Prompt",
    "SessionStart",
    "Text",
    "ToolCall",
    "ToolError",
    "ToolResult",
    "TurnEnd",
    "TurnStart",
    "Verdict",
    "__version__",
    "allow",
    "block",
    "modify",
    "replace",
]
