"""An extension that does next to nothing, for `cargo xtask bench ext`: `child.py NAME`.

It registers a tool and a command called NAME and answers tool calls, as an extension does that
was written without an SDK.
"""

import json
import sys


def send(frame):
    sys.stdout.buffer.write(json.dumps(frame, separators=(",", ":")).encode() + b"\n")
    sys.stdout.buffer.flush()


name = sys.argv[1]
send({"type": "hello", "name": name, "version": "1", "capabilities": ["commands", "tools"]})
send({"type": "register_command", "name": name, "description": "none"})
send({"type": "register_tool", "name": name, "description": "none", "schema": {"type": "object"}})
send({"type": "ready"})
for line in sys.stdin.buffer:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        content = [{"type": "text", "text": "ok"}]
        send({"type": "tool_result", "id": frame["id"], "content": content})
