"""Messages of the conversation, their content, and what they cost."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Optional, Union

from .fields import Frame, number, objects, optional_text, text, truth, whole


@dataclasses.dataclass
class TextBlock:
    text: str
    raw: Frame = dataclasses.field(repr=False)


@dataclasses.dataclass
class ImageBlock:
    """`bytes` is the size; `data`, the image in base64, is present in full messages only."""

    mime_type: str
    bytes: Optional[int]
    data: Optional[str] = dataclasses.field(repr=False)
    raw: Frame = dataclasses.field(repr=False)


@dataclasses.dataclass
class ToolCallBlock:
    id: str
    name: str
    args: Dict[str, Any]
    raw: Frame = dataclasses.field(repr=False)


@dataclasses.dataclass
class ToolResultBlock:
    call_id: str
    is_error: bool
    content: List[Block]
    raw: Frame = dataclasses.field(repr=False)


@dataclasses.dataclass
class ReasoningBlock:
    """The model's thinking; in full messages only."""

    text: str
    raw: Frame = dataclasses.field(repr=False)


@dataclasses.dataclass
class UnknownBlock:
    """A block type that this version does not know."""

    type: str
    raw: Frame = dataclasses.field(repr=False)


Block = Union[TextBlock, ImageBlock, ToolCallBlock, ToolResultBlock, ReasoningBlock, UnknownBlock]


@dataclasses.dataclass
class Message:
    """A message; `raw` is the complete frame, which `set_messages` sends."""

    role: str
    content: List[Block]
    time: Optional[str]
    raw: Frame = dataclasses.field(repr=False)

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return text_of(self.content)


@dataclasses.dataclass
class Usage:
    """Tokens and cost. `input` excludes cached tokens: see docs/events.md."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cost_usd + other.cost_usd,
        )


def read_usage(frame: Frame) -> Usage:
    return Usage(
        whole(frame, "input"),
        whole(frame, "output"),
        whole(frame, "cache_read"),
        whole(frame, "cache_write"),
        number(frame, "cost_usd"),
    )


def read_message(frame: Frame) -> Message:
    return Message(text(frame, "role"), read_blocks(frame, "content"), optional_text(frame, "time"), frame)


def read_blocks(frame: Frame, name: str) -> List[Block]:
    return [_read_block(block) for block in objects(frame, name)]


def text_of(content: List[Block]) -> str:
    return "".join(block.text for block in content if isinstance(block, TextBlock))


def _read_block(block: Frame) -> Block:
    kind = block.get("type")
    try:
        if kind == "text":
            return TextBlock(text(block, "text"), block)
        if kind == "image":
            size = None if block.get("bytes") is None else whole(block, "bytes")
            return ImageBlock(text(block, "mime_type"), size, optional_text(block, "data"), block)
        if kind == "tool_call":
            args = block.get("args")
            return ToolCallBlock(text(block, "id"), text(block, "name"), args if isinstance(args, dict) else {}, block)
        if kind == "tool_result":
            content = read_blocks(block, "content")
            return ToolResultBlock(text(block, "call_id"), truth(block, "is_error"), content, block)
        if kind == "reasoning":
            return ReasoningBlock(optional_text(block, "text") or "", block)
    except (KeyError, TypeError):
        pass  # A newer zot may use another form.
    return UnknownBlock(str(kind), block)
