"""One `zot rpc` process and the threads that talk to it.

Nothing here refers to the client, so that an unreferenced client can be collected while the threads
still run.
"""

from __future__ import annotations

import collections
import os
import queue
import subprocess
import threading
import time
from typing import Any, Callable, Deque, List, Optional, TypeVar, Union

from zot_ext.workers import Lane

from .base import END_SECONDS, READ_BYTES, STDERR_BYTES, TERMINATE_SECONDS
from .commands import Request
from .errors import Closed, Crashed, ProtocolError, StartFailed, Timeout, ZotError, describe_status
from .events import Event
from .options import Options
from .protocol import Call, Decoder, Memory, Session, Stream
from .tools import PrivateExtension, Tools

T = TypeVar("T")

# How long the process may take to exit after its last output.
_EXIT_SECONDS = 5.0


class Tail:
    """The last bytes of a stream."""

    def __init__(self) -> None:
        self._pieces: Deque[bytes] = collections.deque()
        self._size = 0

    def add(self, data: bytes) -> None:
        self._pieces.append(data)
        self._size += len(data)
        while self._size - len(self._pieces[0]) >= STDERR_BYTES:
            self._size -= len(self._pieces.popleft())

    def text(self) -> str:
        return b"".join(list(self._pieces))[-STDERR_BYTES:].decode("utf-8", "replace")


def failure_of(greeted: bool, status: Optional[int], stderr: str, garbage: Optional[str]) -> ZotError:
    """Returns the error for a process that ended."""
    if garbage is not None:
        return ProtocolError(f"the program does not follow the protocol of `zot rpc`: {garbage}", status, stderr)
    kind = Crashed if greeted else StartFailed
    return kind(f"zot {describe_status(status)}" + ("" if greeted else " before it responded"), status, stderr)


class Link:
    """A process, from its start to its end. All methods may be called from any thread."""

    def __init__(
        self, options: Options, tools: Tools, memory: Memory, on_notice: Optional[Callable[[Event], Any]]
    ) -> None:
        program, cwd = options.resolve_program(), options.resolve_cwd()
        self._owner = os.getpid()
        self.extension = PrivateExtension(tools)
        try:
            self._process = subprocess.Popen(
                [program, *options.arguments(self.extension.directory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=cwd,
                env=options.environment(),
                # Ctrl-C must reach this program only, which then aborts or ends zot.
                start_new_session=True,
            )
        except OSError as error:
            self.extension.close()
            raise StartFailed(f"cannot start {program}: {error}") from error
        except BaseException:
            self.extension.close()
            raise
        self._session = Session(memory, snapshots=False)
        self._changed = threading.Condition()
        self._outbox: queue.SimpleQueue[Union[None, bytes, Stream]] = queue.SimpleQueue()
        self._tools = tools
        self._stderr = Tail()
        self._closing = self._greeted = self._reads_all = self._read_to_end = False
        self._on_notice = on_notice
        self._notices = Lane("notice", 1)
        self._stderr_reader = threading.Thread(target=self._read_stderr, name="zot-stderr", daemon=True)
        self._reader = threading.Thread(target=self._read, name="zot-read", daemon=True)
        # The reader starts last because it waits for the others.
        for thread in (threading.Thread(target=self._write, name="zot-write", daemon=True), self._stderr_reader):
            thread.start()
        self._reader.start()

    def call(self, request: Request[T], timeout: Optional[float]) -> T:
        """Raises the error of the response, Timeout, or the reason why none will come."""
        return self.begin(request, timeout).result()

    def begin(self, request: Request[T], timeout: Optional[float]) -> Call[T]:
        """Waits for the response and returns the call, which has the stream."""
        with self._changed:
            self._check_process()
            call = self._session.begin(request)
            self._post()
            try:
                answered = self._changed.wait_for(lambda: call.done, timeout)
            except BaseException:
                self._abandon(call)
                raise
            if not answered:
                self._abandon(call)
                raise Timeout(f"no response to {request.command} within {timeout:g} s")
        return call

    def take(self, stream: Stream, deadline: Optional[float]) -> Optional[List[Event]]:
        """Waits for events of a stream; returns None at its end."""
        remaining = None if deadline is None else deadline - time.monotonic()
        with self._changed:
            self._check_process()
            readable = self._changed.wait_for(lambda: stream.is_readable, remaining)
            late = remaining is not None and remaining <= 0
            if not readable or (late and not stream.ended):
                raise Timeout("the prompt took too long and was aborted")
            events = stream.take()
            if not events:
                if stream.error is not None:
                    raise stream.error
                return None
            self._changed.notify_all()  # The reader may have room again.
            return events

    def discard(self, stream: Stream) -> None:
        """Aborts a prompt whose events are no longer needed. Does not wait."""
        with self._changed:
            self._session.discard(stream)
            self._post()
        self._tools.cancel_running()

    def forget(self, stream: Stream) -> None:
        """Does the same for `__del__`, which may run at any time in any thread and therefore takes no lock."""
        if os.getpid() == self._owner:
            stream.unwanted = True
            self._outbox.put(stream)

    def settle(self, seconds: float) -> None:
        """Waits until aborted work has ended; kills a process that takes longer."""
        with self._changed:
            if self._changed.wait_for(lambda: not self._session.is_winding_down, seconds):
                return
        self.kill()

    def greeted(self, snapshots: bool) -> None:
        """Notes that the program is zot: from now on its end counts as a crash."""
        with self._changed:
            self._greeted = True
            self._session.snapshots = snapshots

    @property
    def is_alive(self) -> bool:
        self._check_process()
        # While another thread asks for the status, `poll` knows nothing.
        if self._session.failure is None and (self._read_to_end or self._process.poll() is not None):
            self._reader.join(_EXIT_SECONDS)  # It reads what is left and finds out why.
        return self._session.failure is None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        return self._stderr.text()

    def failure(self) -> ZotError:
        assert self._session.failure is not None
        return self._session.failure()

    def kill(self) -> None:
        with self._changed:
            self._reads_all = True
            self._changed.notify_all()
        self._process.kill()
        self._reader.join(_EXIT_SECONDS)

    def close(self) -> None:
        """Lets an idle process end, stops a busy one, and kills one that does neither. Safe to call twice."""
        if os.getpid() != self._owner:
            return
        with self._changed:
            busy = self._session.interrupt()
            self._closing = self._reads_all = True
            self._changed.notify_all()
        self._outbox.put(None)
        if busy:
            self._terminate()
        for seconds, escalate in ((END_SECONDS, self._terminate), (TERMINATE_SECONDS, self._process.kill)):
            if self._wait_for_reader(seconds):
                return
            escalate()
        self._wait_for_reader(_EXIT_SECONDS)

    def dispose(self) -> None:
        """Does what `close` does for a client that was never closed, with shorter waits."""
        if os.getpid() != self._owner:
            return
        with self._changed:
            self._closing = self._reads_all = True
            self._changed.notify_all()
        self._outbox.put(None)
        self._terminate()
        if not self._wait_for_reader(1.0):
            self._process.kill()

    def _wait_for_reader(self, seconds: float) -> bool:
        if self._reader is threading.current_thread():
            return True
        self._reader.join(seconds)
        return not self._reader.is_alive()

    def _terminate(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()

    def _check_process(self) -> None:
        if os.getpid() != self._owner:
            raise RuntimeError("a client cannot be used in a forked process: create a new one there")

    def _abandon(self, call: Call[Any]) -> None:
        self._session.abandon(call)
        self._post()

    def _post(self) -> None:
        for line in self._session.take_outgoing():
            self._outbox.put(line)
        self._changed.notify_all()  # The reader continues while a response is awaited.

    def _read(self) -> None:
        decoder = Decoder()
        output = self._process.stdout
        assert output is not None
        try:
            while decoder.failure is None:
                with self._changed:
                    self._changed.wait_for(lambda: self._session.wants_input or self._reads_all)
                data = os.read(output.fileno(), READ_BYTES)
                if not data:
                    break
                items = decoder.feed(data)
                with self._changed:
                    self._session.apply(items)
                    self._post()
                    notices = self._session.take_notices()
                self._deliver(notices)
        finally:
            self._end(decoder.failure)

    def _end(self, garbage: Optional[str]) -> None:
        self._read_to_end = True
        if garbage is not None:
            self._process.kill()
        try:
            status: Optional[int] = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._stderr_reader.join(1.0)
        self.extension.close()
        self._outbox.put(None)
        self._notices.close()
        closing, greeted, stderr = self._closing, self._greeted, self._stderr.text()
        with self._changed:
            self._session.end(
                lambda: Closed("the client was closed") if closing else failure_of(greeted, status, stderr, garbage)
            )
            self._changed.notify_all()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _deliver(self, notices: List[Event]) -> None:
        on_notice = self._on_notice
        if on_notice is not None:
            for notice in notices:
                # A slow callback loses notices, not the conversation.
                self._notices.submit(lambda notice=notice: on_notice(notice))  # type: ignore[misc]

    def _write(self) -> None:
        # A separate thread: zot reads nothing while its output is not read, so the reader must never wait
        # for a write.
        stdin = self._process.stdin
        assert stdin is not None
        try:
            while True:
                item = self._outbox.get()
                if item is None:
                    return
                if isinstance(item, Stream):
                    self.discard(item)
                    continue
                rest = memoryview(item)
                while rest:
                    rest = rest[os.write(stdin.fileno(), rest) :]
        except OSError:
            pass  # The reader finds out why.
        finally:
            stdin.close()

    def _read_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        with stderr:
            while True:
                data = os.read(stderr.fileno(), READ_BYTES)
                if not data:
                    return
                self._stderr.add(data)
