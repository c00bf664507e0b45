"""Errors: one class for each way a caller can react."""

from __future__ import annotations

import signal
from typing import Optional

# How much of standard error an error message includes.
_SHOWN_CHARACTERS = 2000


class ZotError(Exception):
    """The base of all errors of this package."""


class CommandFailed(ZotError):
    """zot rejected a command; `code` is one of the error codes in docs/rpc.md, such as `unknown_model`."""

    def __init__(self, command: str, message: str, code: str = "") -> None:
        super().__init__(f"{command}: {message}" if command else message)
        self.command = command
        self.message = message
        self.code = code


class Busy(CommandFailed):
    """A prompt or compaction is running: wait for its end, or send a prompt with `when_busy`."""


class PromptFailed(ZotError):
    """A prompt or compaction failed; the client stays usable. `retry_after` is in seconds."""

    def __init__(self, message: str, code: str = "", retry_after: Optional[float] = None) -> None:
        super().__init__(f"{message} ({code})" if code else message)
        self.message = message
        self.code = code
        self.retry_after = retry_after


class Timeout(ZotError, TimeoutError):
    """A call or prompt took too long. The prompt was aborted; the client stays usable."""


class Closed(ZotError):
    """The client was closed."""


class ProcessFailed(ZotError):
    """The process is unusable; `stderr` holds the end of its standard error."""

    def __init__(self, message: str, status: Optional[int] = None, stderr: str = "") -> None:
        shown = stderr.strip()[-_SHOWN_CHARACTERS:]
        super().__init__(f"{message}; standard error:\n{shown}" if shown else message)
        self.status = status
        self.stderr = stderr


class StartFailed(ProcessFailed):
    """zot could not be started: a wrong option, a missing key, or another program with that name."""


class ProgramNotFound(StartFailed):
    """The program does not exist."""


class Crashed(ProcessFailed):
    """zot ended unexpectedly; `status` is as in `subprocess`, so -9 is SIGKILL."""


class ProtocolError(ProcessFailed):
    """The program's output does not follow the protocol of `zot rpc`."""


def describe_status(status: Optional[int]) -> str:
    """Describes how a process ended."""
    if status is None:
        return "did not end"
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was killed by {name}"
