#!/usr/bin/env python3
"""Talks to an agent through `zot rpc`: see README.md beside this file, and docs/rpc.md."""

import argparse
import itertools
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading

PIECE_BYTES = 15 * 1024 * 1024  # A line may have 16 MiB.


class Refused(Exception):
    """A response with success:false."""


class Zot:
    """One `zot rpc`. `on_event` gets each event as it comes."""

    def __init__(self, program, flags, on_event):
        # A session of its own: the terminal's Ctrl-C shall reach this program only.
        self.process = subprocess.Popen(
            [program, "rpc", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self.on_event = on_event
        self.aborted = False
        self.ids = itertools.count(1)
        # A thread reads, so that a signal can never tear a line apart.
        self.frames = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.frames.put(json.loads(line))
        self.frames.put(None)

    def abort(self, *_):
        """Safe in a signal handler: the command is sent by whoever waits for frames."""
        self.frames.put({"type": "abort"})

    def send(self, type, **fields):
        fields = {"id": next(self.ids), "type": type, **fields}
        try:
            self.process.stdin.write(json.dumps(fields).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # zot has ended, and the end of its output says so.
        return fields["id"]

    def next_frame(self):
        frame = self.frames.get()
        if frame is None:
            sys.exit(f"zot ended with exit code {self.process.wait()}")
        if frame["type"] == "abort":
            # Remembered here, because no event says so when a tool was what ran.
            self.aborted = True
            self.send("abort")
        elif frame["type"] != "response":
            self.on_event(self, frame)
        return frame

    def response(self, id):
        while True:
            frame = self.next_frame()
            if frame["type"] == "response" and frame.get("id") == id:
                if not frame["success"]:
                    raise Refused(f"{frame['error']} ({frame.get('code', 'no code')})")
                return frame.get("data")

    def ask(self, type, **fields):
        return self.response(self.send(type, **fields))

    def prompt(self, message):
        """Runs a prompt to its end."""
        self.ask("prompt", message=message)
        while self.next_frame()["type"] != "done":
            pass

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


class Screen:
    """Shows events and asks questions."""

    def __init__(self, yes):
        self.yes = yes
        self.failed = False

    def __call__(self, zot, event):
        kind = event["type"]
        if kind == "text_delta":
            print(event["delta"], end="", flush=True)
        elif kind == "tool_call":
            note(f"\n-> {event['name']} {json.dumps(event['args'])}")
        elif kind == "tool_result" and event["is_error"]:
            note("".join(block.get("text", "") for block in event["content"]))
        elif kind == "tool_confirm":
            # Not waited for: a question that nobody answered in time is refused, and that is all right.
            zot.send("confirm", call_id=event["id"], **self.decide(zot, event))
        elif kind == "error":
            self.failed = True
            wait = event.get("retry_after_ms")
            note(f"\nerror ({event.get('code')}): {event['message']}" + (f"; try again in {wait} ms" if wait else ""))
        elif kind == "done":
            print(flush=True)

    def decide(self, zot, event):
        if self.yes:
            return {"allow": True}
        note(event.get("preview") or json.dumps(event["args"]))
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            print(f"run {event['name']}? [y]es, [n]o, [a]lways: ", end="", file=sys.stderr, flush=True)
            answer = input().strip().lower()
        except (EOFError, KeyboardInterrupt) as interruption:
            if isinstance(interruption, KeyboardInterrupt):
                zot.abort()
            return {"allow": False, "reason": "the user did not answer"}
        finally:
            signal.signal(signal.SIGINT, previous)
        if answer in ("a", "always"):
            return {"allow": True, "remember": "tool"}
        return {"allow": answer in ("y", "yes")}


def note(text):
    print(text, file=sys.stderr, flush=True)


def pieces(messages):
    """Cuts a conversation before user messages, so that each piece fits a line."""
    piece, size = [], 0
    for exchange in exchanges(messages):
        length = len(json.dumps(exchange))
        if piece and size + length > PIECE_BYTES:
            yield piece
            piece, size = [], 0
        piece, size = piece + exchange, size + length
    yield piece


def exchanges(messages):
    exchange = []
    for message in messages:
        if message["role"] == "user" and exchange:
            yield exchange
            exchange = []
        exchange.append(message)
    if exchange:
        yield exchange


def restore(zot, file):
    messages = json.loads(file.read_text(encoding="utf-8"))
    for index, piece in enumerate(pieces(messages)):
        repaired = zot.ask("set_messages", messages=piece, append=index > 0)["repaired"]
        if any(repaired.values()):
            note(f"the conversation was repaired: {repaired}")


def save(zot, file):
    messages = zot.ask("get_messages", full=True)["messages"]
    unfinished = file.with_name(file.name + ".new")
    unfinished.write_text(json.dumps(messages), encoding="utf-8")
    unfinished.replace(file)


def main():
    parser = argparse.ArgumentParser(usage="%(prog)s [options] PROMPT... [-- FLAGS OF ZOT]")
    parser.add_argument("--zot", default=os.environ.get("ZOT", "zot"), help="the program to start")
    parser.add_argument("--yes", action="store_true", help="allow every call that zot asks about")
    parser.add_argument("--state", type=pathlib.Path, help="file that keeps the conversation between runs")
    parser.add_argument("prompts", nargs="+", metavar="PROMPT")
    own, flags = sys.argv[1:], []
    if "--" in own:
        flags = own[own.index("--") + 1 :]
        own = own[: own.index("--")]
    options = parser.parse_args(own)

    screen = Screen(options.yes)
    zot = Zot(options.zot, flags, screen)
    signal.signal(signal.SIGINT, zot.abort)
    try:
        if options.state:
            if "set_messages" not in zot.ask("hello").get("capabilities", ()):
                sys.exit("this zot cannot restore a conversation")
            if options.state.exists():
                restore(zot, options.state)
        for prompt in options.prompts:
            zot.prompt(prompt)
            if screen.failed or zot.aborted:
                break
        if options.state:
            save(zot, options.state)
    except Refused as refused:
        sys.exit(f"zot refused: {refused}")
    zot.close()
    sys.exit(130 if zot.aborted else 1 if screen.failed else 0)


if __name__ == "__main__":
    main()
