#!/usr/bin/env python3
"""{{name}}: an extension of zot. Frames are JSON objects, one a line: zot's on standard input,
ours on standard output. Print to standard error only; `zot ext logs {{name}}` shows it."""
import json
import sys

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "description": "whom to greet"}},
    "required": ["name"],
}


def send(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)


def command(args):
    """What /{{word}} does: see the protocol for the other actions (prompt, insert, open_panel, noop)."""
    return {"action": "display", "display": f"Hello, {args or 'world'}!"}


def tool(args):
    """What the model gets from {{word}}_greet."""
    return f"Hello, {args['name']}!"


def answer(frame):
    if frame.get("type") == "command_invoked":
        send("command_response", id=frame["id"], **command(frame.get("args", "")))
    elif frame.get("type") == "tool_call":
        try:
            text, failed = tool(frame.get("args") or {}), False
        except Exception as error:  # the model can do something about it, so it is told
            text, failed = f"{type(error).__name__}: {error}", True
        content = [{"type": "text", "text": text}]
        send("tool_result", id=frame["id"], content=content, is_error=failed)
    # Other frames are of no interest here, or of a later version of the protocol.


def main():
    send("hello", name="{{name}}", version="0.1.0", capabilities=["commands", "tools"])
    send("register_command", name="{{word}}", description="say hello")
    send("register_tool", name="{{word}}_greet", description="Greets someone by name.", schema=SCHEMA)
    send("ready")
    while line := sys.stdin.readline():
        frame = json.loads(line)
        if frame.get("type") == "shutdown":
            send("shutdown_ack")
            return
        answer(frame)


if __name__ == "__main__":
    main()
