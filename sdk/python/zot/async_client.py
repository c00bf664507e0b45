"""The client for asyncio."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import weakref
from typing import (
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Dict,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from . import commands, results
from .answer import Answer, AnswerBuilder
from .approvals import Decision, confirmation
from .async_link import AsyncLink
from .base import ABORT_SECONDS, ClientBase
from .commands import AnswerAction, Budget, Effort, ImageInput, MessageInput, Remember, Request, WhenBusy
from .errors import Busy, Closed, CommandFailed, Timeout
from .events import Event, ToolConfirm
from .messages import Message
from .protocol import Stream
from .tools import Spawn

T = TypeVar("T")

AsyncDecision = Union[Decision, Awaitable[Decision]]


class AsyncRun(AsyncIterator[Event]):
    """The events of a prompt, in order, `Done` last; a prompt that failed then raises PromptFailed.

    The prompt is sent when the iteration starts. One task at a time may iterate; cancelling it aborts the
    prompt. To stop early, use `aclose` or `async with`, or drop the object.
    """

    def __init__(
        self,
        client: AsyncClient,
        begin: Callable[[], Awaitable[Tuple[AsyncLink, Stream, bool]]],
        timeout: Optional[float],
    ) -> None:
        # Keeps the client alive as long as its prompts.
        self._client = client
        self._begin = begin
        self._timeout = timeout
        self._deadline: Optional[float] = None
        self._link: Optional[AsyncLink] = None
        self._stream: Optional[Stream] = None
        self.steered = False
        self._builder = AnswerBuilder()
        self._batch: Iterator[Event] = iter(())
        self._iterating = False
        self._over = False

    def __aiter__(self) -> AsyncRun:
        return self

    async def __anext__(self) -> Event:
        if self._iterating:
            raise RuntimeError("this prompt is being read by another task")
        self._iterating = True
        try:
            for event in self._batch:
                break
            else:
                event = await self._fetch()
            self._builder.add(event)
            if event.__class__ is ToolConfirm and self._client._on_approval is not None:
                await self._approve(event)
            return event
        except asyncio.CancelledError:
            self._over = True
            self._let_go()
            raise
        finally:
            self._iterating = False

    @property
    def answer(self) -> Answer:
        """The outcome of the prompt, complete when the iteration has ended."""
        return self._builder.answer

    @property
    def summary(self) -> Optional[str]:
        """The summary, if this is a compaction."""
        return self._builder.summary

    async def start(self) -> AsyncRun:
        """Sends the prompt now. Raises the error of the response."""
        if self._stream is None and not self._over:
            loop = asyncio.get_running_loop()
            self._deadline = None if self._timeout is None else loop.time() + self._timeout
            try:
                self._link, self._stream, self.steered = await self._begin()
            except BaseException:
                self._over = True
                raise
        return self

    async def aclose(self) -> None:
        """Aborts the prompt if it is still running, waits for its end and drops the remaining events."""
        self._over = True
        self._batch = iter(())
        self._let_go()
        if self._link is not None:
            await self._link.settle(ABORT_SECONDS)

    async def __aenter__(self) -> AsyncRun:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if self._link is not None and self._stream is not None and not self._stream.ended:
            self._link.forget(self._stream)

    def _let_go(self) -> None:
        if self._link is not None and self._stream is not None and not self._stream.ended:
            self._link.discard(self._stream)

    async def _fetch(self) -> Event:
        if self._over:
            raise StopAsyncIteration
        await self.start()
        assert self._link is not None and self._stream is not None
        try:
            events = await self._link.take(self._stream, self._deadline)
        except Timeout:
            await self.aclose()
            raise
        except BaseException:
            self._over = self._over or self._stream.ended
            raise
        if events is None:
            self._over = True
            self._builder.finish(self._stream.aborted)
            if self._builder.failure is not None:
                raise self._builder.failure
            raise StopAsyncIteration
        self._batch = iter(events)
        return next(self._batch)

    async def _approve(self, event: ToolConfirm) -> None:
        assert self._link is not None and self._client._on_approval is not None
        try:
            decision = self._client._on_approval(event)
            if inspect.isawaitable(decision):
                loop = asyncio.get_running_loop()
                remaining = None if self._deadline is None else self._deadline - loop.time()
                try:
                    decision = await asyncio.wait_for(decision, remaining)
                except asyncio.TimeoutError:
                    raise Timeout("the prompt was aborted: no approval in time") from None
            request = confirmation(event.id, decision)
        except asyncio.CancelledError:
            raise
        except BaseException:
            await self.aclose()  # Nothing has allowed it, and nothing will.
            raise
        try:
            await self._link.call(request, self._client._timeout)
        except CommandFailed as error:
            if error.code != "not_waiting":  # Aborted, or too late.
                raise


class AsyncClient(ClientBase[Callable[[ToolConfirm], AsyncDecision]]):
    """Drives one `zot rpc` process: one conversation.

        async with zot.AsyncClient(provider="anthropic") as client:
            async for event in client.prompt("count the lines in notes.txt"):
                ...

    Belongs to the event loop it is started in; several tasks may use it, to abort or steer for example.
    One prompt runs at a time: a second one raises Busy, unless `when_busy` is given.
    """

    def _set_up(self) -> Spawn:
        self._link: Optional[AsyncLink] = None
        self._closed = False
        self._starting: Optional[asyncio.Lock] = None
        self._finalizer: Optional[Any] = None
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        # Tools that are coroutines run in the loop of the client. Threads keep the tools alive, so the
        # tools must not refer to the client itself.
        this = weakref.ref(self)

        def spawn(coroutine: Coroutine[Any, Any, Any]) -> concurrent.futures.Future[Any]:
            client = this()
            loop = None if client is None else client._loop
            if loop is None or loop.is_closed():
                coroutine.close()
                raise RuntimeError("the client is gone")
            return asyncio.run_coroutine_threadsafe(coroutine, loop)

        return spawn

    # Start and end

    async def start(self) -> AsyncClient:
        """Starts zot now instead of with the first command. Raises StartFailed."""
        await self._connected()
        return self

    async def close(self) -> None:
        """Ends zot, aborting what runs. Safe to call twice; every later call raises Closed."""
        self._closed = True
        link, self._link = self._link, None
        self._tools.cancel_running()
        if link is not None:
            if self._finalizer is not None:
                self._finalizer.detach()
            await link.close()

    async def __aenter__(self) -> AsyncClient:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def hello(self) -> results.Hello:
        """Version, provider, model and capabilities of zot, once the client has started."""
        if self._hello is None:
            raise RuntimeError("not started yet: use `async with`, or await start()")
        return self._hello

    @property
    def pid(self) -> int:
        if self._link is None:
            raise RuntimeError("not started yet: use `async with`, or await start()")
        return self._link.pid

    @property
    def stderr(self) -> str:
        """The last 64 KiB of standard error."""
        return "" if self._link is None else self._link.stderr

    # Prompts

    def prompt(
        self,
        message: str = "",
        *,
        images: Sequence[ImageInput] = (),
        timeout: Optional[float] = None,
        budget: Optional[Budget] = None,
        when_busy: WhenBusy = "reject",
    ) -> AsyncRun:
        """Returns the events of a message, which is sent when the iteration starts. After `timeout` seconds it is aborted.

        `when_busy`: "reject" raises Busy, "steer" adds the message to the running prompt (`steered` is then
        true and there are no events), "queue" waits for its turn: another task must read the running prompt."""
        request = commands.prompt(message, images, budget, when_busy)

        async def begin() -> Tuple[AsyncLink, Stream, bool]:
            await self._refresh_tools()
            return await self._begin(request, self._patience(request, timeout))

        return AsyncRun(self, begin, timeout)

    async def ask(
        self,
        message: str = "",
        *,
        images: Sequence[ImageInput] = (),
        timeout: Optional[float] = None,
        budget: Optional[Budget] = None,
    ) -> Answer:
        """Sends a message and waits for the answer. Raises PromptFailed."""
        async with self.prompt(message, images=images, timeout=timeout, budget=budget) as run:
            async for _ in run:
                pass
            return run.answer

    async def compact(self, *, timeout: Optional[float] = None) -> Optional[str]:
        """Summarises the conversation; returns the summary, or None if aborted. Raises PromptFailed or Busy."""
        async with AsyncRun(self, lambda: self._begin(commands.compact(), timeout), timeout) as run:
            async for _ in run:
                pass
            return run.summary

    async def abort(self) -> None:
        """Aborts what runs; its events still end with `Done`. Does nothing if nothing runs."""
        await self._call(commands.abort())
        self._tools.cancel_running()

    async def steer(self, message: str, *, images: Sequence[ImageInput] = ()) -> None:
        """Adds a message to the running prompt."""
        await self._call(commands.steer(message, images))

    async def confirm(
        self,
        call_id: str,
        allow: bool,
        *,
        reason: Optional[str] = None,
        remember: Remember = "call",
        args: Optional[Dict[str, Any]] = None,
    ) -> None:
        """Answers a ToolConfirm event; not needed with `on_approval`."""
        await self._call(commands.confirm(call_id, allow, reason, remember, args))

    async def answer(
        self, question_id: str, action: AnswerAction = "accept", content: Optional[Dict[str, Any]] = None
    ) -> None:
        """Answers a ToolQuestion event, with the fields of its form."""
        await self._call(commands.answer(question_id, action, content))

    # Queries

    async def state(self) -> results.State:
        return await self._call(commands.get_state())

    async def messages(self, *, full: bool = False) -> List[Message]:
        """Returns the conversation; with `full`, everything that `set_messages` needs to restore it."""
        return await self._call(commands.get_messages(full))

    async def usage(self) -> results.Spent:
        """Returns the usage since the process started."""
        return await self._call(commands.get_usage())

    async def models(self) -> List[results.Model]:
        return await self._call(commands.get_models())

    async def tools(self) -> List[results.Tool]:
        """Returns all tools, and which of them the model may call."""
        await self._refresh_tools()
        return await self._call(commands.get_tools())

    async def mcp_servers(self) -> List[results.McpServer]:
        """Returns the MCP servers and their states."""
        return await self._call(commands.get_mcp())

    async def ping(self) -> None:
        await self._call(commands.ping())

    # Settings

    async def set_messages(self, messages: Sequence[MessageInput], *, append: bool = False) -> results.MessagesSet:
        """Replaces the conversation, in several requests if it does not fit one line."""
        return commands.merge_messages_set(
            [await self._call(request) for request in commands.set_messages(messages, append)]
        )

    async def clear(self) -> None:
        await self._call(commands.clear())

    async def set_model(self, model: str) -> str:
        return await self._call(commands.set_model(model))

    async def set_reasoning(self, effort: Optional[Effort] = None) -> Optional[str]:
        return await self._call(commands.set_reasoning(effort))

    async def set_tools(self, tools: Optional[Sequence[str]] = None) -> List[results.Tool]:
        """Gives the model exactly these tools, or all for None."""
        await self._refresh_tools()
        return await self._call(commands.set_tools(tools))

    async def set_sandbox(self, sandbox: Union[str, results.Sandbox]) -> results.Sandbox:
        """Changes what zot's own tools may do, from the next call on: a level, or a whole Sandbox. Whatever it leaves
        open is as it was when zot started."""
        return await self._call(commands.set_sandbox(sandbox))

    async def set_system_prompt(self, system_prompt: Optional[str] = None) -> None:
        await self._call(commands.set_system_prompt(system_prompt))

    async def subscribe(self, events: Optional[Sequence[str]] = None, *, details: bool = False) -> List[str]:
        """Subscribes to events of these types, and to those that the client needs."""
        return await self._call(commands.subscribe(events, details, self._needed_events()))

    # Extensions

    async def commands(self) -> List[results.ExtensionCommand]:
        """Returns the slash commands of all extensions."""
        return await self._call(commands.get_commands())

    async def invoke_command(self, name: str, args: str = "") -> Tuple[results.CommandOutcome, Optional[AsyncRun]]:
        """Runs a slash command. If its action is `prompt`, that prompt has started: read its events."""
        await self._refresh_tools()
        link = await self._connected()
        call = await link.begin(commands.invoke_command(name, args), self._timeout)
        outcome, stream = call.result(), call.stream
        if outcome.action != "prompt" or stream is None:
            return outcome, None
        started = stream

        async def begin() -> Tuple[AsyncLink, Stream, bool]:
            return link, started, False

        return outcome, await AsyncRun(self, begin, None).start()

    async def reload_extensions(self) -> List[results.ExtensionState]:
        """Reloads all manifests and restarts every extension."""
        extension = (await self._connected()).extension
        with extension.reloading():
            return await self._call(commands.reload_extensions())

    async def panel_key(self, extension: str, panel_id: str, key: str, text: Optional[str] = None) -> None:
        await self._call(commands.panel_key(extension, panel_id, key, text))

    async def panel_resize(self, extension: str, panel_id: str, width: int, height: int) -> None:
        await self._call(commands.panel_resize(extension, panel_id, width, height))

    async def panel_close(self, extension: str, panel_id: str) -> None:
        await self._call(commands.panel_close(extension, panel_id))

    async def _call(self, request: Request[T]) -> T:
        return await (await self._connected()).call(request, self._timeout)

    async def _begin(self, request: Request[bool], timeout: Optional[float]) -> Tuple[AsyncLink, Stream, bool]:
        link = await self._connected()
        await link.settle(ABORT_SECONDS)
        call = await link.begin(request, timeout)
        started = call.result()
        assert call.stream is not None
        return link, call.stream, not started

    async def _connected(self) -> AsyncLink:
        """Returns the process, starting it, or restarting it after a crash with `restart`."""
        if self._starting is None:
            self._starting = asyncio.Lock()
        async with self._starting:
            if self._closed:
                raise Closed("the client was closed")
            if self._link is not None:
                if await self._link.is_alive():
                    return self._link
                if not self._restart:
                    raise self._link.failure()
                if self._finalizer is not None:
                    self._finalizer.detach()
                self._link = None
            self._loop = asyncio.get_running_loop()
            link = AsyncLink(self._tools, self._memory, self._on_notice)
            await link.start(self._options)
            try:
                await self._prepare(link)
            except BaseException:
                await link.kill()
                raise
            self._link = link
            self._finalizer = weakref.finalize(self, link.dispose)
            return link

    async def _prepare(self, link: AsyncLink) -> None:
        try:
            self._check_hello(await link.call(commands.hello(self._options.token(), bool(self._options.confirm), self._options.questions), self._start_timeout))
        except Timeout as error:
            raise self._no_response(link.stderr) from error
        link.greeted(snapshots=False)
        for request in self._preparation():
            await link.call(request, self._timeout)
        if self._options.keeps_session:
            self._reopen(await link.call(commands.get_state(), self._timeout))
        # A session file already holds the conversation.
        link.greeted(snapshots=self._restart and not self._options.keeps_session)

    async def _refresh_tools(self) -> None:
        if (await self._connected()).extension.is_stale:
            try:
                await self.reload_extensions()
            except Busy:
                return  # They take effect with the next prompt.
            for request in self._reload_follow_up():
                await self._call(request)
