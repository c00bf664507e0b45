"""What can go wrong, one class for each thing a caller can do about it."""

from __future__ import annotations

import signal
from typing import Optional

# How much of standard error an error's message repeats.
_SHOWN_CHARACTERS = 2000


class ZotError(Exception):
    """The base of every error of this package."""


class CommandFailed(ZotError):
    """zot refused a command; `code` is the word of docs/rpc.md, such as `unknown_model`."""

    def __init__(self, command: str, message: str, code: str = "") -> None:
        super().__init__(f"{command}: {message}" if command else message)
        self.command = command
        self.message = message
        self.code = code


class Busy(CommandFailed):
    """A prompt or compaction runs: wait for its end, or send a prompt with `when_busy`."""


class PromptFailed(ZotError):
    """A prompt or compaction ended with an error; the client goes on. `retry_after` is in seconds."""

    def __init__(self, message: str, code: str = "", retry_after: Optional[float] = None) -> None:
        super().__init__(f"{message} ({code})" if code else message)
        self.message = message
        self.code = code
        self.retry_after = retry_after


class Timeout(ZotError, TimeoutError):
    """A call or prompt took too long. The prompt was aborted, and the client can be used on."""


class Closed(ZotError):
    """The client was closed."""


class ProcessFailed(ZotError):
    """The process cannot be used; `stderr` holds the last that it wrote there."""

    def __init__(self, message: str, status: Optional[int] = None, stderr: str = "") -> None:
        said = stderr.strip()[-_SHOWN_CHARACTERS:]
        super().__init__(f"{message}; it said:\n{said}" if said else message)
        self.status = status
        self.stderr = stderr


class StartFailed(ProcessFailed):
    """zot could not be started: a wrong option, a missing key, another program of that name."""


class ProgramNotFound(StartFailed):
    """There is no such program."""


class Crashed(ProcessFailed):
    """zot ended in the middle; `status` is that of `subprocess`, so -9 is SIGKILL."""


class ProtocolError(ProcessFailed):
    """What the program writes is not the protocol of `zot rpc`."""


def describe_status(status: Optional[int]) -> str:
    """How a process ended, in words."""
    if status is None:
        return "did not end"
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was killed by {name}"
