"""What both clients have in common: their options, their tools, and how a process is prepared."""

from __future__ import annotations

from typing import Any, Callable, Dict, Generic, List, Mapping, Optional, Sequence, Set, TypeVar, Union, overload

from . import commands
from .commands import Budget, Effort, Request
from .errors import StartFailed
from .events import Event
from .options import Options, Path
from .protocol import Memory
from .results import Hello
from .tools import Spawn, Tools

Function = TypeVar("Function", bound=Callable[..., Any])
Approve = TypeVar("Approve", bound=Callable[..., Any])

PROTOCOL_VERSION = 1

# How long work may take to wind down after an abort, before the process counts as stuck. A command
# that ignores SIGTERM is killed by zot after three seconds.
ABORT_SECONDS = 10.0

# What zot may take to end by itself: its extensions have three seconds.
END_SECONDS = 5.0
TERMINATE_SECONDS = 5.0

# How much of standard error is kept.
STDERR_BYTES = 64 * 1024

# The largest piece read at once: what a pipe holds on Linux.
READ_BYTES = 64 * 1024

DEFAULT_TIMEOUT = 60.0
DEFAULT_START_TIMEOUT = 30.0


class ClientBase(Generic[Approve]):
    """The options of a client."""

    def __init__(
        self,
        *,
        program: Path = "zot",
        provider: Optional[str] = None,
        model: Optional[str] = None,
        api_key: Optional[str] = None,
        base_url: Optional[str] = None,
        cwd: Optional[Path] = None,
        env: Optional[Mapping[str, str]] = None,
        system_prompt: Optional[str] = None,
        append_system_prompt: Union[str, Sequence[str]] = (),
        reasoning: Optional[Effort] = None,
        max_steps: Optional[int] = None,
        tools: Sequence[Callable[..., Any]] = (),
        allow_tools: Optional[Sequence[str]] = None,
        extensions: Sequence[Path] = (),
        installed_extensions: bool = True,
        on_approval: Optional[Approve] = None,
        confirm: Union[bool, Sequence[str], None] = None,
        confirm_timeout: Optional[float] = None,
        on_notice: Optional[Callable[[Event], Any]] = None,
        budget: Optional[Budget] = None,
        restart: bool = False,
        timeout: Optional[float] = DEFAULT_TIMEOUT,
        start_timeout: float = DEFAULT_START_TIMEOUT,
        args: Sequence[str] = (),
    ) -> None:
        """Nothing is started yet: that happens with `with`, `start` or the first command.

        - `env` is added to this process's environment. `args` are further arguments of `zot rpc`.
        - `tools` are Python functions the model can call; `allow_tools` names those of zot it has besides: all
          of them without it, none with an empty list. It also has the tools of extensions that are loaded; a
          name with a leading "-" takes a tool away, whoever brings it.
        - `extensions` are directories to load besides the installed ones, which `installed_extensions=False`
          leaves out.
        - `on_approval` is asked before every call of a tool, or of those in `confirm`. Without it tools run
          without being asked for, unless `confirm` is given: then the ToolConfirm events want a `confirm`.
        - `on_notice` gets what extensions say, and other events outside of prompts.
        - `budget` limits all prompts of a process together.
        - `restart` starts a new process after a crash, with the conversation and settings restored.
        - `timeout` is for each call, `start_timeout` for zot to answer; both in seconds.
        """
        if isinstance(append_system_prompt, str):
            append_system_prompt = [append_system_prompt]
        if isinstance(confirm, str) or isinstance(allow_tools, str):
            raise TypeError("confirm and allow_tools take a list of names, not a string")
        if confirm is None:
            confirm = on_approval is not None
        self._options = Options(
            program=program,
            provider=provider,
            model=model,
            api_key=api_key,
            base_url=base_url,
            cwd=cwd,
            env=dict(env or {}),
            system_prompt=system_prompt,
            append_system_prompt=list(append_system_prompt),
            reasoning=reasoning,
            max_steps=max_steps,
            allow_tools=None if allow_tools is None else list(allow_tools),
            extensions=list(extensions),
            installed_extensions=installed_extensions,
            confirm=confirm if isinstance(confirm, bool) else list(confirm),
            confirm_timeout=confirm_timeout,
            budget=budget,
            args=list(args),
        )
        self._on_approval = on_approval
        self._on_notice = on_notice
        self._restart = restart
        self._timeout = timeout
        self._start_timeout = start_timeout
        self._memory = Memory()
        self._hello: Optional[Hello] = None
        self._tools = Tools(self._set_up())
        for function in tools:
            self._tools.add(function)

    def _set_up(self) -> Spawn:
        """Makes what the one client needs and the other does not; returns how coroutines of tools are run."""
        raise NotImplementedError

    @overload
    def tool(self, function: Function) -> Function: ...
    @overload
    def tool(
        self, *, name: Optional[str] = None, description: Optional[str] = None, schema: Optional[Dict[str, Any]] = None
    ) -> Callable[[Function], Function]: ...
    def tool(
        self,
        function: Optional[Callable[..., Any]] = None,
        *,
        name: Optional[str] = None,
        description: Optional[str] = None,
        schema: Optional[Dict[str, Any]] = None,
    ) -> Any:
        """Gives the model a Python function, plain or async: `@client.tool` or `@client.tool(name=...)`.

        Its signature becomes the schema and its docstring the description; with `schema` it takes the
        arguments as one dict. An exception becomes an error that the model reads. zot waits 60 s. One that is
        added while the client runs counts from the next prompt on, for which zot loads its extensions anew."""
        if function is not None:
            self._tools.add(function)
            return function

        def register(function: Function) -> Function:
            self._tools.add(function, name, description, schema)
            return function

        return register

    def _needed_events(self) -> Set[str]:
        confirms = ["tool_confirm"] if self._options.confirm else []
        return {*commands.NEEDED_EVENTS, *confirms}

    def _check_hello(self, hello: Hello) -> None:
        if hello.protocol_version != PROTOCOL_VERSION:
            raise StartFailed(
                f"zot {hello.version} speaks version {hello.protocol_version} of the protocol, "
                f"this package version {PROTOCOL_VERSION}: install the package that came with it"
            )
        if self._restart and not {"full_messages", "set_messages"} <= set(hello.capabilities):
            raise StartFailed(f"restart=True needs a zot that can restore a conversation; {hello.version} cannot")
        self._hello = hello

    def _patience(self, request: Request[Any], timeout: Optional[float]) -> Optional[float]:
        """How long the response to a prompt may take: as long as the prompt, if others come first."""
        if request.queues or self._timeout is None:
            return timeout
        return self._timeout if timeout is None else min(timeout, self._timeout)

    def _silence(self, stderr: str) -> StartFailed:
        program = self._options.resolve_program()
        return StartFailed(f"{program} did not answer within {self._start_timeout:g} s: is it zot?", stderr=stderr)

    def _preparation(self) -> List[Request[Any]]:
        """What a new process is told after hello."""
        requests: List[Request[Any]] = []
        names = self._tools.names()
        if names:
            requests.append(commands.get_commands())  # Waits until the extension is there.
        requests += self._memory.requests()
        return requests

    def _reload_follow_up(self) -> List[Request[Any]]:
        """What is to be said after tools were added: a list of tools does not know them."""
        known = self._memory.settings.get("set_tools")
        listed = known.fields.get("tools") if known is not None else None
        if listed is None:
            return []
        return [commands.set_tools(list(dict.fromkeys([*listed, *self._tools.names()])))]
