"""The conversation with one `zot rpc`, without any input or output.

`Decoder` turns bytes into events and responses; `Session` says which call or prompt they belong
to. Both clients drive these and only add reading, writing and waiting.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from typing import Any, Callable, Dict, Generic, List, Optional, Tuple, TypeVar, cast

from . import commands
from .commands import Request
from .errors import Busy, CommandFailed, ProtocolError, ZotError
from .events import CompactDone, Done, Event, Notice, read_event
from .fields import Frame

T = TypeVar("T")

# zot refuses longer lines.
MAX_COMMAND_BYTES = 16 * 1024 * 1024

# zot's own lines have no limit; one like this is no conversation any more.
MAX_LINE_BYTES = 1024 * 1024 * 1024

# Events of a prompt that may wait for a slow reader, by their size on the wire and in memory.
MAX_WAITING_COST = 4 * 1024 * 1024
EVENT_COST = 512

_SHOWN_BYTES = 200

# An event, or None and a response; and what it costs to keep.
Item = Tuple[Optional[Event], Frame, int]


class Decoder:
    """Bytes in pieces of any size become events and responses. `failure` is set by what is neither."""

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
                # Strict: a line is UTF-8, whatever the pieces were that it came in.
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
        """The lines that are complete. They end at LF and nowhere else."""
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
    """The events of one prompt or compaction that were not taken yet."""

    def __init__(self, is_compaction: bool) -> None:
        self.is_compaction = is_compaction
        self.ended = False
        # Set without a lock by who lets go of it, until `Session.discard` has had its turn.
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
        """All that wait."""
        events, self._events, self.cost = self._events, [], 0
        return events

    @property
    def is_readable(self) -> bool:
        """Whether there is something to take, or nothing to wait for any more."""
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
    """What a new process needs to go on where another ended."""

    settings: Dict[str, Request[Any]] = dataclasses.field(default_factory=dict)
    messages: List[Frame] = dataclasses.field(default_factory=list)

    def requests(self) -> List[Request[Any]]:
        requests = list(self.settings.values())
        if self.messages:
            requests += commands.set_messages(self.messages, append=False)
        return requests


class Session:
    """Who waits for what. Not safe for several threads: its owner has the lock.

    With `snapshots`, the conversation is fetched into `memory` whenever it has changed, and a prompt
    counts as ended only then.
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
        """Makes a call; its line is then among `take_outgoing`."""
        if self.failure is not None:
            raise self.failure()
        if request.command == "compact" and self._current is not None:
            # zot would let it wait, perhaps for what the caller itself has to read first.
            raise Busy("compact", "busy", "busy")
        identity = str(next(self._ids))
        frame = {"id": identity, "type": request.command, **request.fields}
        # ASCII only, so that an unpaired surrogate cannot make the line invalid.
        line = json.dumps(frame, separators=(",", ":"), allow_nan=False).encode("ascii")
        if len(line) > MAX_COMMAND_BYTES:
            message = f"too long: {len(line)} bytes, a line may have {MAX_COMMAND_BYTES}"
            raise CommandFailed(request.command, message, "line_too_long")
        call = Call(request, then)
        if request.command == "abort" and self._current is not None:
            self._current.aborted = True
        self._pending[identity] = call
        self._outgoing.append(line + b"\n")
        return call

    def abandon(self, call: Call[Any]) -> None:
        """Nobody waits for the call any more. A prompt that begins later is aborted then."""
        if call.stream is not None:
            self.discard(call.stream)
        for identity, pending in list(self._pending.items()):
            if pending is call and call.stream is None:
                del self._pending[identity]

    def discard(self, stream: Stream) -> None:
        """Drops what is left of a stream, and aborts the work if it is still going on."""
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
            if stream is None or isinstance(event, Notice):
                self._notices.append(event)
                continue
            stream.push(event, cost)
            if isinstance(event, Done) or (stream.is_compaction and isinstance(event, CompactDone)):
                self._finish(stream)

    def end(self, failure: Callable[[], ZotError]) -> None:
        """The process is gone: everyone who waits is told. The first reason given counts."""
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
        """False while enough events wait for a slow reader: zot then notices, and slows down.

        Who waits for a response may be that same reader, so reading goes on for its sake; what comes
        before the response is bounded by what zot lets wait."""
        if self._current is None or self._current.cost < MAX_WAITING_COST:
            return True
        return any(not call.request.queues for call in self._pending.values())

    def interrupt(self) -> bool:
        """Whether something runs, which is about to be ended by a signal."""
        if self._current is None:
            return False
        self._current.aborted = True
        return True

    @property
    def is_winding_down(self) -> bool:
        """Whether work that nobody wants any more is still going on, or about to begin."""
        if self._current is not None:
            return self._current.discarded or self._current.unwanted
        return any(call.stream is not None and call.stream.discarded for call in self._pending.values())

    def _on_response(self, frame: Frame) -> None:
        call = self._pending.pop(str(frame.get("id")), None)
        if call is None:
            return  # Nobody waits for it any more.
        if frame.get("success") is not True:
            call.fail(_refusal(frame))
            return
        data = frame.get("data")
        data = data if isinstance(data, dict) else {}
        request = call.request
        try:
            value = request.read(data)
        except (KeyError, TypeError) as error:
            call.fail(ProtocolError(f"the response to {request.command} is not as documented: {error}"))
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


def _refusal(frame: Frame) -> CommandFailed:
    code = frame.get("code")
    kind = Busy if code == "busy" else CommandFailed
    return kind(str(frame.get("command", "")), str(frame.get("error", "")), code if isinstance(code, str) else "")
