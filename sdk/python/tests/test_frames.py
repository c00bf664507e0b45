"""Every frame of the protocol, in both directions."""

import contextlib
import io
import json
import pathlib
import tempfile
import threading
import unittest

from support import Host

from zot_ext import (
    CommandError,
    Display,
    Extension,
    Image,
    Insert,
    Noop,
    Panel,
    Prompt,
    Text,
    ToolError,
    ToolResult,
    allow,
    block,
    modify,
    replace,
)


class Quiet(unittest.TestCase):
    """Keeps the log of expected failures out of the test's output, and in `log`."""

    def setUp(self):
        self.stderr = io.StringIO()
        redirect = contextlib.redirect_stderr(self.stderr)
        redirect.__enter__()
        self.addCleanup(redirect.__exit__, None, None, None)

    @property
    def log(self):
        return self.stderr.getvalue()


class Handshake(Quiet):
    def test_hello_comes_first_and_ready_last(self):
        ext = Extension("probe", "1.2.3")
        ext.command("c", "a command")(lambda args: None)
        ext.tool("t", "a tool")(lambda: "")
        ext.on("turn_end")(lambda event: None)
        ext.intercept("assistant_message", hold_text=True)(lambda event: None)
        with Host(ext) as host:
            self.assertEqual(host.frames, [
                {"type": "hello", "name": "probe", "version": "1.2.3", "capabilities": ["commands", "tools", "events"]},
                {"type": "register_command", "name": "c", "description": "a command"},
                {
                    "type": "register_tool",
                    "name": "t",
                    "description": "a tool",
                    "schema": {"type": "object", "properties": {}, "additionalProperties": False},
                },
                {"type": "subscribe", "events": ["turn_end"], "intercept": ["assistant_message"], "hold_text": True},
                {"type": "ready"},
            ])

    def test_handlers_can_read_hello_ack(self):
        ext = Extension("probe")

        @ext.command("where")
        def where():
            """tells where it runs

            and more"""
            ack = ext.hello_ack
            return f"{ack.protocol_version} {ack.zot_version} {ack.provider} {ack.model} {ack.cwd}"

        with self.assertRaisesRegex(RuntimeError, "not connected"):
            ext.notify("info", "too early")
        with tempfile.TemporaryDirectory() as home:
            with Host(ext, provider="p", model="m", cwd="/w", data_dir=f"{home}/a/b", extension_dir="/x") as host:
                self.assertEqual(host.invoke("where").text, "1 test p m /w")
                self.assertEqual(host.commands, {"where": "tells where it runs"})
                self.assertEqual(ext.data_dir, pathlib.Path(home, "a", "b"))
                self.assertTrue(ext.data_dir.is_dir())
                self.assertEqual(ext.hello_ack.extension_dir, "/x")

    def test_on_start_registers_before_ready(self):
        ext = Extension("probe")

        @ext.on_start
        def start(hello):
            ext.tool(f"ask_{hello.model}", "")(lambda: "yes")
            ext.on("session_start")(lambda event: ext.notify("info", "begun"))

        with Host(ext, model="opus") as host:
            kinds = [frame["type"] for frame in host.frames]
            self.assertEqual(kinds, ["hello", "register_tool", "subscribe", "ready"])
            self.assertEqual(host.call_tool("ask_opus").text, "yes")
            host.emit("session_start")
            host.wait_for(lambda: host.notifications)

    def test_a_failing_on_start_is_reported_and_ready_still_sent(self):
        ext = Extension("probe")

        @ext.on_start
        def start():
            raise OSError("no disk")

        with Host(ext) as host:
            self.assertEqual(host.notifications[0].message, "on_start failed: OSError: no disk")

    def test_registrations_after_ready_are_sent_immediately(self):
        ext = Extension("probe")

        @ext.command("grow")
        def grow():
            ext.tool("late", "")(lambda: "here")
            ext.command("later")(lambda: "there")
            ext.intercept("turn_start")(lambda event: block("enough"))

        with Host(ext) as host:
            self.assertEqual(host.intercepted, [])
            host.invoke("grow")
            self.assertEqual(host.call_tool("late").text, "here")
            self.assertEqual(host.invoke("later").text, "there")
            self.assertEqual(host.intercept("turn_start", step=1).reason, "enough")

    def test_wrong_registrations_raise(self):
        ext = Extension("probe")
        with self.assertRaisesRegex(ValueError, "unknown event 'turn'"):
            ext.on("turn")(lambda event: None)
        with self.assertRaisesRegex(ValueError, "cannot intercept 'turn_end'"):
            ext.intercept("turn_end")(lambda event: None)
        with self.assertRaisesRegex(ValueError, "on_error must be"):
            ext.intercept("tool_call", on_error="explode")(lambda event: None)
        with self.assertRaisesRegex(TypeError, "must take one argument or none"):
            ext.command("c")(lambda one, two: None)
        with self.assertRaisesRegex(TypeError, "write @ext.tool()"):
            ext.tool(lambda: None)
        with self.assertRaisesRegex(TypeError, "write @ext.command"):
            ext.command(lambda: None)
        with self.assertRaisesRegex(TypeError, '"type": "object"'):
            ext.tool("t", schema={"type": "string"})(lambda args: None)


class Commands(Quiet):
    def check(self, result, **frame):
        ext = Extension("probe")

        @ext.command("c")
        def command(args):
            if isinstance(result, type):
                raise result("broken")
            return result

        with Host(ext) as host:
            answer = host.request("command_invoked", name="c", args="some text").result()
            self.assertEqual(answer, {"type": "command_response", "id": "1", **frame})

    def test_results(self):
        self.check(Prompt("ask"), action="prompt", prompt="ask")
        self.check(Insert("in"), action="insert", insert="in")
        self.check(Display("look"), action="display", display="look")
        self.check("plain", action="display", display="plain")
        self.check(Noop(), action="noop")
        self.check(None, action="noop")
        self.check(
            Panel("p", "T", ["a", "b"], "f"),
            action="open_panel",
            open_panel={"id": "p", "title": "T", "lines": ["a", "b"], "footer": "f"},
        )
        self.check(CommandError("no"), action="noop", error="no")

    def test_exceptions_become_errors(self):
        self.check(CommandError, action="noop", error="broken")
        self.assertNotIn("Traceback", self.log)
        self.check(ValueError, action="noop", error="ValueError: broken")
        self.check(SystemExit, action="noop", error="SystemExit: broken")
        self.assertIn("Traceback", self.log)

    def test_a_wrong_result_is_an_error(self):
        self.check(
            7,
            action="noop",
            error="TypeError: a command returned int: return Prompt, Insert, Display, Panel, Noop, a string or None",
        )

    def test_arguments_and_async(self):
        ext = Extension("probe")

        @ext.command("/slash")
        async def slash(args: str):
            return Prompt(f"<{args}>")

        with Host(ext) as host:
            self.assertEqual(host.invoke("slash", "a b").text, "<a b>")
            unknown = host.request("command_invoked", name="nope", args="").result()
            self.assertEqual(unknown["error"], "this extension has no command 'nope'")


class Tools(Quiet):
    def check(self, result, content, is_error=False):
        ext = Extension("probe")

        @ext.tool("t", "")
        def tool():
            if isinstance(result, BaseException):
                raise result
            return result

        with Host(ext) as host:
            answer = host.request("tool_call", name="t", args={}).result()
            self.assertEqual(answer, {"type": "tool_result", "id": "1", "content": content, "is_error": is_error})

    def text(self, text):
        return [{"type": "text", "text": text}]

    def test_results(self):
        self.check("plain", self.text("plain"))
        self.check(None, [])
        self.check({"a": [1, "ü"]}, self.text('{"a": [1, "ü"]}'))
        self.check(["a", "b"], self.text('["a", "b"]'))
        self.check([], self.text("[]"))
        self.check(True, self.text("true"))
        image = {"type": "image", "mime_type": "image/png", "data": "AAEC"}
        self.check(Image(b"\x00\x01\x02", "image/png"), [image])
        self.check(["see", Image(b"\x00\x01\x02"), Text("end")], self.text("see") + [image] + self.text("end"))
        self.check(ToolResult(["half", Image(b"\x00\x01\x02")], is_error=True), self.text("half") + [image], True)

    def test_failures(self):
        self.check(ToolError("no such city"), self.text("no such city"), True)
        self.assertNotIn("Traceback", self.log)
        self.check(KeyError("x"), self.text("KeyError: 'x'"), True)
        self.assertIn("Traceback", self.log)

    def test_results_without_a_json_form(self):
        ext = Extension("probe")
        ext.tool("t", "")(lambda: float("nan"))
        with Host(ext) as host:
            self.assertTrue(host.call_tool("t").is_error)
        self.check(object(), self.text("TypeError: a tool returned object, which has no JSON form"), True)
        message = "TypeError: a tool returned bytes: wrap an image in Image(data, mime), or decode text"
        self.check(b"raw", self.text(message), True)

    def test_a_result_too_large_for_a_frame_is_an_error(self):
        size = 17 * 1024 * 1024
        ext = Extension("probe")
        ext.tool("t", "")(lambda: "x" * size)
        with Host(ext) as host:
            outcome = host.call_tool("t")
            self.assertTrue(outcome.is_error)
            self.assertIn("the limit is 16777216", outcome.text)

    def test_line_separators_and_lone_surrogates_do_not_break_the_line(self):
        ext = Extension("probe")
        ext.tool("echo", "")(lambda: "a\u2028b\u0085c\nd \U0001f600 \udcff")
        with Host(ext) as host:
            self.assertEqual(host.call_tool("echo").text, "a\u2028b\u0085c\nd \U0001f600 \ufffd")

    def test_with_a_written_schema_the_arguments_are_unchecked(self):
        ext = Extension("probe")
        schema = {"type": "object", "properties": {"x": {"type": "string"}}}
        ext.tool("t", "d", schema=schema)(lambda args: args)
        with Host(ext) as host:
            self.assertEqual(host.tools["t"].schema, schema)
            self.assertEqual(json.loads(host.call_tool("t", {"x": 1, "y": None}).text), {"x": 1, "y": None})

    def test_name_and_description_from_the_function(self):
        ext = Extension("probe")

        @ext.tool()
        async def weather(city: str):
            """Current weather for a city."""
            return f"{city}: sunny"

        with Host(ext) as host:
            self.assertEqual(host.tools["weather"].description, "Current weather for a city.")
            self.assertEqual(host.call_tool("weather", city="Berlin").text, "Berlin: sunny")
            self.assertEqual(
                host.call_tool("weather", town="Berlin").text,
                "invalid arguments for weather: city is required; town is unknown (known: city)",
            )
            unknown = host.request("tool_call", name="nope").result()
            self.assertTrue(unknown["is_error"])


class Events(Quiet):
    def test_each_event_arrives_typed(self):
        ext = Extension("probe")
        seen = []
        ext.on("session_start")(lambda: seen.append("start"))
        ext.on("turn_start")(lambda event: seen.append(event.step))

        @ext.on("turn_end")
        async def turn_end(event):
            seen.append((event.stop, event.error))

        ext.on("tool_call")(lambda event: seen.append((event.tool_id, event.tool_name, event.tool_args)))
        ext.on("assistant_message")(lambda event: seen.append(event.text))
        with Host(ext) as host:
            host.emit("session_start")
            host.emit("turn_start", step=1)
            host.emit("tool_call", tool_id="c", tool_name="bash", tool_args={"command": "ls"})
            host.emit("assistant_message")
            host.emit("assistant_message", text="hi")
            host.emit("turn_end", stop="end")
            host.emit("turn_end", stop="error", error="no key")
            host.wait_for(lambda: len(seen) == 7)
        self.assertEqual(
            seen, ["start", 1, ("c", "bash", {"command": "ls"}), "", "hi", ("end", None), ("error", "no key")]
        )

    def test_many_events_keep_their_order(self):
        ext = Extension("probe")
        seen = []

        @ext.on("turn_start")
        async def first(event):
            seen.append(event.step)

        ext.on("turn_start")(lambda event: seen.append(-event.step))
        with Host(ext) as host:
            for step in range(1, 201):
                host.emit("turn_start", step=step)
            host.wait_for(lambda: len(seen) == 400)
        self.assertEqual(seen, [sign * step for step in range(1, 201) for sign in (1, -1)])

    def test_a_failing_observer_is_reported_and_the_next_still_called(self):
        ext = Extension("probe")
        seen = []
        ext.on("turn_start")(lambda event: 1 / 0)
        ext.on("turn_start")(lambda event: seen.append(event))
        with Host(ext) as host:
            host.emit("turn_start", step=1)
            host.wait_for(lambda: seen)
            self.assertEqual(host.notifications[0].message, "event turn_start failed: ZeroDivisionError: division by zero")

    def test_a_flood_of_events_is_dropped_and_logged(self):
        ext = Extension("probe")
        gate, seen = threading.Event(), []

        @ext.on("turn_start")
        def slow(event):
            gate.wait()
            seen.append(event.step)

        with Host(ext) as host:
            for step in range(1100):
                host.emit("turn_start", step=step)
            host.wait_for(lambda: self.log.count("dropped event turn_start") == 1100 - 1024)
            gate.set()
            host.wait_for(lambda: len(seen) == 1024)
        self.assertEqual(seen, list(range(1024)))

    def test_notify(self):
        ext = Extension("probe")
        ext.command("c")(lambda: [ext.notify(level, "m") for level in ("info", "success", "warn", "error")] and None)
        with Host(ext) as host:
            host.invoke("c")
            self.assertEqual([note.level for note in host.notifications], ["info", "success", "warn", "error"])


class Interception(Quiet):
    def check(self, event, verdict, fields, **answer):
        ext = Extension("probe")

        @ext.intercept(event)
        async def judge(given):
            if isinstance(verdict, BaseException):
                raise verdict
            return verdict

        with Host(ext) as host:
            got = host.request("event_intercept", event=event, **fields).result()
            self.assertEqual(got, {"type": "event_intercept_response", "id": "1", **answer})

    TOOL = {"tool_id": "c", "tool_name": "bash", "tool_args": {"command": "ls"}}

    def test_verdicts(self):
        self.check("tool_call", None, self.TOOL, block=False)
        self.check("tool_call", allow(), self.TOOL, block=False)
        self.check("tool_call", block("no"), self.TOOL, block=True, reason="no")
        self.check("tool_call", modify({"command": "pwd"}), self.TOOL, block=False, modified_args={"command": "pwd"})
        self.check("turn_start", block("stop"), {"step": 1}, block=True, reason="stop")
        self.check("assistant_message", replace("***"), {"text": "x"}, block=False, replace_text="***")

    def test_failures_allow_and_notify_the_user(self):
        self.check("tool_call", ValueError("bug"), self.TOOL, block=False)
        self.check("tool_call", True, self.TOOL, block=False)
        self.check("tool_call", replace("x"), self.TOOL, block=False)
        self.check("turn_start", modify({}), {"step": 1}, block=False)
        self.check("tool_call", modify({"x": object()}), self.TOOL, block=False)

    def test_failures_block_with_on_error(self):
        ext = Extension("guard")

        @ext.intercept("tool_call", on_error="block")
        def judge(event):
            raise ValueError("bug")

        with Host(ext) as host:
            answer = host.intercept("tool_call", tool_name="bash")
            self.assertEqual((answer.block, answer.reason), (True, "guard failed: ValueError: bug"))
            self.assertIn("interceptor of tool_call (block) failed", host.notifications[0].message)

    def test_failures_follow_the_manifest(self):
        ext = Extension("guard")
        ext.intercept("turn_start")(lambda event: 1 / 0)
        with tempfile.TemporaryDirectory() as directory:
            pathlib.Path(directory, "extension.json").write_text('{"name":"guard","on_failure":"block"}')
            with Host(ext, extension_dir=directory) as host:
                self.assertTrue(host.intercept("turn_start", step=1).block)

    def test_rewrites_chain_and_the_first_block_wins(self):
        ext = Extension("probe")
        asked = []
        ext.intercept("tool_call")(lambda event: modify({**event.tool_args, "a": 1}))
        ext.intercept("tool_call")(lambda event: None)
        ext.intercept("tool_call")(lambda event: modify({**event.tool_args, "b": 2}))
        ext.intercept("tool_call")(lambda event: block("long") if len(event.tool_args) > 3 else None)
        ext.intercept("tool_call")(lambda event: asked.append(event.tool_args))
        with Host(ext) as host:
            answer = host.intercept("tool_call", tool_name="t", tool_args={"c": 3})
            self.assertEqual(answer.modified_args, {"a": 1, "b": 2, "c": 3})
            answer = host.intercept("tool_call", tool_name="t", tool_args={"c": 3, "d": 4})
            self.assertEqual((answer.block, answer.reason, answer.modified_args), (True, "long", None))
        self.assertEqual(len(asked), 1)

    def test_an_unknown_event_is_allowed(self):
        with Host(Extension("probe")) as host:
            self.assertFalse(host.request("event_intercept", event="new_thing").result()["block"])


class Panels(Quiet):
    def test_life_of_a_panel(self):
        ext = Extension("probe")
        panel = Panel("todo", title="Todo", lines=["one"], footer="q quits")
        seen = []
        with self.assertRaisesRegex(RuntimeError, "not open"):
            panel.render()
        ext.command("todo")(lambda: panel)

        @ext.on_panel_key("todo")
        def key(event):
            if event.key == "tab":
                event.panel.close()
                return None
            if event.text:
                ext.render_panel(event.panel_id, [*event.panel.lines, event.text], footer=event.key)
                return None
            return Panel("todo", "Fresh", "a\nb")

        @ext.on_panel_resize("todo")
        async def resize(event):
            seen.append((event.panel_id, event.width, event.height))

        ext.on_panel_close("todo")(lambda event: seen.append(event.panel_id))
        with Host(ext) as host:
            self.assertEqual(host.invoke("todo").panel["lines"], ["one"])
            host.panel_key("todo", "rune", "x")
            host.wait_for(lambda: host.panels["todo"]["lines"] == ["one", "x"])
            self.assertEqual((host.panels["todo"]["title"], host.panels["todo"]["footer"]), ("Todo", "rune"))
            host.panel_key("todo", "enter")
            host.wait_for(lambda: host.panels["todo"]["lines"] == ["a", "b"])
            host.panel_resize("todo", 80, 24)
            host.wait_for(lambda: seen == [("todo", 80, 24)])
            host.panel_key("todo", "tab")
            host.wait_for(lambda: not host.panels)
            host.panel_close("todo")
            host.wait_for(lambda: seen == [("todo", 80, 24), "todo"])
            self.assertIn({"type": "panel_close", "panel_id": "todo"}, host.frames)

    def test_close_panel(self):
        ext = Extension("probe")
        ext.command("open")(lambda: Panel("p"))
        ext.command("close")(lambda: ext.close_panel("p"))
        with Host(ext) as host:
            host.invoke("open")
            host.invoke("close")
            self.assertEqual(host.panels, {})


class InvalidFrames(Quiet):
    def test_they_are_logged_and_skipped(self):
        ext = Extension("probe")
        ext.tool("t", "")(lambda: "fine")
        with Host(ext) as host:
            host.send_bytes(b"not json\n\n[1]\n{}\n{\"type\":7}\n\xff\xfe\n" + b"[" * 100000 + b"\n")
            host.send_bytes(b'{"type":"tool_call","name":"t"}\n{"type":"panel_key"}\n{"type":"event"}\n')
            host.send({"type": "from_the_future", "x": 1})
            self.assertEqual(host.call_tool("t").text, "fine")
        self.assertIn("invalid frame", self.log)
        self.assertIn("not an object with a type", self.log)
        self.assertIn("skipped a tool_call frame", self.log)

    def test_a_line_that_is_too_long_is_skipped(self):
        ext = Extension("probe")
        ext.tool("t", "")(lambda: "fine")
        with Host(ext) as host:
            host.send_bytes(b"x" * (33 * 1024 * 1024) + b"\n")
            self.assertEqual(host.call_tool("t").text, "fine")
        self.assertIn("more than 16777216 bytes", self.log)


if __name__ == "__main__":
    unittest.main()
