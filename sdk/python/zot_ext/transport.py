"""Frames on file descriptors: one JSON object per line; standard output is reserved for them."""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
from typing import Any, Dict, Iterator, List, Tuple

Frame = Dict[str, Any]

MAX_FRAME_BYTES = 16 * 1024 * 1024

# How much of an invalid line is logged.
_LOGGED_CHARACTERS = 200


class FrameTooLarge(ValueError):
    """The host would reject this frame."""

    def __init__(self, size: int) -> None:
        super().__init__(f"too large to send: {size} bytes; the limit is {MAX_FRAME_BYTES}")


def log(message: str) -> None:
    """Writes to standard error, which zot appends to the extension's log."""
    try:
        sys.stderr.write(f"zot_ext: {message}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # There is nowhere else to report it.


def encode(frame: Frame) -> bytes:
    """Returns one line. Raises TypeError or ValueError for values without a JSON form."""
    # ASCII only: no reader can mistake U+2028 or U+0085 for the end of the line.
    text = json.dumps(frame, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    if "\\ud" in text:
        # The host would drop a frame with a lone surrogate, as in an undecodable file name.
        text = json.dumps(_mend(frame), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    line = text.encode("ascii")
    if len(line) > MAX_FRAME_BYTES:
        raise FrameTooLarge(len(line))
    return line + b"\n"


def _mend(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_mend(key): _mend(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mend(item) for item in value]
    return value


class FrameReader:
    """Iterates over the frames of a descriptor; other lines are logged and skipped."""

    def __init__(self, descriptor: int) -> None:
        # A copy: the caller may close its own while a thread still waits here.
        self._file = os.fdopen(os.dup(descriptor), "rb")

    def __iter__(self) -> Iterator[Frame]:
        with self._file:
            yield from self._frames()

    def _frames(self) -> Iterator[Frame]:
        while True:
            try:
                # One byte for the line feed, one to detect a line that is too long.
                line = self._file.readline(MAX_FRAME_BYTES + 2)
            except OSError as error:
                log(f"standard input failed: {error}")
                return
            if not line:
                return
            if len(line.rstrip(b"\n")) > MAX_FRAME_BYTES:
                log(f"skipped a line of more than {MAX_FRAME_BYTES} bytes")
                while line and not line.endswith(b"\n"):
                    line = self._file.readline(MAX_FRAME_BYTES)
                continue
            if not line.strip():
                continue
            try:
                frame = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                log(f"skipped an invalid frame: {error}: {line[:_LOGGED_CHARACTERS]!r}")
                continue
            if isinstance(frame, dict) and isinstance(frame.get("type"), str):
                yield frame
            else:
                log(f"skipped a line that is not an object with a type: {line[:_LOGGED_CHARACTERS]!r}")


class FrameWriter:
    """Writes whole lines, from any thread."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._closed = False
        self._lock = threading.Lock()

    def send(self, *frames: Frame) -> None:
        """Sends frames. Raises OSError if the host is gone, or what `encode` raises before anything is written."""
        rest = memoryview(b"".join(encode(frame) for frame in frames))
        with self._lock:
            if self._closed:
                raise OSError(errno.EBADF, "the connection was closed")
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def close(self) -> None:
        """Stops writing. Call it before closing the descriptor, whose number may be reused."""
        with self._lock:
            self._closed = True


def claim_stdio() -> Tuple[int, int]:
    """Reserves standard input and output for frames and returns their descriptors.

    Afterwards `print` and child processes write to standard error, and standard input is at its end. The
    descriptors returned are not inherited by children.
    """
    requests, responses = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        os.dup2(2, 1)
    except OSError:  # Started without a standard error.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    # What was printed so far is still in Python's buffer: it goes to standard error.
    for stream in _text_streams():
        try:
            stream.flush()
            stream.reconfigure(line_buffering=True)
        except (AttributeError, OSError, ValueError):
            pass
    return requests, responses


def _text_streams() -> List[Any]:
    return [stream for stream in (sys.stdout, sys.__stdout__) if stream is not None]
