"""What both clients share: options, tools, and the preparation of a process."""

from __future__ import annotations

from typing import Any, Callable, Dict, Generic, List, Mapping, Optional, Sequence, Set, TypeVar, Union, overload

from . import commands
from .commands import Budget, Effort, Request
from .errors import StartFailed
from .events import Event
from .options import Options, Path
from .protocol import Memory
from .results import Hello, Sandbox, State
from .tools import Spawn, Tools

Function = TypeVar("Function", bound=Callable[..., Any])
Approve = TypeVar("Approve", bound=Callable[..., Any])

PROTOCOL_VERSION = 1

# How long aborted work may take to end before the process counts as stuck. zot kills a command that
# ignores SIGTERM after three seconds.
ABORT_SECONDS = 10.0

# How long zot may take to end by itself: its extensions have three seconds.
END_SECONDS = 5.0
TERMINATE_SECONDS = 5.0

# How much of standard error is kept.
STDERR_BYTES = 64 * 1024

# The most that is read at a time: the capacity of a pipe on Linux.
READ_BYTES = 64 * 1024

DEFAULT_TIMEOUT = 60.0
DEFAULT_START_TIMEOUT = 30.0


class ClientBase(Generic[Approve]):
    """The options of a client."""

    def __init__(
        self,
        *,
        program: Optional[Path] = None,
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
        mcp_config: Sequence[Path] = (),
        installed_mcp: bool = True,
        project_mcp: bool = False,
        questions: bool = False,
        on_approval: Optional[Approve] = None,
        confirm: Union[bool, Sequence[str], None] = None,
        confirm_timeout: Optional[float] = None,
        jail: bool = False,
        sandbox: Union[str, Sandbox, None] = None,
        session: Optional[Path] = None,
        resume: Union[Path, bool, None] = None,
        fork: bool = False,
        on_notice: Optional[Callable[[Event], Any]] = None,
        budget: Optional[Budget] = None,
        restart: bool = False,
        timeout: Optional[float] = DEFAULT_TIMEOUT,
        start_timeout: float = DEFAULT_START_TIMEOUT,
        args: Sequence[str] = (),
    ) -> None:
        """Starts nothing yet: `with`, `start` or the first command does.

        - `program` is the path of zot; without it, the zot that was installed with this package, or that on PATH.
        - `env` is added to this process's environment. `args` are further arguments of `zot rpc`.
        - `tools` are Python functions the model can call. `allow_tools` lists the built-in tools it may call as
          well: all of them by default, none with an empty list. Tools of loaded extensions are always included;
          a name with a leading "-" excludes a tool, whatever it comes from.
        - `extensions` are directories to load in addition to the installed ones, which
          `installed_extensions=False` leaves out.
        - `mcp_config` are files with MCP servers to use in addition to the user's, which `installed_mcp=False` leaves
          out. `project_mcp` starts those of the project's `.mcp.json` as well: programs that its author chose.
        - `questions` lets tools of MCP servers and the sandbox ask: answer ToolQuestion events by calling `answer`.
          Without it they are declined.
        - `on_approval` decides before every tool call, or before those of the tools in `confirm`. Without it tools
          run without asking, unless `confirm` is given: then answer ToolConfirm events by calling `confirm`.
        - `jail` confines the built-in tools to `cwd`.
        - `sandbox` is what the built-in tools may do: "off", "workspace" (they change only `cwd` and have no network)
          or "read-only", or a Sandbox with exact rules. Without it, zot's settings decide.
        - `session` is a file to keep the conversation in, continued if it exists. `resume` is the id of an earlier
          session (its beginning is enough) or its path, or True for the newest session of `cwd`. `fork` continues
          in a copy and leaves the original unchanged.
        - `on_notice` receives the notices of extensions, and other events outside of prompts.
        - `budget` limits all prompts of a process together.
        - `restart` starts a new process after a crash and restores the conversation and settings.
        - `timeout` limits each call, `start_timeout` the start of zot; both in seconds.
        """
        if isinstance(append_system_prompt, str):
            append_system_prompt = [append_system_prompt]
        if isinstance(confirm, str) or isinstance(allow_tools, str):
            raise TypeError("confirm and allow_tools take a list of names, not a string")
        if session is not None and resume:
            raise ValueError("session and resume each choose a session: pass one of them")
        if fork and session is None and not resume:
            raise ValueError("fork needs a session to copy: pass session or resume too")
        rules = None if sandbox is None else commands.as_sandbox(sandbox)
        if rules is not None and rules.run is not None and not rules.run:
            raise ValueError(
                "sandbox: no flag of zot says run=[]: leave out run and call set_sandbox(Sandbox(..., run=[])) before "
                "the first prompt, or leave 'bash' out of allow_tools"
            )
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
            mcp_config=list(mcp_config),
            installed_mcp=installed_mcp,
            project_mcp=project_mcp,
            questions=questions,
            confirm=confirm if isinstance(confirm, bool) else list(confirm),
            confirm_timeout=confirm_timeout,
            jail=jail,
            sandbox=rules,
            session=session,
            resume=resume,
            fork=fork,
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
            self._add_tool(function)

    def _set_up(self) -> Spawn:
        """Creates what only this kind of client needs; returns the function that runs coroutines of tools."""
        raise NotImplementedError

    def _add_tool(self, function: Callable[..., Any], *details: Any) -> None:
        if self._options.runs_elsewhere:
            raise StartFailed(
                "functions of this program cannot be tools of a session on a worker of zino: "
                "start zot here, or add an extension to the worker's profile"
            )
        self._tools.add(function, *details)

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
        arguments as one dict. An exception becomes an error that the model reads. zot waits 60 s. A tool
        added while the client runs takes effect with the next prompt, before which zot reloads its extensions."""
        if function is not None:
            self._add_tool(function)
            return function

        def register(function: Function) -> Function:
            self._add_tool(function, name, description, schema)
            return function

        return register

    def _needed_events(self) -> Set[str]:
        confirms = ["tool_confirm"] if self._options.confirm else []
        questions = ["tool_question"] if self._options.questions else []
        return {*commands.NEEDED_EVENTS, *confirms, *questions}

    def _check_hello(self, hello: Hello) -> None:
        if hello.protocol_version != PROTOCOL_VERSION:
            raise StartFailed(
                f"zot {hello.version} uses version {hello.protocol_version} of the protocol, "
                f"this package version {PROTOCOL_VERSION}: install the package that belongs to that zot"
            )
        if self._restart and not {"full_messages", "set_messages"} <= set(hello.capabilities):
            raise StartFailed(f"restart=True needs a zot that can restore a conversation; {hello.version} cannot")
        self._hello = hello

    def _reopen(self, state: State) -> None:
        """Makes a process that is started after a crash continue in this one's session."""
        if state.session is not None:
            self._options = self._options.reopening(state.session.path)

    def _patience(self, request: Request[Any], timeout: Optional[float]) -> Optional[float]:
        """Returns how long the response to a prompt may take: as long as the prompt, if it is queued."""
        if request.queues or self._timeout is None:
            return timeout
        return self._timeout if timeout is None else min(timeout, self._timeout)

    def _no_response(self, stderr: str) -> StartFailed:
        program = self._options.resolve_program()
        return StartFailed(f"{program} did not respond within {self._start_timeout:g} s: is it zot?", stderr=stderr)

    def _preparation(self) -> List[Request[Any]]:
        """Returns the requests for a new process after hello."""
        requests: List[Request[Any]] = []
        names = self._tools.names()
        if names:
            requests.append(commands.get_commands())  # Waits until the extension is ready.
        requests += self._memory.requests()
        return requests

    def _reload_follow_up(self) -> List[Request[Any]]:
        """Returns the requests after tools were added, which an explicit list of tools lacks."""
        known = self._memory.settings.get("set_tools")
        listed = known.fields.get("tools") if known is not None else None
        if listed is None:
            return []
        return [commands.set_tools(list(dict.fromkeys([*listed, *self._tools.names()])))]
