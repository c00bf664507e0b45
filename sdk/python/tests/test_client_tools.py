"""Tools that are functions of the program that drives zot."""

import asyncio
import dataclasses
import json
import logging
import os
import signal
import stat
import threading
import time
import unittest
from typing import Annotated, List

from client_support import PATIENCE, ScriptedTest, is_running

import zot

# These failures are intentional.
LOGGER = logging.getLogger("zot")


@dataclasses.dataclass
class Place:
    name: str
    height: int = 0


def result_of(run):
    """Returns the only tool result of a prompt."""
    (result,) = [event for event in run if isinstance(event, zot.ToolResult)]
    return result


def call(name, **args):
    return f"tool:{name}:{json.dumps(args)}"


class Tools(ScriptedTest):
    def setUp(self):
        super().setUp()
        LOGGER.setLevel("CRITICAL")
        self.addCleanup(LOGGER.setLevel, "NOTSET")

    def test_functions_run_in_this_process(self):
        seen = []

        def weather(place: Place, days: Annotated[int, "how many"] = 1) -> str:
            """The weather somewhere."""
            seen.append((os.getpid(), place, days))
            return f"{place.name}: sunny"

        async def tides(names: List[str]) -> list:
            """The tides."""
            await asyncio.sleep(0)
            return [zot.Text(name) for name in names]

        with zot.Client(**self.options(tools=[weather, tides])) as client:
            result = result_of(client.prompt(call("weather", place={"name": "Oslo"}, days=2)))
            self.assertEqual((result.text, result.is_error), ("Oslo: sunny", False))
            self.assertEqual(seen, [(os.getpid(), Place("Oslo"), 2)])
            self.assertEqual(result_of(client.prompt(call("tides", names=["a", "b"]))).text, "ab")
            tool = next(tool for tool in client.tools() if tool.name == "weather")
            self.assertEqual((tool.description, tool.enabled), ("The weather somewhere.", True))
            self.assertEqual(tool.parameters["properties"]["days"]["description"], "how many")
            self.assertEqual(tool.parameters["required"], ["place"])
            wrong = result_of(client.prompt(call("weather", place="Oslo")))
            self.assertTrue(wrong.is_error)
            self.assertIn("place must be an object", wrong.text)
        self.assertEqual(self.left_behind(), [])

    def test_exceptions_become_error_results(self):
        client = zot.Client(**self.options())

        @client.tool
        def explode():
            raise ValueError("on purpose")

        @client.tool(name="gently", description="Fails.")
        async def fail():
            raise zot.ToolError("as expected")

        @client.tool(schema={"type": "object"})
        def plain(args):
            return object()

        with client:
            for name, text in (
                ("explode", "ValueError: on purpose"),
                ("gently", "as expected"),
                ("plain", "no JSON form"),
            ):
                result = result_of(client.prompt(call(name)))
                self.assertTrue(result.is_error)
                self.assertIn(text, result.text)
        with self.assertRaises(TypeError):
            client.tool(lambda x, /: x)

    def test_tools_added_while_it_runs(self):
        with zot.Client(**self.options(allow_tools=["read"])) as client:
            self.assertEqual(client.ask("say:1").text, "alpha ")
            for name in ("first", "second"):
                client.tool(name=name)(lambda: "here")
                self.assertEqual(result_of(client.prompt(call(name))).text, "here")
            self.assertEqual([tool.name for tool in client.tools() if tool.enabled], ["read", "first", "second"])

    def test_only_the_listed_tools(self):
        with zot.Client(**self.options(tools=[noop], allow_tools=[])) as client:
            self.assertEqual([tool.name for tool in client.tools() if tool.enabled], ["noop"])

    def test_a_tool_may_ask_the_client(self):
        with zot.Client(**self.options()) as client:

            @client.tool
            def look() -> str:
                with_busy = client.state().busy
                try:
                    client.ask("say:1")
                except zot.Busy:
                    return f"busy: {with_busy}"
                return "not busy"

            self.assertEqual(result_of(client.prompt(call("look"))).text, "busy: True")

    def test_a_hanging_tool_does_not_block_an_abort(self):
        released, cancelled = threading.Event(), threading.Event()
        entered = {name: threading.Event() for name in ("hang", "hang_async")}
        self.addCleanup(released.set)

        def hang():
            entered["hang"].set()
            released.wait()

        async def hang_async():
            entered["hang_async"].set()
            try:
                await asyncio.sleep(3600)
            finally:
                cancelled.set()

        with zot.Client(**self.options(tools=[hang, hang_async, noop])) as client:
            for name, event in entered.items():
                run = client.prompt(call(name))
                aborting = threading.Thread(target=lambda: (event.wait(PATIENCE), client.abort()))
                aborting.start()
                self.assertTrue(result_of(run).is_error)
                self.assertEqual(run.answer.stop, "aborted")
                # `abort` cancels tools until it returns, also those of the next prompt.
                aborting.join(PATIENCE)
                with self.assertRaises(zot.Timeout):
                    client.ask(call(name), timeout=0.3)
            self.assertTrue(cancelled.wait(PATIENCE))
            self.assertEqual(result_of(client.prompt(call("noop"))).text, "nothing")
            begun = time.monotonic()
        self.assertLess(time.monotonic() - begun, 5)
        self.assertEqual(self.left_behind(), [])

    def test_sessions_on_workers_have_no_tools_of_this_process(self):
        def weather() -> str:
            """The weather."""
            return "sunny"

        for program in ("zino", "/opt/bin/zino-attach"):
            with self.assertRaisesRegex(zot.StartFailed, "cannot be tools"):
                zot.Client(program=program, tools=[weather])
            client = zot.Client(program=program, extensions=["guard"])
            with self.assertRaisesRegex(zot.StartFailed, "cannot be tools"):
                client.tool(weather)
            # What the user demands is passed on, for zino to refuse it; what nobody needs is not.
            arguments = client._options.arguments("/private")
            self.assertEqual(arguments, ["rpc", "--ext", os.path.abspath("guard")])
        self.assertIn("/private", zot.Client(program="zot")._options.arguments("/private"))

    def test_the_directory_and_the_socket_are_private(self):
        with zot.Client(**self.options(tools=[noop])) as client:
            (name,) = self.left_behind()
            directory = self.temporary / name
            self.assertEqual(stat.S_IMODE(directory.stat().st_mode), 0o700)
            client.ask(call("noop"))
            # The relay is connected, and nothing else can connect.
            self.assertFalse((directory / "socket").exists())
            client._link.extension.listen()
            self.assertEqual(stat.S_IMODE((directory / "socket").stat().st_mode), 0o600)

    def test_a_killed_relay_is_restarted(self):
        with zot.Client(**self.options(tools=[noop])) as client:
            client.ask(call("noop"))
            (relay,) = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_child(int(pid), client.pid)]
            os.kill(relay, signal.SIGKILL)
            self.wait_until(lambda: not is_running(relay))
            deadline = time.monotonic() + PATIENCE
            while result_of(client.prompt(call("noop"))).is_error:
                self.assertLess(time.monotonic(), deadline)

    def test_tools_survive_a_restart(self):
        with zot.Client(**self.options(tools=[noop], restart=True)) as client:
            client.ask(call("noop"))
            pid = client.pid
            os.kill(pid, signal.SIGKILL)
            self.wait_until(lambda: not is_running(pid))
            self.assertEqual(result_of(client.prompt(call("noop"))).text, "nothing")
            self.assertEqual(len(self.left_behind()), 1)

    def test_a_temporary_directory_with_a_long_name(self):
        import tempfile

        long = self.temporary / ("x" * 100)
        long.mkdir()
        tempfile.tempdir = str(long)
        with zot.Client(**self.options(tools=[noop])) as client:
            self.assertEqual(result_of(client.prompt(call("noop"))).text, "nothing")
            elsewhere = client._link.extension.directory
        self.assertFalse(os.path.exists(elsewhere))

    def test_large_results_and_images(self):
        def big() -> str:
            return "x" * 1_000_000

        def image():
            return zot.Image(b"\x89PNG\r\n\x1a\n" + bytes(50000), "image/png")

        with zot.Client(**self.options(tools=[big, image])) as client:
            self.assertGreater(len(result_of(client.prompt(call("big"))).text), 40_000)
            (block,) = result_of(client.prompt(call("image"))).content
            self.assertEqual(block.bytes, 50008)


def noop() -> str:
    """Does nothing."""
    return "nothing"


def is_child(pid, parent):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return int(file.read().rsplit(")", 1)[1].split()[1]) == parent
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    unittest.main()
