"""Runs the examples of the guides: those of the offline model unchanged, the others with a scripted model."""

import contextlib
import io
import os
import pathlib
import re
import unittest
import unittest.mock

from client_support import ROOT, ZOT_BIN, ScriptedTest

DOCS = ROOT.parent.parent / "docs"
GUIDES = [ROOT / "README.md", DOCS / "embedding.md", DOCS / "embedding" / "python.md"]

# The prompt for the scripted model in place of each prompt of the guides.
DIRECTIVES = {
    "Count the lines in notes.txt.": 'texttool:bash:{\\"command\\":\\"wc -l notes.txt\\"}',
    "What is 17 + 25?": 'tool:add:{\\"a\\":17,\\"b\\":25}',
    "What is the weather in Oslo?": 'tool:weather:{\\"city\\":\\"Oslo\\"}',
    "When is high tide in Oslo?": 'tool:tides:{\\"city\\":\\"Oslo\\"}',
    "Delete notes.txt.": 'tool:bash:{\\"command\\":\\"rm notes.txt\\"}',
    "My name is Ada.": "say:1",
    "What is my name?": "say:1",
}
# What an example prints, by a piece of its text.
PRINTED = {
    "zot.Sandbox(": "The sandbox (level workspace) refused reading /var/log.",
    'provider="offline"': "notes.txt has 2 lines.`wc -w notes.txt` ended with exit code 0 and printed:\n\n    4 notes.txt end",
    "zot.ToolResult": "2 notes.txt",
    'import zot\n\nwith zot.Client(provider="anthropic") as client:\n    for': "let me look. all done",
    "17 + 25": "all done Usage(",
    "tides": "all done\nall done\n",
    "zot.Deny": "all done",
    "restart=True": "end\n",
}


def examples():
    for guide in GUIDES:
        if guide.is_file():
            for example in re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL):
                if "import zot\n" in example:
                    yield guide, example


class Guides(ScriptedTest):
    def test_every_example(self):
        programs = self.base / "bin"
        programs.mkdir()
        (programs / "zot").symlink_to(ZOT_BIN)
        changed = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "ZOT_HOME": str(self.home)}
        environment = unittest.mock.patch.dict(os.environ, changed)
        environment.start()
        self.addCleanup(environment.stop)
        before = pathlib.Path.cwd()
        os.chdir(self.work)
        self.addCleanup(os.chdir, before)
        count = 0
        for guide, example in examples():
            with self.subTest(guide=guide.name, example=example[:200]):
                self.run_example(example)
                count += 1
        self.assertGreaterEqual(count, 7)
        self.assertEqual(self.left_behind(), [])

    def run_example(self, example):
        model = f'provider="openai", model="gpt-5", base_url="{self.url}", api_key="key"'
        code = example.replace('provider="anthropic"', model)
        if code != example:
            for question, directive in DIRECTIVES.items():
                code = code.replace(f'"{question}"', f'"{directive}"')
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "example", "exec"), {"__name__": "example"})
        expected = next(text for word, text in PRINTED.items() if word in example)
        self.assertIn(expected, printed.getvalue())
        self.assertTrue((self.work / "notes.txt").exists())


if __name__ == "__main__":
    unittest.main()
