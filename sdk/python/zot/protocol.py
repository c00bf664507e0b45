"""The conversation with one `zot rpc`, without any input or output.

`Decoder` turns bytes into events and responses; `Session` assigns them to calls and prompts. Both
clients use these and only add reading, writing and waiting.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any, Callable, Dict, Generic, List, Optional, Tuple, TypeVar, cast

from . import commands
from .commands import Request
from .errors import Busy, CommandFailed, ProtocolError, ZotError
from .events import CompactDone, Done, Event, McpState, Notice, read_event
from .fields import Frame

T = TypeVar("T")

# zot rejects longer lines.
MAX_COMMAND_BYTES = 16 * 1024 * 1024

# zot's own lines have no limit; this one stops a program that is not zot from filling memory.
MAX_LINE_BYTES = 1024 * 1024 * 1024

# Events of a prompt that may wait for a slow reader, by their size on the wire and in memory.
MAX_WAITING_COST = 4 * 1024 * 1024
EVENT_COST = 512

_SHOWN_BYTES = 200

# An event, or None for a response; its frame; what it costs to keep.
Item = Tuple[Optional[Event], Frame, int]


class Decoder:
    """Turns bytes, in pieces of any size, into events and responses. Anything else sets `failure`."""

    def __init__(self) -> None:
        self._rest: List[bytes] = []
        self._rest_bytes = 0
        self.failure: Optional[str] = None

    def feed(self, data: bytes) -> List[Item]:
        items: List[Item] = []
        for line in self._lines(data):
            if not line.strip():
                continue
            try:
                # Strict, because whole lines are valid UTF-8 however they were split.
                frame = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError):
                frame = None
            if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
                self.failure = f"not a frame: {line[:_SHOWN_BYTES]!r}"
                break
            event = None if frame["type"] == "response" else read_event(frame)
            items.append((event, frame, len(line) + EVENT_COST))
        return items

    def _lines(self, data: bytes) -> List[bytes]:
        """Returns the complete lines, which end at LF only."""
        lines = data.split(b"\n")
        self._rest_bytes += len(lines[0])
        self._rest.append(lines[0])
        if len(lines) == 1:
            if self._rest_bytes > MAX_LINE_BYTES:
                self.failure = f"a line of more than {MAX_LINE_BYTES} bytes"
            return []
        lines[0] = b"".join(self._rest)
        rest = lines.pop()
        self._rest, self._rest_bytes = [rest], len(rest)
        return lines


class Stream:
    """The events of one prompt or compaction that have not been taken yet."""

    def __init__(self, is_compaction: bool) -> None:
        self.is_compaction = is_compaction
        self.ended = False
        # Set without a lock when the prompt is dropped, before `Session.discard` is called.
        self.unwanted = False
        self.discarded = False
        self.aborted = False
        self.error: Optional[ZotError] = None
        self._events: List[Event] = []
        self.cost = 0

    def push(self, event: Event, cost: int) -> None:
        if not self.discarded:
            self._events.append(event)
            self.cost += cost

    def take(self) -> List[Event]:
        """Returns all waiting events."""
        events, self._events, self.cost = self._events, [], 0
        return events

    @property
    def is_readable(self) -> bool:
        """Whether there is an event to take, or none will follow."""
        return bool(self._events) or self.ended


class Call(Generic[T]):
    """A command and its response."""

    def __init__(self, request: Request[T], then: Optional[Callable[[], None]] = None) -> None:
        self.request = request
        self.stream = Stream(request.command == "compact") if request.starts else None
        self.done = False
        self.error: Optional[ZotError] = None
        self._then = then
        self._value: Optional[T] = None

    def succeed(self, value: T) -> None:
        self._value = value
        self._settle()

    def fail(self, error: ZotError) -> None:
        self.error = error
        if self.stream is not None:
            self.stream.ended = True
        self._settle()

    def result(self) -> T:
        if self.error is not None:
            raise self.error
        return cast(T, self._value)

    def _settle(self) -> None:
        self.done = True
        if self._then is not None:
            self._then()


@dataclasses.dataclass
class Memory:
    """What a new process needs to continue where another ended."""

    settings: Dict[str, Request[Any]] = dataclasses.field(default_factory=dict)
    messages: List[Frame] = dataclasses.field(default_factory=list)

    def requests(self) -> List[Request[Any]]:
        requests = list(self.settings.values())
        if self.messages:
            requests += commands.set_messages(self.messages, append=False)
        return requests


class Session:
    """The pending calls and the running prompt. Not thread-safe: its owner holds a lock.

    With `snapshots`, the conversation is fetched into `memory` after each change, and a prompt counts as
    ended only after that.
    """

    def __init__(self, memory: Memory, snapshots: bool) -> None:
        self._memory = memory
        self.snapshots = snapshots
        self._ids = itertools.count(1)
        self._pending: Dict[str, Call[Any]] = {}
        self._current: Optional[Stream] = None
        self._outgoing: List[bytes] = []
        self._notices: List[Event] = []
        self.failure: Optional[Callable[[], ZotError]] = None

    def begin(self, request: Request[T], then: Optional[Callable[[], None]] = None) -> Call[T]:
        """Starts a call, whose line `take_outgoing` then returns."""
        if self.failure is not None:
            raise self.failure()
        if request.command == "compact" and self._current is not None:
            # zot would queue it, perhaps behind a prompt that the caller itself has to read first.
            raise Busy("compact", "busy", "busy")
        identity = str(next(self._ids))
        frame = {"id": identity, "type": request.command, **request.fields}
        # ASCII only, so that an unpaired surrogate cannot make the line invalid.
        line = json.dumps(frame, separators=(",", ":"), allow_nan=False).encode("ascii")
        if len(line) > MAX_COMMAND_BYTES:
            message = f"too long: {len(line)} bytes; the limit is {MAX_COMMAND_BYTES}"
            raise CommandFailed(request.command, message, "line_too_long")
        call = Call(request, then)
        if request.command == "abort" and self._current is not None:
            self._current.aborted = True
        self._pending[identity] = call
        self._outgoing.append(line + b"\n")
        return call

    def abandon(self, call: Call[Any]) -> None:
        """Stops waiting for a call. A prompt that starts later is aborted."""
        if call.stream is not None:
            self.discard(call.stream)
        for identity, pending in list(self._pending.items()):
            if pending is call and call.stream is None:
                del self._pending[identity]

    def discard(self, stream: Stream) -> None:
        """Drops the rest of a stream, and aborts the work if it is still running."""
        if stream.discarded or stream.ended:
            return
        stream.discarded = True
        stream.take()
        if stream is self._current:
            self._abort()

    def apply(self, items: List[Item]) -> None:
        if self.failure is not None:
            return
        for event, frame, cost in items:
            if event is None:
                self._on_response(frame)
                continue
            stream = self._current
            if stream is None or isinstance(event, (Notice, McpState)):
                self._notices.append(event)
                continue
            stream.push(event, cost)
            if isinstance(event, Done) or (stream.is_compaction and isinstance(event, CompactDone)):
                self._finish(stream)

    def end(self, failure: Callable[[], ZotError]) -> None:
        """Fails everything pending because the process is gone. Only the first failure counts."""
        if self.failure is not None:
            return
        self.failure = failure
        if self._current is not None:
            self._current.error = failure()
            self._current.ended = True
            self._current = None
        pending, self._pending = list(self._pending.values()), {}
        for call in pending:
            call.fail(failure())

    def take_outgoing(self) -> List[bytes]:
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def take_notices(self) -> List[Event]:
        notices, self._notices = self._notices, []
        return notices

    @property
    def wants_input(self) -> bool:
        """False while enough events wait for a slow reader, so that zot slows down.

        The caller waiting for a response may be that same reader, so reading continues then; zot bounds
        what comes before the response."""
        if self._current is None or self._current.cost < MAX_WAITING_COST:
            return True
        return any(not call.request.queues for call in self._pending.values())

    def interrupt(self) -> bool:
        """Returns whether something runs, which a signal is about to end."""
        if self._current is None:
            return False
        self._current.aborted = True
        return True

    @property
    def is_winding_down(self) -> bool:
        """Whether discarded work is still running, or about to start."""
        if self._current is not None:
            return self._current.discarded or self._current.unwanted
        return any(call.stream is not None and call.stream.discarded for call in self._pending.values())

    def _on_response(self, frame: Frame) -> None:
        call = self._pending.pop(str(frame.get("id")), None)
        if call is None:
            return  # The caller has stopped waiting for it.
        if frame.get("success") is not True:
            call.fail(_rejection(frame))
            return
        data = frame.get("data")
        data = data if isinstance(data, dict) else {}
        request = call.request
        try:
            value = request.read(data)
        except (KeyError, TypeError) as error:
            call.fail(ProtocolError(f"unexpected response to {request.command}: {error}"))
            return
        if call.stream is not None:
            self._start(call.stream, request.starts is not None and request.starts(data))
        if request.is_setting:
            self._memory.settings[request.command] = request
        if request.changes_messages and self.snapshots:
            self._snapshot(lambda: call.succeed(value))
        else:
            call.succeed(value)

    def _start(self, stream: Stream, begins: bool) -> None:
        if not begins:
            stream.ended = True
            return
        if self._current is not None:
            self._finish(self._current)
        self._current = stream
        if stream.discarded:
            self._abort()

    def _finish(self, stream: Stream) -> None:
        self._current = None

        def end() -> None:
            stream.ended = True

        if self.snapshots:
            self._snapshot(end)
        else:
            end()

    def _snapshot(self, then: Callable[[], None]) -> None:
        def keep() -> None:
            if call.error is None:
                self._memory.messages = call.result()
            then()

        call = self.begin(commands.get_raw_messages(), keep)

    def _abort(self) -> None:
        if self.failure is None:
            self.begin(commands.abort())


def _rejection(frame: Frame) -> CommandFailed:
    code = frame.get("code")
    kind = Busy if code == "busy" else CommandFailed
    return kind(str(frame.get("command", "")), str(frame.get("error", "")), code if isinstance(code, str) else "")
