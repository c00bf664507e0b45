"""An extension that does what script.json beside it says, and notes every frame in frames.log:
"> " came from the host, "< " went to it, "# " is a remark. Python 3.9, nothing else.

script.json, all parts optional; STEPS is one step or a list of them:
  start            STEPS before anything is read
  after_ack        STEPS once hello_ack came
  tools            {NAME: STEPS}, for calls of a tool
  commands         {NAME: STEPS}
  intercept        {EVENT: STEPS}; without, an interceptor allows
  events           {EVENT: STEPS}
  panel            {"panel_key": STEPS, "panel_resize": STEPS, "panel_close": STEPS}
  at_shutdown      STEPS before what follows
  shutdown         "ack" (as without), "exit", "hang"
  ignore_sigterm   true
  quiet            true: no frames.log (a confined extension may not write it)
STEPS may also be {"in_turn": [STEPS, ...]}: the first time, the second time, ..., the last for ever.

A step with a "type" is a frame to send. Answers get the id of the question; "echo": FIELD makes the
field of the question the text of a tool_result. Others:
  {"raw": TEXT}  {"stderr": TEXT}  {"sleep": SECONDS}  {"exit": CODE}  {"repeat": N, "text": TEXT}
  {"touch": PATH}  {"wait_for": PATH}  {"stop_reading": true}
  {"attempt": KIND, ...}  tries something and answers the call with what came of it (see `attempt`)
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = json.loads((HERE / "script.json").read_text())
NOTES = None if SCRIPT.get("quiet") else open(HERE / "frames.log", "a", buffering=1)
ANSWERS = {"tool_result", "event_intercept_response", "command_response"}
turns = {}


def note(mark, text):
    if NOTES:
        NOTES.write(f"{mark} {text}\n")


def put(line):
    note("<", line)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def leave(code, remark):
    note("#", remark)
    os._exit(code)


def attempt(step):
    """What came of something that may be forbidden: "ok" and what was found, or the error."""
    kind = step["attempt"]
    try:
        if kind == "read":
            return "ok: " + pathlib.Path(step["path"]).read_text()
        if kind == "list":
            return "ok: " + " ".join(sorted(os.listdir(step["path"])))
        if kind == "write":
            pathlib.Path(step["path"]).write_text("written")
            return "ok"
        if kind == "connect":
            socket.create_connection((step["host"], step["port"]), timeout=5).close()
            return "ok"
        if kind == "run":
            return "ok: " + subprocess.run(step["command"], capture_output=True, text=True).stdout
        if kind == "environment":
            return "ok: " + json.dumps({name: os.environ.get(name) for name in step["names"]})
        if kind == "whereabouts":
            return "ok: " + json.dumps({"cwd": os.getcwd(), "arguments": sys.argv[1:]})
        return f"unknown attempt {kind}"
    except OSError as error:
        return f"failed: {error}"


def do(steps, question=None):
    """Does `steps`, as the answer to `question` if there is one."""
    question = question or {}
    if isinstance(steps, dict) and "in_turn" in steps:
        key = id(steps)
        turn = turns[key] = turns.get(key, -1) + 1
        steps = steps["in_turn"][min(turn, len(steps["in_turn"]) - 1)]
    for step in steps if isinstance(steps, list) else [steps]:
        if "raw" in step:
            put(step["raw"])
        elif "stderr" in step:
            sys.stderr.write(step["stderr"] + "\n")
            sys.stderr.flush()
        elif "sleep" in step:
            time.sleep(step["sleep"])
        elif "exit" in step:
            leave(step["exit"], f"exit {step['exit']}")
        elif "touch" in step:
            (HERE / step["touch"]).touch()
        elif "wait_for" in step:
            while not (HERE / step["wait_for"]).exists():
                time.sleep(0.005)
        elif "stop_reading" in step:
            while True:
                time.sleep(60)
        else:
            frame = dict(step)
            if "attempt" in frame:
                frame = {"type": "tool_result", "content": [{"type": "text", "text": attempt(step)}]}
            if "repeat" in frame:
                text = frame.pop("text") * frame.pop("repeat")
                frame["content"] = [{"type": "text", "text": text}]
            if "echo" in frame:
                text = json.dumps(question.get(frame.pop("echo")), sort_keys=True)
                frame["content"] = [{"type": "text", "text": text}]
            if frame.get("type") in ANSWERS and "id" in question:
                frame.setdefault("id", question["id"])
            put(json.dumps(frame))


def obey(frame):
    """Reacts to one frame of the host; false when that was the last."""
    kind = frame.get("type")
    if kind == "hello_ack":
        do(SCRIPT.get("after_ack", []))
    elif kind == "tool_call":
        do(SCRIPT.get("tools", {}).get(frame["name"], []), frame)
    elif kind == "command_invoked":
        do(SCRIPT.get("commands", {}).get(frame["name"], []), frame)
    elif kind == "event_intercept":
        allow = {"type": "event_intercept_response"}
        do(SCRIPT.get("intercept", {}).get(frame["event"], allow), frame)
    elif kind == "event":
        do(SCRIPT.get("events", {}).get(frame["event"], []), frame)
    elif kind in ("panel_key", "panel_resize", "panel_close"):
        do(SCRIPT.get("panel", {}).get(kind, []), frame)
    elif kind == "shutdown":
        do(SCRIPT.get("at_shutdown", []), frame)
        way = SCRIPT.get("shutdown", "ack")
        if way == "ack":
            put(json.dumps({"type": "shutdown_ack"}))
        elif way == "hang":
            note("#", "hanging on shutdown")
            while True:
                time.sleep(60)
        return False
    return True


def main():
    if SCRIPT.get("ignore_sigterm"):
        signal.signal(signal.SIGTERM, lambda *_: note("#", "SIGTERM ignored"))
    else:
        signal.signal(signal.SIGTERM, lambda *_: leave(143, "SIGTERM"))
    do(SCRIPT.get("start", []))
    for line in sys.stdin:
        note(">", line.rstrip("\n"))
        if not obey(json.loads(line)):
            break
    note("#", "exit")


main()
