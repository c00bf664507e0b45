"""Extensions as processes: standard output, concurrency, and every way to end."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

from support import ROOT, Host, HostError, ProgramTest

from zot_ext.extension import _EXIT_SECONDS
from zot_ext.runtime import CANCEL_SECONDS, CLEANUP_SECONDS

# zot kills an extension that still runs 2 s after `shutdown`.
DEADLINE_SECONDS = 2.0
# A busy machine adds to it; what hangs here hangs for an hour.
PATIENCE = 20.0


class StandardOutput(ProgramTest):
    SOURCE = """
        import os, subprocess, sys
        print("before anything")
        from zot_ext import Extension
        ext = Extension("noisy")

        @ext.tool("shout", "")
        def shout() -> str:
            print("from print")
            sys.stdout.write("no line feed")
            sys.__stdout__.write("from the original stdout\\n")
            os.write(1, b"from the descriptor\\n")
            subprocess.run(["echo", "from a child"])
            return "read %r, child read %r" % (
                sys.stdin.read(), subprocess.run(["cat"], stdout=subprocess.PIPE).stdout)

        print("before run")
        ext.run()
    """

    def test_standard_output_holds_only_frames(self):
        host = self.program(self.SOURCE)
        self.assertEqual(host.call_tool("shout").text, "read '', child read b''")
        self.assertEqual(host.shutdown(), 0)
        kinds = [frame["type"] for frame in host.frames]
        self.assertEqual(kinds, ["hello", "register_tool", "ready", "tool_result", "shutdown_ack"])
        printed = ("anything", "run", "print", "no line feed", "original stdout", "descriptor", "a child")
        for words in printed:
            self.assertIn(words, self.log)
        # The reader would have logged an invalid frame.
        self.assertNotIn("invalid", self.log)

    def test_lines_of_many_threads_stay_whole(self):
        host = self.program("""
            from zot_ext import Extension
            ext = Extension("many")

            @ext.tool("t", "")
            def tool(i: int) -> str:
                ext.notify("info", "n" * 20000)
                return str(i) * 20000
            ext.run()
        """)
        pending = [host.begin_tool_call("t", {"i": i % 10}) for i in range(100)]
        for i, call in enumerate(pending):
            self.assertEqual(call.result()["content"][0]["text"], str(i % 10) * 20000)
        self.assertEqual(len(host.notifications), 100)


class Concurrency(ProgramTest):
    SOURCE = """
        import asyncio, threading
        from zot_ext import Extension, block
        ext = Extension("slow")
        gate = threading.Event()

        @ext.tool("wait", "")
        def wait() -> str:
            gate.wait()
            return "waited"

        @ext.tool("wait_async", "")
        async def wait_async() -> str:
            while not gate.is_set():
                await asyncio.sleep(0.005)
            return "waited too"

        @ext.tool("open_gate", "")
        async def open_gate() -> str:
            gate.set()
            return "open"

        @ext.command("quick")
        def quick(): return "quick"

        @ext.intercept("tool_call")
        def judge(event): return block("no")

        @ext.on("turn_start")
        def turn_start(event): gate.wait()

        ext.run()
    """

    def test_slow_tools_and_observers_delay_nothing_else(self):
        host = self.program(self.SOURCE)
        host.emit("turn_start", step=1)
        slow = [host.begin_tool_call(name) for name in ("wait", "wait", "wait_async", "wait_async")]
        self.assertTrue(host.intercept("tool_call", tool_name="bash").block)
        self.assertEqual(host.invoke("quick").text, "quick")
        self.assertFalse(any(call.done() for call in slow))
        self.assertEqual(host.call_tool("open_gate").text, "open")
        texts = [call.result()["content"][0]["text"] for call in slow]
        self.assertEqual(texts, ["waited", "waited", "waited too", "waited too"])

    def test_more_hanging_tools_than_threads_do_not_block_interception_or_shutdown(self):
        host = self.program(self.SOURCE)
        for _ in range(40):
            host.begin_tool_call("wait")
        self.assertTrue(host.intercept("tool_call", tool_name="bash").block)
        self.assertEqual(host.shutdown(PATIENCE), 0)

    def test_too_many_calls_are_rejected(self):
        host = self.program(self.SOURCE)
        calls = [host.begin_tool_call("wait") for _ in range(1025)]
        self.assertIn("too busy", calls[-1].result()["content"][0]["text"])
        host.call_tool("open_gate")
        self.assertEqual(calls[-2].result()["content"][0]["text"], "waited")


class Ending(ProgramTest):
    SOURCE = """
        import asyncio, atexit, pathlib, threading, time
        from zot_ext import Extension
        ext = Extension("end")
        atexit.register(lambda: note("atexit"))

        def note(text):
            with open("notes", "a") as notes:
                notes.write(text + "\\n")

        @ext.tool("hang", "")
        def hang(): time.sleep(3600)

        @ext.tool("hang_async", "")
        async def hang_async():
            asyncio.ensure_future(background())
            await asyncio.sleep(0)
            ext.notify("info", "hanging")
            await asyncio.sleep(3600)

        async def background():
            try:
                await asyncio.sleep(3600)
            finally:
                note("cancelled")

        @ext.tool("ignore_cancel", "")
        async def ignore_cancel():
            ext.notify("info", "hanging")
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    pass

        @ext.on_shutdown
        def first(): note("first")

        @ext.on_shutdown
        async def second():
            note("second")
            raise ValueError("in cleanup")

        @ext.command("thread")
        def thread():
            threading.Thread(target=time.sleep, args=(3600,)).start()

        ext.run()
    """

    @property
    def notes(self):
        return (self.directory / "notes").read_text().split()

    def ends(self, host, end, status):
        end()
        self.assertEqual(host.wait_exit(PATIENCE), status)

    def hang(self, host, *tools):
        for tool in tools:
            host.begin_tool_call(tool)
        host.wait_for(lambda: len(host.notifications) >= sum(tool != "hang" for tool in tools))

    def test_shutdown_acknowledges_cleans_up_and_exits(self):
        host = self.program(self.SOURCE)
        self.hang(host, "hang", "hang_async")
        self.ends(host, host.shutdown, 0)
        self.assertTrue(host.acknowledged_shutdown)
        self.assertEqual(self.notes, ["cancelled", "second", "first", "atexit"])
        self.assertIn("ValueError: in cleanup", self.log)

    def test_an_idle_extension_exits_immediately(self):
        limit, times = min(CANCEL_SECONDS, _EXIT_SECONDS), []
        # A machine is busy for a while; an extension that waits for a limit does so each time.
        while len(times) < 5 and min(times, default=limit) >= limit:
            host = self.program(self.SOURCE)
            begun = time.monotonic()
            host.shutdown()
            times.append(time.monotonic() - begun)
        self.assertLess(min(times), limit)

    def test_the_limits_end_it_before_zot_does(self):
        self.assertLess(CANCEL_SECONDS, CLEANUP_SECONDS)
        self.assertLess(CLEANUP_SECONDS + _EXIT_SECONDS, DEADLINE_SECONDS)

    def test_end_of_input(self):
        host = self.program(self.SOURCE)
        self.hang(host, "hang", "hang_async")
        self.ends(host, host.close_stdin, 0)
        self.assertFalse(host.acknowledged_shutdown)
        self.assertEqual(self.notes, ["cancelled", "second", "first", "atexit"])

    def test_a_coroutine_that_ignores_its_cancellation(self):
        host = self.program(self.SOURCE)
        self.hang(host, "ignore_cancel")
        self.ends(host, host.shutdown, 0)
        self.assertEqual(self.notes, ["second", "first", "atexit"])

    def test_other_threads_do_not_delay_the_exit(self):
        host = self.program(self.SOURCE)
        host.invoke("thread")
        self.ends(host, host.shutdown, 0)

    def test_a_hanging_cleanup(self):
        host = self.program("""
            import time
            from zot_ext import Extension
            ext = Extension("end")
            ext.on_shutdown(lambda: time.sleep(3600))
            ext.run()
        """)
        self.ends(host, host.shutdown, 0)
        self.assertTrue(host.acknowledged_shutdown)

    def test_sigterm(self):
        host = self.program(self.SOURCE)
        self.hang(host, "hang", "hang_async")
        self.ends(host, lambda: host.process.send_signal(signal.SIGTERM), 128 + signal.SIGTERM)
        self.assertEqual(self.notes, ["cancelled", "second", "first", "atexit"])

    def test_a_host_that_never_reads(self):
        # The pipe is not read: the handler blocks in a write, which must not delay the exit.
        source = self.directory / "extension.py"
        source.write_text(
            "from zot_ext import Extension\n"
            "ext = Extension('flood')\n"
            "@ext.on('turn_start')\n"
            "def flood(event):\n"
            "    ext.notify('info', 'x' * 1000000)\n"
            "ext.run()\n"
        )
        process = subprocess.Popen(
            [sys.executable, str(source)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.directory
        )
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for frame in ({"type": "event", "event": "turn_start"}, {"type": "shutdown"}):
            process.stdin.write(json.dumps(frame).encode() + b"\n")
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE), 0)

    def test_a_host_that_is_gone(self):
        (self.directory / "extension.py").write_text(
            "from zot_ext import Extension\n"
            "ext = Extension('orphan')\n"
            "ext.on('turn_start')(lambda event: ext.notify('info', 'anybody?'))\n"
            "ext.run()\n"
        )
        process = subprocess.Popen(
            [sys.executable, "extension.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.directory,
        )
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while json.loads(process.stdout.readline())["type"] != "ready":
            pass
        process.stdout.close()
        process.stdin.write(b'{"type":"event","event":"turn_start"}\n')
        process.stdin.flush()
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertIn(b"zot no longer reads", process.stderr.read())

    def test_background_threads_see_the_end(self):
        host = self.program("""
            import threading
            from zot_ext import Extension
            ext = Extension("background")

            def work():
                ext.stopping.wait()
                open("stopped", "w").close()

            thread = threading.Thread(target=work)
            ext.on_start(thread.start)
            ext.on_shutdown(thread.join)
            ext.run()
        """)
        self.ends(host, host.shutdown, 0)
        self.assertTrue((self.directory / "stopped").exists())


class TestHost(ProgramTest):
    def test_a_directory_with_a_manifest(self):
        (self.directory / "main.py").write_text(
            "import os, sys\n"
            "from zot_ext import Extension\n"
            "ext = Extension('manifest')\n"
            "ext.command('where')(lambda: os.getcwd() + ' ' + sys.argv[1])\n"
            "ext.run()\n"
        )
        manifest = {"name": "manifest", "exec": os.path.basename(sys.executable), "args": ["main.py", "--flag"]}
        (self.directory / "extension.json").write_text(json.dumps(manifest))
        self.addCleanup(os.environ.__setitem__, "PATH", os.environ["PATH"])
        os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        with Host(self.directory) as host:
            self.assertEqual(host.invoke("where").text, f"{self.directory.resolve()} --flag")

    def test_requests_for_unregistered_names(self):
        with Host([sys.executable, "-c", "from zot_ext import *; Extension('empty').run()"]) as host:
            with self.assertRaisesRegex(HostError, "no tool 'x'; it has"):
                host.call_tool("x")
            with self.assertRaisesRegex(HostError, "no command 'x'"):
                host.invoke("x")
            with self.assertRaisesRegex(HostError, "does not intercept"):
                host.intercept("tool_call")
            with self.assertRaisesRegex(HostError, "waited 0.05 s"):
                host.wait_for(lambda: False, timeout=0.05)

    def test_a_crashed_extension_is_noticed_immediately(self):
        begun = time.monotonic()
        with self.assertRaisesRegex(HostError, "ended before ready"):
            Host([sys.executable, "-c", "pass"]).__enter__()
        self.assertLess(time.monotonic() - begun, 5)


class Sources(unittest.TestCase):
    def test_they_are_python_3_9(self):
        import ast

        for path in sorted((ROOT / "zot_ext").glob("*.py")):
            ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))

    def test_start_up_imports_no_heavy_modules(self):
        script = "import sys, zot_ext; print([m for m in ('asyncio', 'subprocess', 'pathlib') if m in sys.modules])"
        output = subprocess.run([sys.executable, "-S", "-c", script], stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(output.decode().strip(), "[]")


if __name__ == "__main__":
    unittest.main()
