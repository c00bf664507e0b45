"""A real zot for the clients to drive, the scripted model server, and programs that imitate zot."""

import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from support import ROOT  # noqa: F401  Makes the packages importable.

# Absolute, because zot is started in another directory.
ZOT_BIN = os.path.abspath(os.environ["ZOT_BIN"]) if os.environ.get("ZOT_BIN") else None
PATIENCE = 30.0

# A prompt whose tool call runs until the test creates the file `go`.
UNTIL_GO = 'slowtool:1:bash:{"command":"until [ -e go ]; do sleep 0.05; done"}'


def scripted_model():
    """Returns the server of crates/testkit: beside zot, or the path in SCRIPTED_MODEL."""
    named = os.environ.get("SCRIPTED_MODEL")
    beside = ZOT_BIN and os.path.join(os.path.dirname(ZOT_BIN), "scripted-model")
    return next((path for path in (named, beside) if path and os.path.exists(path)), None)


class ClientTest(unittest.TestCase):
    """Uses its own directories, and nothing of the user's."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        base = pathlib.Path(directory.name).resolve()
        self.base, self.home, self.work, self.temporary = base, base / "home", base / "work", base / "tmp"
        for path in (self.home, self.work, self.temporary):
            path.mkdir()
        (self.work / "notes.txt").write_text("buy milk\ncall Ada\n")
        # Clients create their private directories there, so that a test sees what is left behind.
        before = tempfile.tempdir
        tempfile.tempdir = str(self.temporary)
        self.addCleanup(setattr, tempfile, "tempdir", before)

    def options(self, **more):
        return {
            "program": ZOT_BIN,
            "provider": "offline",
            "cwd": self.work,
            "env": {"ZOT_HOME": str(self.home), "TMPDIR": str(self.temporary)},
            "installed_extensions": False,
            **more,
        }

    def left_behind(self):
        return sorted(path.name for path in self.temporary.iterdir() if not path.name.startswith("zot-bash"))

    def wait_until(self, ready, what="it"):
        deadline = time.monotonic() + PATIENCE
        while not ready():
            self.assertLess(time.monotonic(), deadline, f"{what} did not happen in time")
            time.sleep(0.005)

    def pretender(self, source):
        """Writes a program that imitates zot; it can use `say`, `respond` and `commands`."""
        path = self.base / "pretender"
        prologue = """\
            #!{python}
            import json, os, sys, time
            def raw(data):
                os.write(1, data)
            def say(**frame):
                raw(json.dumps(frame).encode() + b"\\n")
            def respond(command, data=None, **more):
                say(type="response", id=command["id"], command=command["type"], success=True, data=data, **more)
            HELLO = {{"protocol_version": 1, "version": "9", "provider": "p", "model": "m", "capabilities": []}}
            def commands():
                for line in sys.stdin:
                    command = json.loads(line)
                    if command["type"] == "hello":
                        respond(command, HELLO)
                    else:
                        yield command
            """
        text = textwrap.dedent(prologue).format(python=sys.executable) + textwrap.dedent(source)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return {"program": path, "start_timeout": PATIENCE}


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            first_thread_ended = stat.read().rsplit(")", 1)[1].split()[0] == "Z"
        # Its parent learns of the end only when the last thread has ended too.
        return not first_thread_ended or len(os.listdir(f"/proc/{pid}/task")) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False


@unittest.skipUnless(ZOT_BIN, "ZOT_BIN does not name a zot binary")
class RealTest(ClientTest):
    """With the offline model."""


@unittest.skipUnless(ZOT_BIN, "ZOT_BIN does not name a zot binary")
@unittest.skipUnless(scripted_model(), "there is no scripted-model beside ZOT_BIN: scripts/doc-frames builds it")
class ScriptedTest(ClientTest):
    """With the scripted model server: a prompt is a directive to it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = subprocess.Popen([scripted_model(), "--port", "0"], stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls._stop)
        cls.url = "http://127.0.0.1:" + cls.server.stdout.readline().rsplit(":", 1)[1].strip() + "/v1"

    @classmethod
    def _stop(cls):
        cls.server.kill()
        cls.server.wait()
        cls.server.stdout.close()

    def options(self, **more):
        scripted = {"provider": "openai", "model": "gpt-5", "api_key": "key", "base_url": self.url}
        return super().options(**{**scripted, **more})
