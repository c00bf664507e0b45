"""An extension of this SDK inside the real zot: ZOT_BIN=target/release/zot, else skipped."""

import itertools
import json
import os
import pathlib
import queue
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

from support import ROOT

# Absolute, because zot is started in another directory.
ZOT_BIN = os.path.abspath(os.environ["ZOT_BIN"]) if os.environ.get("ZOT_BIN") else None
ANSWER_SECONDS = 20

EXTENSION = """
    import os
    from zot_ext import Display, Extension, Panel, Prompt, block, modify

    ext = Extension("real", "1.0.0")
    print("printed by the extension")

    @ext.command("where", "where zot runs")
    def where(args: str):
        answer = ext.hello_ack
        return Display("|".join([args, answer.provider, answer.model, answer.cwd, os.getcwd(), str(ext.data_dir)]))

    @ext.command("ask", "ask the model")
    async def ask(args: str):
        return Prompt(f"run: {args}")

    @ext.command("fail", "always fails")
    def fail(args: str):
        raise ValueError("on purpose")

    @ext.command("panel", "opens a panel")
    def panel():
        return Panel("p", title="Panel", lines=["one", "two"], footer="esc closes")

    @ext.tool("add", "Adds two numbers.")
    def add(a: int, b: int = 1) -> str:
        return str(a + b)

    @ext.on("turn_end")
    def turn_end(event):
        ext.notify("info", f"turn ended: {event.stop}")

    @ext.intercept("tool_call")
    def judge(event):
        command = event.tool_args.get("command", "")
        if "forbidden" in command:
            return block("refused by the extension")
        if "original" in command:
            return modify({**event.tool_args, "command": command.replace("original", "rewritten")})

    ext.run()
"""


class Zot:
    """One `zot rpc` with the extension, and nothing of the user's."""

    def __init__(self, home, work, extension):
        environment = {**os.environ, "ZOT_HOME": str(home), "PYTHONPATH": str(ROOT)}
        # Unbuffered, what is printed before run() would reach zot as an invalid frame.
        environment.pop("PYTHONUNBUFFERED", None)
        self.process = subprocess.Popen(
            [ZOT_BIN, "rpc", "--provider", "offline", "--no-ext", "--ext", str(extension)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=str(work),
            env=environment,
        )
        self.frames = queue.SimpleQueue()
        self.ids = itertools.count(1)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.frames.put(json.loads(line))
        self.frames.put(None)

    def send(self, kind, **fields):
        request_id = str(next(self.ids))
        frame = {"id": request_id, "type": kind, **fields}
        self.process.stdin.write(json.dumps(frame).encode() + b"\n")
        self.process.stdin.flush()
        return request_id

    def until(self, fits):
        """Returns all frames up to the first match."""
        seen = []
        while True:
            frame = self.frames.get(timeout=ANSWER_SECONDS)
            if frame is None:
                raise AssertionError(f"zot ended; its frames: {seen}")
            seen.append(frame)
            if fits(frame):
                return seen

    def ask(self, kind, **fields):
        """Sends a request and returns the response."""
        request_id = self.send(kind, **fields)
        return self.until(lambda frame: frame["type"] == "response" and frame.get("id") == request_id)[-1]

    def prompt(self, message):
        """Returns all events of a prompt."""
        self.send("prompt", message=message)
        return self.until(lambda frame: frame["type"] == "done")

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(ANSWER_SECONDS)
        finally:
            self.process.kill()
            self.process.stdout.close()


@unittest.skipUnless(ZOT_BIN, "ZOT_BIN does not name a zot binary")
class RealZot(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        base = pathlib.Path(directory.name).resolve()
        self.home, self.work, self.extension = base / "home", base / "work", base / "real"
        for path in (self.home, self.work, self.extension):
            path.mkdir()
        (self.extension / "main.py").write_text(textwrap.dedent(EXTENSION), encoding="utf-8")
        manifest = {"name": "real", "version": "1.0.0", "exec": sys.executable, "args": ["main.py"]}
        (self.extension / "extension.json").write_text(json.dumps(manifest))
        self.zot = Zot(self.home, self.work, self.extension)
        self.addCleanup(self.zot.close)

    def results(self, events):
        return [frame for frame in events if frame["type"] == "tool_result"]

    def invoke(self, name, args=""):
        return self.zot.ask("invoke_command", name=name, args=args)

    def test_commands_are_listed(self):
        response = self.zot.ask("get_commands")
        self.assertTrue(response["success"], response)
        ours = [command for command in response["data"]["commands"] if command.get("extension") == "real"]
        self.assertEqual(
            sorted((command["name"], command["description"]) for command in ours),
            [
                ("ask", "ask the model"),
                ("fail", "always fails"),
                ("panel", "opens a panel"),
                ("where", "where zot runs"),
            ],
        )

    def test_a_command_displays_hello_ack(self):
        data = self.invoke("where", "here")["data"]
        self.assertEqual(data["action"], "display")
        args, provider, model, cwd, directory, data_dir = data["display"].split("|")
        self.assertEqual((args, provider, model), ("here", "offline", "offline"))
        self.assertEqual((cwd, directory), (str(self.work), str(self.extension)))
        self.assertTrue(pathlib.Path(data_dir).is_dir())

    def test_a_command_prompts(self):
        data = self.invoke("ask", "echo hello")["data"]
        self.assertEqual((data["action"], data["prompt"]), ("prompt", "run: echo hello"))

    def test_a_command_opens_a_panel(self):
        data = self.invoke("panel")["data"]
        self.assertEqual(data["action"], "open_panel")
        panel = {"id": "p", "title": "Panel", "lines": ["one", "two"], "footer": "esc closes"}
        self.assertEqual(data["open_panel"], panel)

    def test_a_failing_command_shows_its_error(self):
        self.assertIn("ValueError: on purpose", json.dumps(self.invoke("fail")))

    def test_events_arrive_and_notices_are_shown(self):
        self.zot.send("prompt", message="run: echo hello")
        notes = self.zot.until(lambda frame: frame.get("message") == "turn ended: end")
        note = notes[-1]
        self.assertEqual((note["type"], note["extension"], note["level"]), ("ext_notify", "real", "info"))

    def test_a_tool_call_is_refused(self):
        (result,) = self.results(self.zot.prompt("run: echo forbidden"))
        self.assertTrue(result["is_error"])
        self.assertIn("refused by the extension", json.dumps(result["content"]))

    def test_a_tool_call_is_rewritten(self):
        (result,) = self.results(self.zot.prompt("run: echo original"))
        self.assertFalse(result["is_error"])
        self.assertIn("rewritten", result["content"][0]["text"])

    def test_prints_go_to_the_log_and_zot_ends_cleanly(self):
        self.invoke("panel")
        self.zot.process.stdin.close()
        self.assertEqual(self.zot.process.wait(ANSWER_SECONDS), 0)
        log = (self.home / "logs" / "ext-real.log").read_text(encoding="utf-8")
        self.assertIn("printed by the extension", log)


if __name__ == "__main__":
    unittest.main()
