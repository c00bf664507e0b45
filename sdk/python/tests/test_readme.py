"""The guide's examples do what the guide says."""

import json
import os
import pathlib
import re
import sys

from support import ROOT, Host, ProgramTest

from zot_ext import Extension

BLOCKS = re.findall(r"```(\w+)\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


class Guide(ProgramTest):
    def blocks(self, language, word):
        return next(text for kind, text in BLOCKS if kind == language and word in text)

    def test_hello_and_its_test(self):
        hello = self.blocks("python", "ext.run()")
        self.assertLessEqual(len([line for line in hello.splitlines() if line.strip()]), 10)
        manifest = json.loads(self.blocks("json", '"exec"'))
        manifest["exec"] = sys.executable
        directory = self.directory / "hello"
        directory.mkdir()
        (directory / "extension.json").write_text(json.dumps(manifest))
        (directory / "hello.py").write_text(hello)
        with Host(directory) as host:
            outcome = host.invoke("hello")
            self.assertEqual((outcome.action, outcome.text), ("prompt", "Greet me in one short sentence."))
            self.assertIn(
                'invalid arguments for weather: city is required; days must be an integer, not "three"',
                [host.call_tool("weather", days="three").text],
            )

        guarded = hello.replace("ext.run()", 'if __name__ == "__main__":\n    ext.run()')
        (directory / "hello.py").write_text(guarded)
        test = self.blocks("python", "zot_ext.testing")
        before = pathlib.Path.cwd()
        sys.path.insert(0, str(directory))
        self.addCleanup(sys.path.remove, str(directory))
        self.addCleanup(sys.modules.pop, "hello", None)
        self.addCleanup(os.chdir, before)
        for host in ("Host(ext)", 'Host("./hello")'):
            os.chdir(self.directory)
            exec(test.replace("Host(ext)", host), {})

    def test_events_and_interception(self):
        ext = Extension("guide")
        exec(self.blocks("python", "def guard"), {"ext": ext})
        with Host(ext) as host:
            host.emit("turn_end", stop="end")
            host.wait_for(lambda: [note.message for note in host.notifications] == ["stopped: end"])
            danger = {"command": "rm -rf /"}
            self.assertEqual(host.intercept("tool_call", tool_name="bash", tool_args=danger).reason, "refused: rm -rf")
            self.assertFalse(host.intercept("tool_call", tool_name="bash", tool_args={"command": "ls"}).block)
            self.assertEqual(host.intercept("assistant_message", text="a secret").replace_text, "a ***")
            self.assertTrue(host.hold_text)

    def test_panels(self):
        ext = Extension("guide")
        exec(self.blocks("python", "on_panel_key"), {"ext": ext})
        with Host(ext) as host:
            host.invoke("todo")
            host.panel_key("todo", "rune", "b")
            host.wait_for(lambda: host.panels["todo"]["lines"] == ["milk", "b"])
            host.panel_key("todo", "enter")
            host.wait_for(lambda: not host.panels)
