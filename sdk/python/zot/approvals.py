"""The decisions of an approval callback."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, Optional, Union

from . import commands
from .commands import Remember, Request


@dataclasses.dataclass(frozen=True)
class Allow:
    """Lets the call run, with other arguments if `args` is given. `remember` applies the decision to later calls."""

    remember: Remember = "call"
    args: Optional[Dict[str, Any]] = None


@dataclasses.dataclass(frozen=True)
class Deny:
    """Rejects the call; the model reads the reason."""

    reason: Optional[str] = None
    remember: Remember = "call"


Decision = Union[Allow, Deny, bool]


def confirmation(call_id: str, decision: object) -> Request[None]:
    """Returns the command for a decision. Raises TypeError for anything else, so that None does not allow."""
    if decision is True:
        decision = Allow()
    elif decision is False:
        decision = Deny()
    if isinstance(decision, Allow):
        return commands.confirm(call_id, True, None, decision.remember, decision.args)
    if isinstance(decision, Deny):
        return commands.confirm(call_id, False, decision.reason, decision.remember, None)
    raise TypeError(f"on_approval returned {decision!r}: return zot.Allow(), zot.Deny(reason), True or False")
