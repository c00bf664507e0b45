"""One `zot rpc` process and the tasks that talk to it: the asyncio version of link.py."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from typing import Any, Callable, List, Optional, Set, TypeVar

from .base import END_SECONDS, READ_BYTES, TERMINATE_SECONDS
from .commands import Request
from .errors import Closed, StartFailed, Timeout, ZotError
from .events import Event
from .link import Tail, failure_of
from .options import Options
from .protocol import Call, Decoder, Memory, Session, Stream
from .tools import PrivateExtension, Tools

T = TypeVar("T")

# Notices that may wait for a slow callback; further ones are dropped.
MAX_WAITING_NOTICES = 1024
_EXIT_SECONDS = 5.0

_logger = logging.getLogger("zot")


class AsyncLink:
    """A process, from its start to its end. Belongs to one event loop."""

    def __init__(self, tools: Tools, memory: Memory, on_notice: Optional[Callable[[Event], Any]]) -> None:
        self.loop = asyncio.get_running_loop()
        self._owner = os.getpid()
        self._tools = tools
        self._session = Session(memory, snapshots=False)
        self._waiters: Set[asyncio.Future[None]] = set()
        self._stderr = Tail()
        self._closing = self._greeted = self._reads_all = False
        self._on_notice = on_notice
        self._notices: asyncio.Queue[Event] = asyncio.Queue(MAX_WAITING_NOTICES)

    async def start(self, options: Options) -> None:
        program, cwd = options.resolve_program(), options.resolve_cwd()
        self.extension = PrivateExtension(self._tools)
        try:
            self._process = await asyncio.create_subprocess_exec(
                program,
                *options.arguments(self.extension.directory),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=READ_BYTES,
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
        self._stderr_reader = asyncio.ensure_future(self._read_stderr())
        self._reader = asyncio.ensure_future(self._read())
        self._notifier = asyncio.ensure_future(self._notify()) if self._on_notice else None

    async def call(self, request: Request[T], timeout: Optional[float]) -> T:
        """Raises the error of the response, Timeout, or the reason why none will come."""
        return (await self.begin(request, timeout)).result()

    async def begin(self, request: Request[T], timeout: Optional[float]) -> Call[T]:
        """Waits for the response and returns the call, which has the stream."""
        self._check_loop()
        call = self._session.begin(request)
        self._post()
        try:
            if not await self._wait_for(lambda: call.done, timeout):
                raise Timeout(f"no response to {request.command} within {timeout:g} s")
        except BaseException:  # Cancellation included.
            self._session.abandon(call)
            self._post()
            raise
        return call

    async def take(self, stream: Stream, deadline: Optional[float]) -> Optional[List[Event]]:
        """Waits for events of a stream; returns None at its end."""
        self._check_loop()
        remaining = None if deadline is None else deadline - self.loop.time()
        readable = await self._wait_for(lambda: stream.is_readable, remaining)
        late = remaining is not None and remaining <= 0
        if not readable or (late and not stream.ended):
            raise Timeout("the prompt took too long and was aborted")
        events = stream.take()
        if not events:
            if stream.error is not None:
                raise stream.error
            return None
        self._wake()  # The reader may have room again.
        return events

    def discard(self, stream: Stream) -> None:
        """Aborts a prompt whose events are no longer needed. Does not wait."""
        self._session.discard(stream)
        self._post()
        self._tools.cancel_running()

    def forget(self, stream: Stream) -> None:
        """Does the same for `__del__`, which may run at any time in any thread."""
        if os.getpid() == self._owner and not self.loop.is_closed():
            stream.unwanted = True
            self.loop.call_soon_threadsafe(self.discard, stream)

    async def settle(self, seconds: float) -> None:
        """Waits until aborted work has ended; kills a process that takes longer."""
        if not await self._wait_for(lambda: not self._session.is_winding_down, seconds):
            await self.kill()

    def greeted(self, snapshots: bool) -> None:
        """Notes that the program is zot: from now on its end counts as a crash."""
        self._greeted = True
        self._session.snapshots = snapshots

    async def is_alive(self) -> bool:
        if self._session.failure is None and self._process.returncode is not None:
            # The reader reads what is left and finds out why.
            await self._wait_for(lambda: self._session.failure is not None, _EXIT_SECONDS)
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

    async def kill(self) -> None:
        self._reads_all = True
        self._wake()
        self._signal("kill")
        await asyncio.wait([self._reader], timeout=_EXIT_SECONDS)

    async def close(self) -> None:
        """Lets an idle process end, stops a busy one, and kills one that does neither. Safe to call twice."""
        self._check_loop()
        busy = self._session.interrupt()
        self._closing = self._reads_all = True
        self._wake()
        if self._process.stdin is not None:
            self._process.stdin.close()
        if busy:
            self._signal("terminate")
        try:
            for seconds, escalate in ((END_SECONDS, "terminate"), (TERMINATE_SECONDS, "kill")):
                await asyncio.wait([self._reader], timeout=seconds)
                if self._reader.done():
                    break
                self._signal(escalate)
            await asyncio.wait([self._reader], timeout=_EXIT_SECONDS)
        except asyncio.CancelledError:
            self._signal("kill")
            raise

    def dispose(self) -> None:
        """Ends the process of a client that was never closed, without waiting."""
        if os.getpid() == self._owner:
            self._closing = self._reads_all = True
            self._signal("terminate")
            self.extension.close()

    def _signal(self, how: str) -> None:
        try:
            getattr(self._process, how)()
        except ProcessLookupError:
            pass

    def _check_loop(self) -> None:
        if asyncio.get_running_loop() is not self.loop:
            raise RuntimeError("an AsyncClient belongs to the event loop it was started in")
        if os.getpid() != self._owner:
            raise RuntimeError("a client cannot be used in a forked process: create a new one there")

    async def _wait_for(self, ready: Callable[[], bool], timeout: Optional[float]) -> bool:
        deadline = None if timeout is None else self.loop.time() + timeout
        while not ready():
            waiter: asyncio.Future[None] = self.loop.create_future()
            timer = None if deadline is None else self.loop.call_at(deadline, _resolve, waiter)
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)
                if timer is not None:
                    timer.cancel()
            if deadline is not None and self.loop.time() >= deadline:
                return ready()
        return True

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            _resolve(waiter)

    def _post(self) -> None:
        stdin = self._process.stdin
        for line in self._session.take_outgoing():
            if stdin is not None and not stdin.is_closing():
                stdin.write(line)
        self._wake()

    async def _read(self) -> None:
        decoder = Decoder()
        output = self._process.stdout
        assert output is not None
        try:
            while decoder.failure is None:
                if not self._session.wants_input:
                    await self._wait_for(lambda: self._session.wants_input or self._reads_all, None)
                data = await output.read(READ_BYTES)
                if not data:
                    break
                self._session.apply(decoder.feed(data))
                self._post()
                self._queue(self._session.take_notices())
        except asyncio.CancelledError:
            # The event loop is ending, and the client was not closed.
            self.dispose()
            raise
        finally:
            await self._end(decoder.failure)

    async def _end(self, garbage: Optional[str]) -> None:
        if garbage is not None:
            self._signal("kill")
        try:
            status: Optional[int] = await asyncio.wait_for(self._process.wait(), _EXIT_SECONDS)
        except asyncio.TimeoutError:
            self._signal("kill")
            status = await self._process.wait()
        await asyncio.wait([self._stderr_reader], timeout=1.0)
        self.extension.close()
        if self._notifier is not None:
            self._notifier.cancel()
        closing, greeted, stderr = self._closing, self._greeted, self._stderr.text()
        self._session.end(
            lambda: Closed("the client was closed") if closing else failure_of(greeted, status, stderr, garbage)
        )
        self._wake()

    def _queue(self, notices: List[Event]) -> None:
        for notice in notices if self._on_notice else ():
            try:
                self._notices.put_nowait(notice)
            except asyncio.QueueFull:
                pass  # A slow callback loses notices, not the conversation.

    async def _notify(self) -> None:
        assert self._on_notice is not None
        while True:
            notice = await self._notices.get()
            try:
                result = self._on_notice(notice)
                if inspect.isawaitable(result):
                    await result
            except Exception:
                _logger.exception("on_notice failed")

    async def _read_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while True:
            data = await stderr.read(READ_BYTES)
            if not data:
                return
            self._stderr.add(data)


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
