#!/usr/bin/env python3
"""One prompt through `zot rpc`; see ../README.md. Python 3.8, standard library only."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading


def note(text):
    print(text, file=sys.stderr, flush=True)


class Client:
    def __init__(self, flags, allow):
        self.allow = allow
        self.status = 0
        # A session of its own: the terminal's Ctrl-C shall reach this program only.
        program = os.environ.get("ZOT", "zot")
        self.process = subprocess.Popen(
            [program, "rpc", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        # A thread reads, so that a signal can never tear a line apart.
        self.frames = queue.SimpleQueue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        # The lines of a binary stream end at LF, and nowhere else.
        for line in self.process.stdout:
            self.frames.put(json.loads(line))
        self.frames.put({"type": "end"})

    def send(self, **command):
        try:
            self.process.stdin.write(json.dumps(command).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # zot has ended, and the end of its output says so.

    def interrupt(self, *_):
        """Safe in a signal handler: the command is sent by whoever waits for frames."""
        self.frames.put({"type": "interrupt"})

    def run(self, prompt):
        self.send(type="prompt", message=prompt)
        while self.handle(self.frames.get()):
            pass
        # The end of its input is what ends zot.
        self.process.stdin.close()
        self.process.wait()
        return self.status

    def handle(self, frame):
        """Deals with a frame; false after the last one."""
        kind = frame["type"]
        if kind == "text_delta":
            print(frame["delta"], end="", flush=True)
        elif kind == "tool_call":
            note(f"-> {frame['name']} {json.dumps(frame['args'])}")
        elif kind == "tool_confirm":
            note(f"{'allowed' if self.allow else 'refused'}: {frame['name']}: {frame.get('preview', '')}")
            self.send(type="confirm", call_id=frame["id"], allow=self.allow)
        elif kind == "error":
            self.status = 1
            note(f"error ({frame.get('code')}): {frame['message']}")
        elif kind == "interrupt":
            # Remembered here, because no event says so when a tool was what ran.
            self.status = 130
            self.send(type="abort")
        elif kind == "response" and not frame["success"] and frame.get("code") != "not_waiting":
            sys.exit(f"zot refused: {frame['error']} ({frame.get('code')})")
        elif kind == "end":
            sys.exit(f"zot ended with exit code {self.process.wait()}")
        elif kind == "done":
            print(flush=True)
            return False
        return True


def main():
    arguments = sys.argv[1:]
    allow = arguments[:1] == ["--yes"]
    if allow:
        arguments = arguments[1:]
    if not arguments:
        note("usage: client.py [--yes] PROMPT [FLAGS OF ZOT]")
        sys.exit(2)
    client = Client(arguments[1:], allow)
    signal.signal(signal.SIGINT, client.interrupt)
    sys.exit(client.run(arguments[0]))


if __name__ == "__main__":
    main()
