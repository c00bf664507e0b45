"""How zot is started: the options of a client as a command line and an environment."""

from __future__ import annotations

import dataclasses
import os
import shutil
from typing import Dict, List, Mapping, Optional, Sequence, Union

from .commands import Budget
from .errors import ProgramNotFound, StartFailed

TOKEN_VARIABLE = "ZOTCORE_RPC_TOKEN"

# Providers whose key zot also takes from a variable of their name. Other users of the machine can
# read a command line, but not an environment.
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
    program: Path
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
    confirm: Union[bool, Sequence[str]]
    confirm_timeout: Optional[float]
    budget: Optional[Budget]
    args: Sequence[str]

    def resolve_program(self) -> str:
        """The program's path. Raises ProgramNotFound."""
        program = os.fspath(self.program)
        path = self.environment().get("PATH")
        found = shutil.which(program, path=path)
        if found is None:
            if os.path.exists(program):
                raise ProgramNotFound(f"{program!r} is not a program that can be started: is it executable?")
            raise ProgramNotFound(
                f"there is no program {program!r}: install zot and have it on PATH, or pass program='/path/to/zot'"
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

    def token(self) -> Optional[str]:
        return self.environment().get(TOKEN_VARIABLE) or None

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
        if not self.installed_extensions:
            arguments.append("--no-ext")
        for directory in [*self.extensions, private_extension]:
            arguments += ["--ext", os.path.abspath(directory)]
        return [*arguments, *self.args]

    def _key_variable(self) -> Optional[str]:
        provider = self.provider or ("openai" if self.base_url else None)
        return _KEY_VARIABLES.get(provider) if provider else None
