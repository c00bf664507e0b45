"""Programs that are not zot, and a zot that dies."""

import asyncio
import inspect
import unittest

from client_support import PATIENCE, ClientTest, is_running

import zot


class Both:
    """Each case for both clients: `self.drive` runs a coroutine function with an AsyncClient-like object."""

    def test_a_missing_program(self):
        for program, words in (
            ("zot-that-is-not-there", "pass program="),
            (str(self.work / "notes.txt"), "executable"),
        ):
            with self.assertRaises(zot.ProgramNotFound) as raised:
                self.drive({"program": program}, lambda client: client.ping())
            self.assertIn(words, str(raised.exception))

    def test_a_program_that_writes_garbage(self):
        options = self.pretender(
            'sys.stderr.write("what?"); sys.stderr.flush(); raw(b"usage: zot\\n" * 100000); time.sleep(600)'
        )
        with self.assertRaises(zot.ProtocolError) as raised:
            self.drive(options, lambda client: client.ping())
        self.assertIn("usage: zot", str(raised.exception))
        self.assertEqual(raised.exception.stderr, "what?")
        self.assertEqual(self.left_behind(), [])

    def test_a_program_that_writes_nothing(self):
        options = {**self.pretender("time.sleep(600)"), "start_timeout": 0.3}
        with self.assertRaises(zot.StartFailed) as raised:
            self.drive(options, lambda client: client.ping())
        self.assertIn("is it zot?", str(raised.exception))
        self.assertEqual(self.left_behind(), [])

    def test_a_program_that_ends_immediately(self):
        options = self.pretender('sys.exit("no key: set one")')
        with self.assertRaises(zot.StartFailed) as raised:
            self.drive(options, lambda client: client.ping())
        self.assertEqual(raised.exception.status, 1)
        self.assertIn("no key: set one", str(raised.exception))

    def test_another_version_of_the_protocol(self):
        options = self.pretender('HELLO["protocol_version"] = 2\nfor command in commands(): pass')
        with self.assertRaises(zot.StartFailed) as raised:
            self.drive(options, lambda client: client.ping())
        self.assertIn("version 2", str(raised.exception))

    def test_restart_needs_a_zot_that_can_restore(self):
        options = {**self.pretender("for command in commands(): pass"), "restart": True}
        with self.assertRaises(zot.StartFailed):
            self.drive(options, lambda client: client.ping())

    def test_unknown_events_and_fields_odd_cuts_and_a_huge_line(self):
        options = self.pretender('''
            for command in commands():
                respond(command, {"started": True, "later": 1}, later=2)
                data = json.dumps({"type": "text_delta", "delta": "grüße\\u2028🦀"}, ensure_ascii=False).encode() + b"\\n"
                for i in range(len(data)):
                    raw(data[i:i + 1])
                say(type="sing", song=[1, 2])
                raw(json.dumps({"type": "text_delta", "delta": "x" * (20 * 1024 * 1024)}).encode() + b"\\r\\n\\n")
                say(type="done", later=3)
        ''')  # fmt: skip
        events = self.drive(options, self.collect)
        self.assertEqual([type(event).__name__ for event in events], ["TextDelta", "UnknownEvent", "TextDelta", "Done"])
        self.assertEqual(events[0].delta, "grüße\u2028🦀")
        self.assertEqual(events[1].raw, {"type": "sing", "song": [1, 2]})
        self.assertEqual(len(events[2].delta), 20 * 1024 * 1024)
        self.assertEqual(events[3].raw["later"], 3)

    def test_a_process_that_dies_in_the_middle_of_a_line(self):
        options = self.pretender("""
            for command in commands():
                respond(command, {"started": True})
                say(type="text_delta", delta="before")
                raw(b'{"type":"text_de')
                sys.stderr.write("x" * 500000 + "the last words")
                sys.stderr.flush()
                os.kill(os.getpid(), 9)
        """)
        with self.assertRaises(zot.Crashed) as raised:
            self.drive(options, self.collect)
        self.assertEqual(raised.exception.status, -9)
        self.assertTrue(raised.exception.stderr.endswith("the last words"))
        self.assertLessEqual(len(raised.exception.stderr), 64 * 1024)
        self.assertLess(len(str(raised.exception)), 3000)

    def test_a_call_without_a_response(self):
        options = {**self.pretender("for command in commands(): pass"), "timeout": 0.2}
        with self.assertRaises(zot.Timeout) as raised:
            self.drive(options, lambda client: client.state())
        self.assertIn("get_state", str(raised.exception))

    def test_a_late_response_is_ignored(self):
        options = {**self.pretender('''
            for command in commands():
                if command["type"] == "get_state":
                    time.sleep(0.5)
                    respond(command, {})
                else:
                    respond(command, {"model": command["model"]})
        '''), "timeout": 0.2}  # fmt: skip

        def use(client):
            with self.assertRaises(zot.Timeout):
                yield client.state()
            client._timeout = PATIENCE
            model = yield client.set_model("m")
            self.assertEqual(model, "m")

        self.drive(options, use)

    def test_a_process_that_ignores_an_abort_is_killed(self):
        options = self.pretender("""
            for command in commands():
                respond(command, {"started": True})
        """)
        import zot.async_client
        import zot.client

        for module in (zot.client, zot.async_client):
            self.addCleanup(setattr, module, "ABORT_SECONDS", module.ABORT_SECONDS)
            module.ABORT_SECONDS = 0.2

        def use(client):
            with self.assertRaises(zot.Timeout):
                yield client.ask("hello", timeout=0.2)
            with self.assertRaises(zot.Crashed):
                yield client.ping()

        self.drive(options, use)

    def test_a_program_that_does_not_end_by_itself_is_killed(self):
        options = self.pretender("""
            for command in commands():
                respond(command, {"pong": True})
            time.sleep(600)
        """)
        pids = []

        def use(client):
            yield client.ping()
            pids.append(client.pid)

        import zot.async_link
        import zot.link

        for module in (zot.link, zot.async_link):
            self.addCleanup(setattr, module, "END_SECONDS", module.END_SECONDS)
            module.END_SECONDS = 0.2
        self.drive(options, use)
        self.assertFalse(is_running(pids[0]))


class Plain(Both, ClientTest):
    def drive(self, options, use):
        with zot.Client(**options) as client:
            steps = use(client)
            if not hasattr(steps, "send"):
                return steps
            # A generator yields the results of calls, which an AsyncClient has to wait for.
            value = None
            try:
                while True:
                    value = steps.send(value)
            except StopIteration as end:
                return end.value

    def collect(self, client):
        return list(client.prompt("hello"))


class Async(Both, ClientTest):
    def drive(self, options, use):
        async def run():
            async with zot.AsyncClient(**options) as client:
                steps = use(client)
                if inspect.iscoroutine(steps):
                    return await steps
                how, value = "send", None
                try:
                    while True:
                        awaitable = getattr(steps, how)(value)
                        try:
                            how, value = "send", await awaitable
                        except Exception as error:
                            how, value = "throw", error
                except StopIteration as end:
                    return end.value

        return asyncio.run(run())

    async def collect(self, client):
        return [event async for event in client.prompt("hello")]


del Both

if __name__ == "__main__":
    unittest.main()
