#!/usr/bin/env python3
"""Looks at every shell command before it runs, and writes down everything that happens."""

import json
import sys
from datetime import datetime, timezone
from pathlib import Path

from dangers import danger

EVENTS = ["session_start", "turn_start", "turn_end", "tool_call", "assistant_message"]


def emit(frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


class Audit:
    """One line for each event, in the directory that the host names."""

    def __init__(self, directory):
        self.file = open(Path(directory) / "audit.jsonl", "a", encoding="utf-8")

    def write(self, fact):
        line = {"time": datetime.now(timezone.utc).isoformat(timespec="milliseconds"), **fact}
        self.file.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.file.flush()


def judge(frame, audit):
    command = frame["tool_args"].get("command") if frame["tool_name"] == "bash" else None
    found = danger(command) if isinstance(command, str) else None
    answer = {"type": "event_intercept_response", "id": frame["id"]}
    if found:
        audit.write({"event": "refused", "reason": found, "command": command})
        answer.update(block=True, reason=f"refused by guard: this looks like {found}")
    emit(answer)


def main():
    emit({"type": "hello", "name": "guard", "version": "1.0.0", "capabilities": ["events"]})
    emit({"type": "subscribe", "events": EVENTS, "intercept": ["tool_call"]})
    emit({"type": "ready"})
    audit = None
    for line in sys.stdin:
        frame = json.loads(line)
        kind = frame.pop("type")
        if kind == "hello_ack":
            audit = Audit(frame["data_dir"])
        elif kind == "event":
            audit.write(frame)
        elif kind == "event_intercept":
            judge(frame, audit)
        elif kind == "shutdown":
            emit({"type": "shutdown_ack"})
            return


if __name__ == "__main__":
    main()
