"""The values a tool may return, and their form on the wire."""

from __future__ import annotations

import binascii
import dataclasses
import json
from typing import Any, Dict, List, Sequence, Union


class HandlerError(Exception):
    """An expected failure: its message is shown unchanged, and no traceback is logged."""


class ToolError(HandlerError):
    """Raised (or returned) by a tool: the model reads the message as the tool's error."""


class CommandError(HandlerError):
    """Raised (or returned) by a command: the user sees the message as an error."""


@dataclasses.dataclass(frozen=True)
class Text:
    """A block of text."""

    text: str


@dataclasses.dataclass(frozen=True)
class Image:
    """An image for the model: `Image(path.read_bytes(), "image/png")`."""

    data: bytes
    mime: str = "image/png"


Block = Union[Text, Image]


@dataclasses.dataclass(frozen=True)
class ToolResult:
    """Blocks with an error flag, for a failure that has more to show than a message."""

    content: Sequence[Union[str, Block]]
    is_error: bool = False


def tool_result_frame(call_id: str, result: object) -> Dict[str, Any]:
    """Returns the result of a tool call. Raises TypeError or ValueError if it has no JSON form."""
    is_error = isinstance(result, ToolError)
    if isinstance(result, ToolResult):
        is_error, result = result.is_error, list(result.content)
    return {"type": "tool_result", "id": call_id, "content": blocks(result), "is_error": is_error}


def blocks(result: object) -> List[Dict[str, Any]]:
    """Converts a result to blocks. Strings, blocks and lists that contain a block are kept; the rest becomes JSON text."""
    if result is None:
        return []
    if isinstance(result, (list, tuple)) and any(isinstance(item, (Text, Image)) for item in result):
        return [_block(item) for item in result]
    return [_block(result)]


def _block(value: object) -> Dict[str, Any]:
    if isinstance(value, str):
        return {"type": "text", "text": value}
    if isinstance(value, Text):
        return {"type": "text", "text": value.text}
    if isinstance(value, Image):
        data = binascii.b2a_base64(value.data, newline=False).decode("ascii")
        return {"type": "image", "mime_type": value.mime, "data": data}
    if isinstance(value, HandlerError):
        return {"type": "text", "text": str(value)}
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError("a tool returned bytes: wrap an image in Image(data, mime), or decode text")
    return {"type": "text", "text": json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)}


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError(f"a tool returned {type(value).__name__}, which has no JSON form")
