"""The data of responses to commands."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Optional, Sequence

from .fields import Frame, mapping, objects, optional_text, text, texts, truth, whole
from .messages import Usage, read_usage


@dataclasses.dataclass(frozen=True)
class Hello:
    protocol_version: int
    version: str
    provider: str
    model: str
    capabilities: List[str]


@dataclasses.dataclass(frozen=True)
class SessionFile:
    """The session file of a conversation; it is created with the first message."""

    id: str
    path: str


@dataclasses.dataclass(frozen=True)
class Sandbox:
    """What zot's own tools may do; see docs/sandbox.md.

    As an option of a client or in `set_sandbox`, None means: as zot's settings say. From zot, `run` is None if every
    program can be started, and a limit is None if there is none. `caveats` says what the system does not enforce."""

    #: `off`, `workspace` or `read-only`.
    level: str
    read: Optional[Sequence[str]] = None
    write: Optional[Sequence[str]] = None
    #: The only programs that can be started, beside the shell. An empty list works with `set_sandbox`, not at the start.
    run: Optional[Sequence[str]] = None
    #: Hosts, as `host:port`.
    connect: Optional[Sequence[str]] = None
    unix_sockets: Optional[Sequence[str]] = None
    #: Variables that commands get although the level withholds them.
    environment: Optional[Sequence[str]] = None
    memory_mib: Optional[int] = None
    processes: Optional[int] = None
    processor_seconds: Optional[int] = None
    open_files: Optional[int] = None
    caveats: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class State:
    """`session` is None if the conversation is not kept in a file, `sandbox` if zot's tools may do what the user may."""

    provider: str
    model: str
    cwd: str
    message_count: int
    busy: bool
    usage: Usage
    session: Optional[SessionFile] = None
    jailed: bool = False
    sandbox: Optional[Sandbox] = None


@dataclasses.dataclass(frozen=True)
class Model:
    id: str
    provider: str
    context_window: int
    max_output: int
    reasoning: bool


@dataclasses.dataclass(frozen=True)
class Tool:
    """A tool; `enabled` says whether the model may call it, `extension` and `server` where it comes from.

    The model has to find a `deferred` tool with `tool_search` before it is declared."""

    name: str
    description: str
    parameters: Dict[str, Any]
    enabled: bool
    extension: Optional[str]
    server: Optional[str] = None
    deferred: bool = False


@dataclasses.dataclass(frozen=True)
class McpServer:
    """An MCP server; `error` says why it is restarting or has failed, `notes` what was left out of its lists."""

    name: str
    #: `user`, `project` or `program`.
    origin: str
    #: `disabled`, `starting`, `ready`, `needs_login`, `restarting` or `failed`.
    state: str
    tools: int
    prompts: int
    resources: int
    error: Optional[str] = None
    protocol_version: Optional[str] = None
    product: Optional[str] = None
    notes: List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class ModelUsage:
    model: str
    usage: Usage


@dataclasses.dataclass(frozen=True)
class TurnUsage:
    model: str
    time: str
    usage: Usage


@dataclasses.dataclass(frozen=True)
class Spent:
    """Usage since the process started: in total, by model, by model call."""

    total: Usage
    models: List[ModelUsage]
    turns: List[TurnUsage]


@dataclasses.dataclass(frozen=True)
class MessagesSet:
    """The number of messages, and what was repaired because providers would reject it."""

    message_count: int
    results_added: int
    results_dropped: int
    messages_dropped: int


@dataclasses.dataclass(frozen=True)
class ExtensionCommand:
    """A slash command, its name without the slash."""

    name: str
    description: str
    extension: str


@dataclasses.dataclass(frozen=True)
class PanelSpec:
    id: str
    title: str
    lines: List[str]
    footer: str


@dataclasses.dataclass(frozen=True)
class CommandOutcome:
    """The result of a slash command: `action` is prompt, insert, display, open_panel or noop."""

    extension: str
    action: str
    prompt: Optional[str]
    insert: Optional[str]
    display: Optional[str]
    open_panel: Optional[PanelSpec]
    error: Optional[str]


@dataclasses.dataclass(frozen=True)
class ExtensionState:
    """`state`: ready, starting, restarting, failed or stopped."""

    name: str
    version: str
    state: str
    source: str
    directory: str
    commands: List[str]
    tools: List[str]
    error: Optional[str]


def read_hello(data: Frame) -> Hello:
    return Hello(
        whole(data, "protocol_version"),
        text(data, "version"),
        text(data, "provider"),
        text(data, "model"),
        texts(data, "capabilities"),
    )


def read_state(data: Frame) -> State:
    session = mapping(data, "session") if "session" in data else None
    return State(
        text(data, "provider"),
        text(data, "model"),
        text(data, "cwd"),
        whole(data, "message_count"),
        truth(data, "busy"),
        read_usage(mapping(data, "usage")),
        SessionFile(text(session, "id"), text(session, "path")) if session else None,
        truth(data, "jailed") if "jailed" in data else False,
        read_sandbox(mapping(data, "sandbox")) if "sandbox" in data else None,
    )


def read_sandbox(data: Frame) -> Sandbox:
    def limit(name: str) -> Optional[int]:
        return whole(data, name) if name in data else None

    return Sandbox(
        text(data, "level"),
        texts(data, "read"),
        texts(data, "write"),
        texts(data, "run") if "run" in data else None,
        texts(data, "connect"),
        texts(data, "unix_sockets"),
        texts(data, "environment"),
        limit("memory_mib"),
        limit("processes"),
        limit("processor_seconds"),
        limit("open_files"),
        texts(data, "caveats"),
    )


def read_models(data: Frame) -> List[Model]:
    return [
        Model(
            text(entry, "id"),
            text(entry, "provider"),
            whole(entry, "context_window"),
            whole(entry, "max_output"),
            truth(entry, "reasoning"),
        )
        for entry in objects(data, "models")
    ]


def read_tools(data: Frame) -> List[Tool]:
    return [
        Tool(
            text(entry, "name"),
            text(entry, "description"),
            mapping(entry, "parameters"),
            truth(entry, "enabled"),
            optional_text(entry, "extension"),
            optional_text(entry, "server"),
            bool(entry.get("deferred")),
        )
        for entry in objects(data, "tools")
    ]


def read_mcp_server(entry: Frame) -> McpServer:
    return McpServer(
        text(entry, "name"),
        text(entry, "origin"),
        text(entry, "state"),
        whole(entry, "tools"),
        whole(entry, "prompts"),
        whole(entry, "resources"),
        optional_text(entry, "error"),
        optional_text(entry, "protocol_version"),
        optional_text(entry, "product"),
        texts(entry, "notes") if "notes" in entry else [],
    )


def read_mcp(data: Frame) -> List[McpServer]:
    return [read_mcp_server(entry) for entry in objects(data, "servers")]


def read_spent(data: Frame) -> Spent:
    models = [
        ModelUsage(text(entry, "model"), read_usage(mapping(entry, "usage"))) for entry in objects(data, "models")
    ]
    turns = [
        TurnUsage(text(entry, "model"), text(entry, "time"), read_usage(mapping(entry, "usage")))
        for entry in objects(data, "turns")
    ]
    return Spent(read_usage(mapping(data, "total")), models, turns)


def read_messages_set(data: Frame) -> MessagesSet:
    repaired = mapping(data, "repaired")
    return MessagesSet(
        whole(data, "message_count"),
        whole(repaired, "results_added"),
        whole(repaired, "results_dropped"),
        whole(repaired, "messages_dropped"),
    )


def read_commands(data: Frame) -> List[ExtensionCommand]:
    return [
        ExtensionCommand(text(entry, "name"), text(entry, "description"), text(entry, "extension"))
        for entry in objects(data, "commands")
    ]


def read_outcome(data: Frame) -> CommandOutcome:
    panel = None
    if data.get("open_panel") is not None:
        spec = mapping(data, "open_panel")
        title, footer = optional_text(spec, "title") or "", optional_text(spec, "footer") or ""
        panel = PanelSpec(text(spec, "id"), title, texts(spec, "lines"), footer)
    return CommandOutcome(
        text(data, "extension"),
        text(data, "action"),
        optional_text(data, "prompt"),
        optional_text(data, "insert"),
        optional_text(data, "display"),
        panel,
        optional_text(data, "error"),
    )


def read_extensions(data: Frame) -> List[ExtensionState]:
    return [
        ExtensionState(
            text(entry, "name"),
            text(entry, "version"),
            text(entry, "state"),
            text(entry, "source"),
            text(entry, "directory"),
            texts(entry, "commands"),
            texts(entry, "tools"),
            optional_text(entry, "error"),
        )
        for entry in objects(data, "extensions")
    ]
