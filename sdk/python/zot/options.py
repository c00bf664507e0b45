"""The options of a client, as a command line and an environment for zot."""

from __future__ import annotations

import dataclasses
import os
import shutil
from typing import Dict, List, Mapping, Optional, Sequence, Union

from .commands import Budget
from .errors import ProgramNotFound, StartFailed
from .results import Sandbox
from .version import __version__

TOKEN_VARIABLE = "ZOTCORE_RPC_TOKEN"

# Providers whose key zot also reads from an environment variable. Other users of the machine can read
# a command line, but not an environment.
_KEY_VARIABLES = {
    name: name.upper() + "_API_KEY"
    for name in (
        "anthropic openai deepseek kimi ollama openrouter groq xai mistral gemini together fireworks "
        "cerebras lmstudio vllm"
    ).split()
}
_KEY_VARIABLES["openai-responses"] = "OPENAI_API_KEY"

Path = Union[str, "os.PathLike[str]"]


@dataclasses.dataclass(frozen=True)
class Options:
    program: Optional[Path]
    provider: Optional[str]
    model: Optional[str]
    api_key: Optional[str]
    base_url: Optional[str]
    cwd: Optional[Path]
    env: Mapping[str, str]
    system_prompt: Optional[str]
    append_system_prompt: Sequence[str]
    reasoning: Optional[str]
    max_steps: Optional[int]
    allow_tools: Optional[Sequence[str]]
    extensions: Sequence[Path]
    installed_extensions: bool
    mcp_config: Sequence[Path]
    installed_mcp: bool
    project_mcp: bool
    questions: bool
    confirm: Union[bool, Sequence[str]]
    confirm_timeout: Optional[float]
    jail: bool
    sandbox: Optional[Sandbox]
    session: Optional[Path]
    resume: Union[Path, bool, None]
    fork: bool
    budget: Optional[Budget]
    args: Sequence[str]

    def resolve_program(self) -> str:
        """Returns the program's path. Raises ProgramNotFound."""
        bundled = _bundled_program() if self.program is None else None
        program = os.fspath(self.program or bundled or "zot")
        path = self.environment().get("PATH")
        found = shutil.which(program, path=path)
        if found is None:
            if os.path.exists(program):
                raise ProgramNotFound(f"{program!r} cannot be started: is it executable?")
            raise ProgramNotFound(
                f"program not found: {program!r}: install zot so that it is on PATH, or pass program='/path/to/zot'"
            )
        return os.path.abspath(found)

    def resolve_cwd(self) -> Optional[str]:
        if self.cwd is None:
            return None
        if not os.path.isdir(self.cwd):
            raise StartFailed(f"cwd is not a directory: {os.fspath(self.cwd)!r}")
        return os.fspath(self.cwd)

    def environment(self) -> Dict[str, str]:
        environment = {**os.environ, **self.env}
        variable = self._key_variable()
        if variable is not None and self.api_key is not None:
            environment[variable] = self.api_key
        return environment

    @property
    def keeps_session(self) -> bool:
        """Whether zot writes the conversation to a session file."""
        return self.session is not None or bool(self.resume)

    def reopening(self, session: str) -> Options:
        """Returns the options for a process that continues in this session file after a crash."""
        return dataclasses.replace(self, session=session, resume=None, fork=False)

    def token(self) -> Optional[str]:
        return self.environment().get(TOKEN_VARIABLE) or None

    @property
    def runs_elsewhere(self) -> bool:
        """Whether the program is `zino`, whose sessions and extensions run on workers."""
        return os.path.basename(os.fspath(self.program or "")).startswith("zino")

    def arguments(self, private_extension: str) -> List[str]:
        arguments = ["rpc"]
        plain: Dict[str, object] = {
            "--provider": self.provider,
            "--model": self.model,
            "--base-url": self.base_url,
            "--system-prompt": self.system_prompt,
            "--reasoning": self.reasoning,
            "--max-steps": self.max_steps,
            "--confirm-timeout": None if self.confirm_timeout is None else f"{self.confirm_timeout:g}",
        }
        if self.api_key is not None and self._key_variable() is None:
            plain["--api-key"] = self.api_key
        if self.budget is not None:
            plain["--max-process-steps"] = self.budget.max_steps
            plain["--max-cost-usd"] = self.budget.max_cost_usd
            plain["--max-tokens"] = self.budget.max_tokens
            plain["--timeout-ms"] = self.budget.timeout_ms
        for flag, value in plain.items():
            if value is not None:
                arguments += [flag, str(value)]
        for text in self.append_system_prompt:
            arguments += ["--append-system-prompt", text]
        if self.allow_tools is not None:
            arguments += ["--tools", ",".join(self.allow_tools)] if self.allow_tools else ["--no-tools"]
        if self.confirm is True:
            arguments.append("--confirm")
        elif self.confirm:
            arguments.append("--confirm=" + ",".join(self.confirm))
        if self.session is not None:
            arguments += ["--session", os.path.abspath(self.session)]
        if self.resume is True:
            arguments.append("--continue")
        elif self.resume:
            arguments += ["--resume", os.fspath(self.resume)]
        for flag, given in (("--fork", self.fork), ("--jail", self.jail)):
            if given:
                arguments.append(flag)
        arguments += self._sandbox_arguments()
        if not self.installed_extensions:
            arguments.append("--no-ext")
        for given in self.mcp_config:
            arguments += ["--mcp-config", os.path.abspath(given)]
        if not self.installed_mcp:
            arguments.append("--no-mcp")
        if self.project_mcp:
            arguments.append("--project-mcp")
        private = [] if self.runs_elsewhere else [private_extension]
        for directory in [*self.extensions, *private]:
            arguments += ["--ext", os.path.abspath(directory)]
        return [*arguments, *self.args]

    def _sandbox_arguments(self) -> List[str]:
        if self.sandbox is None:
            return []
        arguments = ["--sandbox", self.sandbox.level]
        for flag, values in (
            ("--sandbox-read", self.sandbox.read),
            ("--sandbox-write", self.sandbox.write),
            ("--sandbox-run", self.sandbox.run),
            ("--sandbox-connect", self.sandbox.connect),
            ("--sandbox-unix-socket", self.sandbox.unix_sockets),
            ("--sandbox-env", self.sandbox.environment),
        ):
            for value in values or ():
                arguments += [flag, os.fspath(value)]
        for flag, limit in (
            ("--sandbox-memory-mib", self.sandbox.memory_mib),
            ("--sandbox-processes", self.sandbox.processes),
            ("--sandbox-processor-seconds", self.sandbox.processor_seconds),
            ("--sandbox-open-files", self.sandbox.open_files),
        ):
            if limit:
                arguments += [flag, str(limit)]
        return arguments

    def _key_variable(self) -> Optional[str]:
        provider = self.provider or ("openai" if self.base_url else None)
        return _KEY_VARIABLES.get(provider) if provider else None


def _bundled_program() -> Optional[str]:
    """Returns the zot that the wheel of this package installed, which need not be on PATH."""
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    record = os.path.join(packages, f"zot_agent-{__version__}.dist-info", "RECORD")
    try:
        with open(record, encoding="utf-8") as lines:
            paths = [line.split(",", 1)[0] for line in lines]
    except OSError:
        return None
    programs = (os.path.normpath(os.path.join(packages, path)) for path in paths if path.endswith("bin/zot"))
    return next((program for program in programs if os.access(program, os.X_OK)), None)
