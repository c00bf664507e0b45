"""An extension that uses every frame once and writes down what goes in and out, for doc-frames."""

import json
import sys

EVENTS = ["session_start", "turn_start", "turn_end", "tool_call", "assistant_message"]
INTERCEPTED = ["tool_call", "turn_start", "assistant_message"]
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
DOT = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC")

record = []
file = None


def note(mark, frame):
    """Kept until it is known where to write."""
    record.append(f"{mark} {json.dumps(frame, ensure_ascii=False, separators=(',', ':'))}\n")
    if file:
        file.writelines(record)
        file.flush()
        record.clear()


def say(kind, **fields):
    frame = {"type": kind, **fields}
    note("<", frame)
    print(json.dumps(frame), flush=True)


def panel(line):
    return {"title": "Demo", "lines": [line], "footer": "esc closes"}


COMMANDS = {
    "greet": lambda args: {"action": "prompt", "prompt": f"Greet {args}."},
    "sign": lambda args: {"action": "insert", "insert": "Yours, Ada"},
    "today": lambda args: {"action": "display", "display": "Nothing is due today."},
    "panel": lambda args: {"action": "open_panel", "open_panel": {"id": "demo", **panel("press a key")}},
    "share": lambda args: {"action": "noop", "error": "Ada cannot be reached"},
}


def call(frame):
    text = frame["args"]["text"]
    if text == "dot":
        image = {"type": "image", "mime_type": "image/png", "data": DOT}
        say("tool_result", id=frame["id"], content=[image])
    elif text == "":
        say("tool_result", id=frame["id"], content=[{"type": "text", "text": "text is empty"}], is_error=True)
    else:
        say("tool_result", id=frame["id"], content=[{"type": "text", "text": text.upper()}])


def judge(frame):
    verdict = {}
    command = frame.get("tool_args", {}).get("command")
    if command == "rm notes.txt":
        verdict = {"block": True, "reason": "the notes are not to be deleted"}
    elif command == "ls":
        verdict = {"modified_args": {"command": "ls -1"}}
    elif frame.get("text") == "the code is 1234":
        verdict = {"replace_text": "the code is ****"}
    say("event_intercept_response", id=frame["id"], **verdict)


say("hello", name="demo", version="1.0.0", capabilities=["commands", "tools", "events"])
for name in COMMANDS:
    say("register_command", name=name, description=f"what {name} does")
say("register_tool", name="shout", description="Says it louder.", schema=SCHEMA)
say("subscribe", events=EVENTS, intercept=INTERCEPTED, hold_text=True)
say("ready")
for line in sys.stdin:
    frame = json.loads(line)
    kind = frame["type"]
    if kind == "hello_ack":
        file = open(frame["data_dir"] + "/frames", "w", encoding="utf-8")
    note(">", frame)
    if kind == "command_invoked":
        say("command_response", id=frame["id"], **COMMANDS[frame["name"]](frame.get("args", "")))
    elif kind == "tool_call":
        say("notify", level="info", message="shouting")
        call(frame)
    elif kind == "event_intercept":
        judge(frame)
    elif kind == "panel_key" and frame.get("text") == "q":
        say("panel_close", panel_id=frame["panel_id"])
    elif kind == "panel_key":
        pressed = frame.get("text", frame["key"])
        say("panel_render", panel_id=frame["panel_id"], **panel(f"you pressed {pressed}"))
    elif kind == "shutdown":
        say("shutdown_ack")
        break
