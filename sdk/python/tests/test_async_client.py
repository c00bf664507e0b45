"""The asyncio client against the real zot: what differs from the synchronous one."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time
import unittest

from client_support import PATIENCE, UNTIL_GO, RealTest, ScriptedTest, is_running
from test_client_tools import call

import zot


def kinds(events):
    return [type(event).__name__ for event in events]


class Runner:
    """Runs a test's coroutine with a started client."""

    def drive(self, test, **more):
        async def run():
            async with zot.AsyncClient(**self.options(**more)) as client:
                await asyncio.wait_for(test(client), PATIENCE)

        asyncio.run(run())
        self.assertEqual(self.left_behind(), [])


class Offline(Runner, RealTest):
    def test_a_prompt_is_a_stream_of_typed_events(self):
        async def test(client):
            run = client.prompt("count the lines in notes.txt")
            events = [event async for event in run]
            self.assertEqual((kinds(events)[0], kinds(events)[-1]), ("UserMessage", "Done"))
            self.assertEqual(run.answer.text, "notes.txt has 2 lines.")
            self.assertEqual((await client.ask("list the files")).stop, "end")

        self.drive(test)

    def test_every_other_command(self):
        async def test(client):
            await client.ping()
            await client.ask("list the files")
            self.assertEqual((await client.state()).message_count, 4)
            full = await client.messages(full=True)
            self.assertEqual(len(await client.messages()), 4)
            self.assertGreater((await client.usage()).total.input, 0)
            self.assertEqual([model.id for model in await client.models()], ["offline"])
            self.assertEqual([tool.name for tool in await client.set_tools(["read"]) if tool.enabled], ["read"])
            self.assertEqual(await client.set_model("offline"), "offline")
            self.assertEqual(await client.set_reasoning("low"), "low")
            self.assertEqual((await client.set_sandbox("workspace")).level, "workspace")
            self.assertEqual((await client.set_sandbox("off")).level, "off")
            await client.set_system_prompt("x")
            self.assertIn("done", await client.subscribe(["text_delta"]))
            await client.subscribe()
            self.assertEqual(await client.commands(), [])
            self.assertEqual([state.name for state in await client.reload_extensions()], [])
            await client.clear()
            self.assertEqual((await client.set_messages(full)).message_count, 4)
            await client.abort()
            for refused, code in (
                (client.steer("x"), "not_running"),
                (client.confirm("x", True), "not_waiting"),
                (client.invoke_command("x"), "unknown_command"),
                (client.panel_key("e", "p", "x"), "unavailable"),
                (client.panel_resize("e", "p", 1, 1), "unavailable"),
                (client.panel_close("e", "p"), "unavailable"),
            ):
                with self.assertRaises(zot.CommandFailed) as raised:
                    await refused
                self.assertEqual(raised.exception.code, code)

        self.drive(test)

    def test_it_belongs_to_one_loop(self):
        client = zot.AsyncClient(**self.options())

        async def start():
            await client.start()

        loop = asyncio.new_event_loop()
        self.addCleanup(loop.close)
        loop.run_until_complete(start())
        with self.assertRaises(RuntimeError):
            asyncio.run(client.ping())
        loop.run_until_complete(client.close())
        loop.run_until_complete(client.close())
        with self.assertRaises(zot.Closed):
            loop.run_until_complete(client.ping())

    def test_an_unreferenced_client_ends_its_process(self):
        async def test():
            client = await zot.AsyncClient(**self.options()).start()
            await client.ask("list the files")
            pid = client.pid
            del client
            gc.collect()
            deadline = time.monotonic() + PATIENCE
            while is_running(pid):
                self.assertLess(time.monotonic(), deadline)
                await asyncio.sleep(0.01)

        asyncio.run(test())
        self.assertEqual(self.left_behind(), [])

    def test_a_program_that_forgets_to_close_leaves_nothing(self):
        source = """if True:
            import asyncio, sys, zot, zot.async_link
            zot.async_link._EXIT_SECONDS = 3600  # Waiting that long would be noticed.
            client = zot.AsyncClient(**eval(sys.argv[1]))
            async def main():
                await client.start()
                print(client.pid)
            asyncio.run(main())
        """
        options = {**self.options(), "cwd": str(self.work)}
        environment = {**os.environ, "TMPDIR": str(self.temporary)}
        done = subprocess.run(
            [sys.executable, "-c", source, repr(options)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            timeout=PATIENCE,
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertFalse(is_running(int(done.stdout)))
        self.assertEqual(self.left_behind(), [])


class Scripted(Runner, ScriptedTest):
    def test_cancelling_the_task_aborts_the_prompt(self):
        async def test(client):
            for directive in ("hang", "hangmid", 'tool:bash:{"command":"sleep 60"}'):
                task = asyncio.ensure_future(client.ask(directive))
                while not (await client.state()).busy:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertEqual((await client.ask("say:1")).text, "alpha ")

        self.drive(test)

    def test_a_cancelled_call_leaves_the_client_usable(self):
        async def test(client):
            for _ in range(20):
                task = asyncio.ensure_future(client.ask("say:3"))
                await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            self.assertEqual((await client.ask("say:1")).text, "alpha ")

        self.drive(test)

    def test_timeouts_overlap_and_leaving_early(self):
        async def test(client):
            with self.assertRaises(zot.Timeout):
                await client.ask("hang", timeout=0.2)
            async with client.prompt("hangmid") as run:
                async for event in run:
                    if isinstance(event, zot.TextDelta):
                        break
                with self.assertRaises(zot.Busy):
                    await client.ask("say:1")
            async for event in client.prompt("hangmid"):
                if isinstance(event, zot.TextDelta):
                    break
            gc.collect()
            self.assertEqual((await client.ask("say:1")).text, "alpha ")
            with self.assertRaises(zot.PromptFailed) as raised:
                await client.ask("err:401:no")
            self.assertEqual(raised.exception.code, "unauthorized")

        self.drive(test)

    def test_abort_steer_and_queue_from_other_tasks(self):
        async def test(client):
            run = client.prompt(UNTIL_GO)
            queued = None
            async for event in run:
                if isinstance(event, zot.ToolUseStart):
                    await client.steer("say:2")
                    queued = asyncio.ensure_future(self.collect(client.prompt("say:1", when_busy="queue")))
                    async with client.prompt("say:3", when_busy="steer") as steered:
                        self.assertTrue(steered.steered)
                    (self.work / "go").touch()
            self.assertEqual(kinds(await queued)[-1], "Done")
            run = client.prompt("hangmid")
            async for event in run:
                if isinstance(event, zot.TextDelta):
                    asyncio.ensure_future(client.abort())
            self.assertEqual(run.answer.stop, "aborted")

        self.drive(test)

    async def collect(self, run):
        return [event async for event in run]

    def test_compaction(self):
        async def test(client):
            for _ in range(4):
                await client.ask("say:1")
            self.assertEqual(await client.compact(), "SUMMARY")

        self.drive(test)

    def test_a_slow_reader_slows_zot_down_and_can_still_ask(self):
        async def test(client):
            run = client.prompt("say:150000")
            await run.start()
            session = client._link._session
            while session.wants_input:
                await asyncio.sleep(0.01)
            self.assertTrue((await client.state()).busy)
            self.assertFalse(session.wants_input)
            count = 0
            async for event in run:
                count += isinstance(event, zot.TextDelta)
            self.assertEqual(count, 150000)

        self.drive(test)

    def test_tools_run_in_the_loop_of_the_client(self):
        loops = []

        async def where() -> str:
            loops.append(asyncio.get_running_loop())
            return "here"

        async def hang():
            loops.append("begun")
            try:
                await asyncio.sleep(3600)
            finally:
                loops.append("cancelled")

        def plain() -> str:
            return "plain"

        async def test(client):
            for name, text in (("where", "here"), ("plain", "plain")):
                results = [event async for event in client.prompt(call(name)) if isinstance(event, zot.ToolResult)]
                self.assertEqual([result.text for result in results], [text])
            self.assertEqual(loops, [asyncio.get_running_loop()])
            # Again with more time where a busy machine has not begun the tool.
            timeout = 0.3
            while "begun" not in loops:
                with self.assertRaises(zot.Timeout):
                    await client.ask(call("hang"), timeout=timeout)
                timeout *= 4
            while "cancelled" not in loops:
                await asyncio.sleep(0.01)

        self.drive(test, tools=[where, hang, plain])

    def test_approvals_may_be_coroutines(self):
        async def decide(request):
            await asyncio.sleep(0.01)
            return zot.Deny("not now")

        async def never(request):
            await asyncio.sleep(3600)

        async def test(client):
            run = client.prompt('tool:bash:{"command":"touch made"}')
            self.assertEqual(
                [event.text async for event in run if isinstance(event, zot.ToolResult)], ["refused: not now"]
            )

        async def too_slow(client):
            with self.assertRaises(zot.Timeout):
                await client.ask('tool:bash:{"command":"touch made"}', timeout=0.3)
            self.assertEqual((await client.ask("say:1")).text, "alpha ")

        self.drive(test, on_approval=decide)
        self.drive(too_slow, on_approval=never)
        self.assertFalse((self.work / "made").exists())

    def test_restart_after_a_crash(self):
        async def test(client):
            await client.ask('think:hm:tool:read:{"path":"notes.txt"}')
            await client.set_model("gpt-5-mini")
            before, pid = await client.messages(full=True), client.pid
            with self.assertRaises(zot.Crashed) as raised:
                async for event in client.prompt("hangmid"):
                    if isinstance(event, zot.TurnStart):
                        os.kill(pid, signal.SIGKILL)
            self.assertEqual(raised.exception.status, -signal.SIGKILL)
            self.assertEqual(await client.messages(full=True), before)
            self.assertEqual((await client.state()).model, "gpt-5-mini")
            self.assertNotEqual(client.pid, pid)

        self.drive(test, restart=True)

    def test_notices(self):
        notices = []

        async def remember(notice):
            notices.append(notice)

        async def test(client):
            while not notices:
                await asyncio.sleep(0.01)
            self.assertEqual(notices[0].message, "hi")

        extension = self.base / "demo"
        extension.mkdir()
        (extension / "main.py").write_text(
            "from zot_ext import Extension\next = Extension('demo', '1')\n"
            "@ext.on('session_start')\ndef start(): ext.notify('info', 'hi')\next.run()\n"
        )
        (extension / "extension.json").write_text(f'{{"name":"demo","exec":"{sys.executable}","args":["main.py"]}}')
        self.drive(test, on_notice=remember, extensions=[extension])


if __name__ == "__main__":
    unittest.main()
