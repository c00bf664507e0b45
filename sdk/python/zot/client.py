"""The synchronous client, for programs with or without threads."""

from __future__ import annotations

import inspect
import threading
import time
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union

from zot_ext.workers import Loop

from . import commands, results
from .answer import Answer, AnswerBuilder
from .approvals import Decision, confirmation
from .base import ABORT_SECONDS, ClientBase
from .commands import AnswerAction, Budget, Effort, ImageInput, MessageInput, Remember, Request, WhenBusy
from .errors import Busy, Closed, CommandFailed, Timeout
from .events import Event, ToolConfirm
from .link import Link
from .messages import Message
from .protocol import Stream
from .tools import Spawn

T = TypeVar("T")


class Run(Iterator[Event]):
    """The events of a prompt, in order, `Done` last; a prompt that failed then raises PromptFailed.

    One thread at a time may iterate. To stop early, use `close` or `with`, or drop the object: the prompt
    is then aborted.
    """

    def __init__(
        self,
        client: Client,
        link: Link,
        stream: Stream,
        deadline: Optional[float],
        on_approval: Optional[Callable[[ToolConfirm], Decision]],
        steered: bool = False,
    ) -> None:
        # Keeps the client alive as long as its prompts.
        self._client = client
        self._link = link
        self._stream = stream
        self._deadline = deadline
        self._on_approval = on_approval
        self.steered = steered
        self._builder = AnswerBuilder()
        self._batch: Iterator[Event] = iter(())
        self._iterating = threading.Lock()
        self._over = False

    def __iter__(self) -> Run:
        return self

    def __next__(self) -> Event:
        if not self._iterating.acquire(blocking=False):
            raise RuntimeError("this prompt is being read by another thread")
        try:
            for event in self._batch:
                break
            else:
                event = self._fetch()
            self._builder.add(event)
            if event.__class__ is ToolConfirm and self._on_approval is not None:
                self._approve(event)
            return event
        finally:
            self._iterating.release()

    @property
    def answer(self) -> Answer:
        """The outcome of the prompt, complete when the iteration has ended."""
        return self._builder.answer

    @property
    def summary(self) -> Optional[str]:
        """The summary, if this is a compaction."""
        return self._builder.summary

    def close(self) -> None:
        """Aborts the prompt if it is still running, waits for its end and drops the remaining events."""
        self._over = True
        self._batch = iter(())
        if not self._stream.ended:
            self._link.discard(self._stream)
        self._link.settle(ABORT_SECONDS)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not self._stream.ended:
            self._link.forget(self._stream)

    def _fetch(self) -> Event:
        if self._over:
            raise StopIteration
        try:
            events = self._link.take(self._stream, self._deadline)
        except Timeout:
            self.close()
            raise
        except BaseException:
            self._over = self._over or self._stream.ended
            raise
        if events is None:
            self._over = True
            self._builder.finish(self._stream.aborted)
            if self._builder.failure is not None:
                raise self._builder.failure
            raise StopIteration
        self._batch = iter(events)
        return next(self._batch)

    def _approve(self, event: ToolConfirm) -> None:
        assert self._on_approval is not None
        try:
            decision = self._on_approval(event)
            if inspect.iscoroutine(decision):
                decision.close()
                raise TypeError("on_approval of a Client must be a plain function; AsyncClient also takes async ones")
            request = confirmation(event.id, decision)
        except BaseException:
            self.close()  # Nothing has allowed it, and nothing will.
            raise
        try:
            self._link.call(request, self._client._timeout)
        except CommandFailed as error:
            if error.code != "not_waiting":  # Aborted, or too late.
                raise


class Client(ClientBase[Callable[[ToolConfirm], Decision]]):
    """Drives one `zot rpc` process: one conversation.

        with zot.Client(provider="anthropic") as client:
            for event in client.prompt("count the lines in notes.txt"):
                ...

    All methods may be called from any thread, `abort` and `steer` while another one iterates. One prompt
    runs at a time: a second one raises Busy, unless `when_busy` is given.
    """

    def _set_up(self) -> Spawn:
        self._link: Optional[Link] = None
        self._closed = False
        self._starting = threading.RLock()
        self._finalizer: Optional[Any] = None
        self._loop = Loop()  # For tools that are coroutines.
        return self._loop.spawn

    # Start and end

    def start(self) -> Client:
        """Starts zot now instead of with the first command. Raises StartFailed."""
        self._connected()
        return self

    def close(self) -> None:
        """Ends zot, aborting what runs. Safe to call twice; every later call raises Closed."""
        with self._starting:
            self._closed = True
            link, self._link = self._link, None
        self._tools.cancel_running()
        if link is not None:
            if self._finalizer is not None:
                self._finalizer.detach()
            link.close()
        self._loop.close()

    def __enter__(self) -> Client:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def hello(self) -> results.Hello:
        """Version, provider, model and capabilities of zot."""
        self._connected()
        assert self._hello is not None
        return self._hello

    @property
    def pid(self) -> int:
        return self._connected().pid

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
    ) -> Run:
        """Sends a message and returns its events. After `timeout` seconds the prompt is aborted.

        `when_busy`: "reject" raises Busy, "steer" adds the message to the running prompt (`steered` is then
        true and there are no events), "queue" waits for its turn: another thread must read the running prompt."""
        deadline = None if timeout is None else time.monotonic() + timeout
        self._refresh_tools()
        link = self._connected()
        link.settle(ABORT_SECONDS)
        request = commands.prompt(message, images, budget, when_busy)
        return self._run(link, request, self._patience(request, timeout), deadline)[1]

    def ask(
        self,
        message: str = "",
        *,
        images: Sequence[ImageInput] = (),
        timeout: Optional[float] = None,
        budget: Optional[Budget] = None,
    ) -> Answer:
        """Sends a message and waits for the answer. Raises PromptFailed."""
        with self.prompt(message, images=images, timeout=timeout, budget=budget) as run:
            for _ in run:
                pass
            return run.answer

    def compact(self, *, timeout: Optional[float] = None) -> Optional[str]:
        """Summarises the conversation; returns the summary, or None if aborted. Raises PromptFailed or Busy."""
        deadline = None if timeout is None else time.monotonic() + timeout
        link = self._connected()
        link.settle(ABORT_SECONDS)
        with self._run(link, commands.compact(), timeout, deadline)[1] as run:
            for _ in run:
                pass
            return run.summary

    def abort(self) -> None:
        """Aborts what runs; its events still end with `Done`. Does nothing if nothing runs."""
        self._call(commands.abort())
        self._tools.cancel_running()

    def steer(self, message: str, *, images: Sequence[ImageInput] = ()) -> None:
        """Adds a message to the running prompt."""
        self._call(commands.steer(message, images))

    def confirm(
        self,
        call_id: str,
        allow: bool,
        *,
        reason: Optional[str] = None,
        remember: Remember = "call",
        args: Optional[Dict[str, Any]] = None,
    ) -> None:
        """Answers a ToolConfirm event; not needed with `on_approval`."""
        self._call(commands.confirm(call_id, allow, reason, remember, args))

    def answer(
        self, question_id: str, action: AnswerAction = "accept", content: Optional[Dict[str, Any]] = None
    ) -> None:
        """Answers a ToolQuestion event, with the fields of its form."""
        self._call(commands.answer(question_id, action, content))

    # Queries

    def state(self) -> results.State:
        return self._call(commands.get_state())

    def messages(self, *, full: bool = False) -> List[Message]:
        """Returns the conversation; with `full`, everything that `set_messages` needs to restore it."""
        return self._call(commands.get_messages(full))

    def usage(self) -> results.Spent:
        """Returns the usage since the process started."""
        return self._call(commands.get_usage())

    def models(self) -> List[results.Model]:
        return self._call(commands.get_models())

    def tools(self) -> List[results.Tool]:
        """Returns all tools, and which of them the model may call."""
        self._refresh_tools()
        return self._call(commands.get_tools())

    def mcp_servers(self) -> List[results.McpServer]:
        """Returns the MCP servers and their states."""
        return self._call(commands.get_mcp())

    def ping(self) -> None:
        self._call(commands.ping())

    # Settings

    def set_messages(self, messages: Sequence[MessageInput], *, append: bool = False) -> results.MessagesSet:
        """Replaces the conversation, in several requests if it does not fit one line."""
        return commands.merge_messages_set([self._call(request) for request in commands.set_messages(messages, append)])

    def clear(self) -> None:
        self._call(commands.clear())

    def set_model(self, model: str) -> str:
        return self._call(commands.set_model(model))

    def set_reasoning(self, effort: Optional[Effort] = None) -> Optional[str]:
        return self._call(commands.set_reasoning(effort))

    def set_tools(self, tools: Optional[Sequence[str]] = None) -> List[results.Tool]:
        """Gives the model exactly these tools, or all for None."""
        self._refresh_tools()
        return self._call(commands.set_tools(tools))

    def set_sandbox(self, sandbox: Union[str, results.Sandbox]) -> results.Sandbox:
        """Changes what zot's own tools may do, from the next call on: a level, or a whole Sandbox. Whatever it leaves
        open is as it was when zot started."""
        return self._call(commands.set_sandbox(sandbox))

    def set_system_prompt(self, system_prompt: Optional[str] = None) -> None:
        self._call(commands.set_system_prompt(system_prompt))

    def subscribe(self, events: Optional[Sequence[str]] = None, *, details: bool = False) -> List[str]:
        """Subscribes to events of these types, and to those that the client needs."""
        return self._call(commands.subscribe(events, details, self._needed_events()))

    # Extensions

    def commands(self) -> List[results.ExtensionCommand]:
        """Returns the slash commands of all extensions."""
        return self._call(commands.get_commands())

    def invoke_command(self, name: str, args: str = "") -> Tuple[results.CommandOutcome, Optional[Run]]:
        """Runs a slash command. If its action is `prompt`, that prompt has started: read its events."""
        self._refresh_tools()
        link = self._connected()
        outcome, run = self._run(link, commands.invoke_command(name, args), self._timeout, None)
        return outcome, run if outcome.action == "prompt" else None

    def reload_extensions(self) -> List[results.ExtensionState]:
        """Reloads all manifests and restarts every extension."""
        extension = self._connected().extension
        with extension.reloading():
            return self._call(commands.reload_extensions())

    def panel_key(self, extension: str, panel_id: str, key: str, text: Optional[str] = None) -> None:
        self._call(commands.panel_key(extension, panel_id, key, text))

    def panel_resize(self, extension: str, panel_id: str, width: int, height: int) -> None:
        self._call(commands.panel_resize(extension, panel_id, width, height))

    def panel_close(self, extension: str, panel_id: str) -> None:
        self._call(commands.panel_close(extension, panel_id))

    def _call(self, request: Request[T]) -> T:
        return self._connected().call(request, self._timeout)

    def _run(
        self, link: Link, request: Request[T], timeout: Optional[float], deadline: Optional[float]
    ) -> Tuple[T, Run]:
        call = link.begin(request, timeout)
        value = call.result()
        assert call.stream is not None
        return value, Run(self, link, call.stream, deadline, self._on_approval, steered=value is False)

    def _connected(self) -> Link:
        """Returns the process, starting it, or restarting it after a crash with `restart`."""
        with self._starting:
            if self._closed:
                raise Closed("the client was closed")
            if self._link is not None:
                if self._link.is_alive:
                    return self._link
                if not self._restart:
                    raise self._link.failure()
                if self._finalizer is not None:
                    self._finalizer.detach()
                self._link = None
            link = Link(self._options, self._tools, self._memory, self._on_notice)
            try:
                self._prepare(link)
            except BaseException:
                link.kill()
                raise
            self._link = link
            self._finalizer = weakref.finalize(self, link.dispose)
            return link

    def _prepare(self, link: Link) -> None:
        try:
            self._check_hello(link.call(commands.hello(self._options.token(), bool(self._options.confirm), self._options.questions), self._start_timeout))
        except Timeout as error:
            raise self._no_response(link.stderr) from error
        link.greeted(snapshots=False)
        for request in self._preparation():
            link.call(request, self._timeout)
        if self._options.keeps_session:
            self._reopen(link.call(commands.get_state(), self._timeout))
        # A session file already holds the conversation.
        link.greeted(snapshots=self._restart and not self._options.keeps_session)

    def _refresh_tools(self) -> None:
        if self._connected().extension.is_stale:
            try:
                self.reload_extensions()
            except Busy:
                return  # They take effect with the next prompt.
            for request in self._reload_follow_up():
                self._call(request)
