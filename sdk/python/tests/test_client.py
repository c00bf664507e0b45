"""The synchronous client against the real zot."""

import base64
import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import unittest

from client_support import PATIENCE, UNTIL_GO, RealTest, ScriptedTest, is_running

import zot

IMAGE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
)


def kinds(events):
    return [type(event).__name__ for event in events]


class Offline(RealTest):
    def test_a_prompt_is_a_stream_of_typed_events(self):
        with zot.Client(**self.options()) as client:
            self.assertEqual((client.hello.provider, client.hello.protocol_version), ("offline", 1))
            run = client.prompt("count the lines in notes.txt")
            events = list(run)
            self.assertEqual(kinds(events)[0], "UserMessage")
            self.assertEqual(kinds(events)[-1], "Done")
            self.assertIn("ToolResult", kinds(events))
            self.assertEqual(run.answer.text, "notes.txt has 2 lines.")
            self.assertEqual([call.name for call in run.answer.tool_calls], ["bash"])
            self.assertEqual(run.answer.stop, "end")
            self.assertGreater(run.answer.usage.input, 0)
            self.assertEqual(list(run), [])
        self.assertEqual(self.left_behind(), [])

    def test_the_state_names_the_session(self):
        path = self.work / "talk.jsonl"
        with zot.Client(**self.options(session=path)) as client:
            client.ask("hello")
            session = client.state().session
            self.assertEqual(session.path, str(path))
            self.assertIn(session.id, path.read_text())
        with zot.Client(**self.options()) as client:
            self.assertIsNone(client.state().session)

    def test_a_session_is_resumed_and_forked(self):
        path = self.work / "talk.jsonl"
        with zot.Client(**self.options(session=path)) as client:
            client.ask("hello")
            identity = client.state().session.id
        kept = path.read_text()
        with zot.Client(**self.options(resume=path, fork=True)) as client:
            self.assertEqual(client.state().message_count, 2)
            self.assertNotEqual(client.state().session.id, identity)
            client.ask("hello")
            fork = client.state().session.id
        self.assertEqual(path.read_text(), kept)
        with zot.Client(**self.options(resume=fork[:12])) as client:
            self.assertEqual((client.state().session.id, client.state().message_count), (fork, 4))
        with zot.Client(**self.options(resume=True)) as client:
            self.assertEqual(client.state().session.id, fork)

    def test_options_that_contradict_each_other_are_errors(self):
        with self.assertRaisesRegex(ValueError, "pass one of them"):
            zot.Client(session="a.jsonl", resume=True)
        with self.assertRaisesRegex(ValueError, "needs a session"):
            zot.Client(fork=True)
        with self.assertRaisesRegex(TypeError, "sesion"):
            zot.Client(sesion="a.jsonl")

    def test_a_jail_confines_the_tools(self):
        (self.base / "outside.txt").write_text("secret")
        with zot.Client(**self.options(jail=True)) as client:
            self.assertNotIn("secret", client.ask("read ../outside.txt").text)
            self.assertTrue(client.state().jailed)

    def test_a_sandbox_is_chosen_and_changed(self):
        (self.base / "outside.txt").write_text("secret")
        (self.base / "shared.txt").write_text("shared")
        rules = zot.Sandbox("workspace", read=["../shared.txt"], connect=["example.com:443"], open_files=64)
        with zot.Client(**self.options(sandbox=rules)) as client:
            self.assertNotIn("secret", client.ask("read ../outside.txt").text)
            self.assertIn("shared", client.ask("read ../shared.txt").text)
            found = client.state().sandbox
            self.assertEqual(
                (found.level, found.read, found.write, found.run, found.connect, found.open_files),
                ("workspace", ["../shared.txt"], [], None, ["example.com:443"], 64),
            )
            changed = client.set_sandbox(zot.Sandbox("read-only", connect=[], open_files=0))
            self.assertEqual((changed.level, changed.connect, changed.open_files), ("read-only", [], None))
            self.assertEqual(changed.read, ["../shared.txt"], "as at the start")
            self.assertEqual(client.set_sandbox("off").level, "off")
            self.assertIsNone(client.state().sandbox)
            self.assertIn("secret", client.ask("read ../outside.txt").text)
            with self.assertRaises(zot.CommandFailed) as raised:
                client.set_sandbox("strict")
            self.assertEqual(raised.exception.code, "invalid_argument")

    def test_limits_of_the_sandbox_are_flags(self):
        limits = {"memory_mib": 4096, "processes": 500, "processor_seconds": 60, "open_files": 64}
        with zot.Client(**self.options(sandbox=zot.Sandbox("workspace", **limits))) as client:
            found = client.state().sandbox
            self.assertEqual({name: getattr(found, name) for name in limits}, limits)
        none = zot.Sandbox("workspace", memory_mib=0, processes=0, processor_seconds=0, open_files=0)
        with zot.Client(**self.options(sandbox=none)) as client:
            self.assertIsNone(client.state().sandbox.open_files)

    def test_a_wrong_sandbox_is_not_taken_for_none(self):
        with zot.Client(**self.options(sandbox="workspace")) as client:
            for wrong, message in (
                ({"connect": ["a.com"]}, "zot.Sandbox\\('workspace', .*not a dict"),
                ({"level": "workspace"}, "not a dict"),
                (True, "not a bool"),
                (zot.Sandbox(None), "the level of a Sandbox is .*not None"),
                (zot.Sandbox("workspace", read="/tmp"), "read of a Sandbox takes a list"),
            ):
                with self.assertRaisesRegex(TypeError, message):
                    zot.Client(**self.options(sandbox=wrong))
                with self.assertRaisesRegex(TypeError, message):
                    client.set_sandbox(wrong)
            with self.assertRaisesRegex(TypeError, "not a NoneType"):
                client.set_sandbox(None)
            self.assertEqual(client.state().sandbox.level, "workspace")

    def test_no_program_at_all_is_not_taken_for_every_program(self):
        nothing = zot.Sandbox("workspace", run=[])
        with self.assertRaisesRegex(ValueError, "call set_sandbox"):
            zot.Client(**self.options(sandbox=nothing))
        with zot.Client(**self.options(sandbox="workspace")) as client:
            self.assertEqual(client.set_sandbox(nothing).run, [])
            self.assertNotIn("Linux", client.ask("run: uname").text)

    def test_every_other_command(self):
        with zot.Client(**self.options(allow_tools=["read", "bash"])) as client:
            client.ping()
            self.assertEqual(client.ask("count the lines in notes.txt").text, "notes.txt has 2 lines.")
            state = client.state()
            self.assertEqual((state.model, state.message_count, state.busy), ("offline", 4, False))
            self.assertEqual(state.cwd, str(self.work))
            self.assertEqual(
                [message.role for message in client.messages()], ["user", "assistant", "tool", "assistant"]
            )
            self.assertEqual(client.usage().total.input, state.usage.input)
            self.assertEqual([model.id for model in client.models()], ["offline"])
            self.assertEqual([tool.name for tool in client.tools() if tool.enabled], ["read", "bash"])
            self.assertEqual([tool.name for tool in client.set_tools(["read"]) if tool.enabled], ["read"])
            self.assertEqual(client.set_model("offline"), "offline")
            self.assertEqual(client.set_reasoning("high"), "high")
            self.assertIsNone(client.set_reasoning())
            client.set_system_prompt("Answer in French.")
            client.set_system_prompt()
            self.assertEqual(client.commands(), [])
            self.assertEqual(
                set(client.subscribe(["assistant_message"])), {"assistant_message", "compact_done", "done", "error"}
            )
            run = client.prompt("list the files")
            self.assertEqual(set(kinds(run)), {"AssistantMessage", "Done"})
            self.assertTrue(run.answer.text)
            full = client.messages(full=True)
            client.clear()
            self.assertEqual(client.state().message_count, 0)
            self.assertEqual(client.set_messages(full).message_count, len(full))
            self.assertEqual(client.messages(full=True), full)
            self.assertEqual(
                client.set_messages(
                    [{"role": "user", "content": [{"type": "text", "text": "and?"}]}], append=True
                ).message_count,
                len(full) + 1,
            )
            client.abort()
            with self.assertRaises(zot.CommandFailed) as raised:
                client.steer("hello?")
            self.assertEqual(raised.exception.code, "not_running")
            with self.assertRaises(zot.CommandFailed) as raised:
                client.set_model("ofline")
            self.assertEqual((raised.exception.code, raised.exception.command), ("unknown_model", "set_model"))
            with self.assertRaises(zot.CommandFailed) as raised:
                client.prompt("")
            self.assertEqual(raised.exception.code, "invalid_argument")
            for refused in (
                lambda: client.panel_key("e", "p", "up"),
                lambda: client.panel_close("e", "p"),
                lambda: client.panel_resize("e", "p", 1, 1),
            ):
                with self.assertRaises(zot.CommandFailed) as raised:
                    refused()
                self.assertEqual(raised.exception.code, "unavailable")

    def test_a_wrong_option_is_explained(self):
        with self.assertRaises(zot.StartFailed) as raised:
            zot.Client(**self.options(provider="nobody")).start()
        self.assertEqual(raised.exception.status, 2)
        self.assertIn("nobody", str(raised.exception))
        with self.assertRaises(zot.StartFailed):
            zot.Client(**self.options(cwd=self.base / "missing")).start()
        self.assertEqual(self.left_behind(), [])

    def test_a_token_is_sent(self):
        environment = {**self.options()["env"], "ZOTCORE_RPC_TOKEN": "s3cret"}
        with zot.Client(**self.options(env=environment)) as client:
            client.ping()

    def test_closing_twice_and_using_it_afterwards(self):
        client = zot.Client(**self.options()).start()
        pid = client.pid
        client.close()
        client.close()
        self.assertFalse(is_running(pid))
        with self.assertRaises(zot.Closed):
            client.ping()
        self.assertEqual(self.left_behind(), [])

    def test_an_unreferenced_client_ends_its_process(self):
        client = zot.Client(**self.options()).start()
        client.ask("list the files")
        pid = client.pid
        del client
        gc.collect()
        self.wait_until(lambda: not is_running(pid), "the end of zot")
        self.wait_until(lambda: self.left_behind() == [], "the clean-up")

    def test_a_program_that_forgets_to_close_leaves_nothing(self):
        source = "import zot, sys; client = zot.Client(**eval(sys.argv[1])); client.start(); print(client.pid)"
        options = {**self.options(), "cwd": str(self.work)}
        environment = {**os.environ, "TMPDIR": str(self.temporary)}
        done = subprocess.run(
            [sys.executable, "-c", source, repr(options)], stdout=subprocess.PIPE, env=environment, timeout=PATIENCE
        )
        self.assertEqual(done.returncode, 0)
        self.wait_until(lambda: not is_running(int(done.stdout)), "the end of zot")
        self.assertEqual(self.left_behind(), [])

    def test_a_forked_child_cannot_use_it(self):
        with zot.Client(**self.options()) as client:
            pid = os.fork()
            if pid == 0:
                try:
                    client.ping()
                except RuntimeError:
                    os._exit(42)
                os._exit(1)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 42)
            client.ping()

    def test_extension_commands_notices_and_panels(self):
        extension = self.base / "demo"
        extension.mkdir()
        (extension / "main.py").write_text(
            "from zot_ext import Extension, Prompt, Panel\n"
            "ext = Extension('demo', '1')\n"
            "@ext.command('files', 'list')\n"
            "def files(): return Prompt('list the files')\n"
            "@ext.command('note')\n"
            "def note(args): ext.notify('info', args)\n"
            "@ext.command('panel')\n"
            "def panel(): return Panel('p', 'Title', ['one'])\n"
            "@ext.on_panel_key('p')\n"
            "def key(event): event.panel.render([event.key, event.text])\n"
            "ext.run()\n"
        )
        (extension / "extension.json").write_text(f'{{"name":"demo","exec":"{sys.executable}","args":["main.py"]}}')
        notices = []
        with zot.Client(**self.options(extensions=[extension], on_notice=notices.append)) as client:
            self.assertEqual([command.name for command in client.commands()], ["files", "note", "panel"])
            outcome, run = client.invoke_command("files")
            self.assertEqual((outcome.action, outcome.prompt), ("prompt", "list the files"))
            self.assertEqual(kinds(run)[-1], "Done")
            self.assertIn("notes.txt", run.answer.text)
            self.assertEqual(client.invoke_command("note", "hi there")[1], None)
            self.wait_until(
                lambda: [getattr(notice, "message", "") for notice in notices] == ["hi there"], "the notice"
            )
            outcome, _ = client.invoke_command("panel")
            self.assertEqual((outcome.open_panel.id, outcome.open_panel.lines), ("p", ["one"]))
            client.panel_resize("demo", "p", 60, 12)
            client.panel_key("demo", "p", "x", "x")
            self.wait_until(lambda: isinstance(notices[-1], zot.ExtensionPanel), "the panel")
            self.assertEqual(notices[-1].lines, ["rune", "x"])
            client.panel_close("demo", "p")
            states = {state.name: state.state for state in client.reload_extensions()}
            self.assertEqual(states["demo"], "ready")


class Scripted(ScriptedTest):
    def test_an_image_and_a_budget(self):
        path = self.work / "dot.png"
        path.write_bytes(IMAGE)
        with zot.Client(**self.options()) as client:
            for image in (path, str(path), zot.Image(IMAGE, "image/png")):
                (first, *_) = client.prompt("say:1", images=[image])
                self.assertEqual(first.content[1].bytes, len(IMAGE))
            with self.assertRaises(ValueError):
                client.prompt("say:1", images=[self.work / "notes.txt"])
            with self.assertRaises(zot.PromptFailed) as raised:
                client.ask('loop:5:read:{"path":"notes.txt"}', budget=zot.Budget(max_steps=2))
            self.assertEqual(raised.exception.code, "budget")
        with zot.Client(**self.options(budget=zot.Budget(max_steps=1))) as client:
            client.ask("say:1")
            with self.assertRaises(zot.PromptFailed):
                client.ask("say:1")

    def test_text_split_inside_characters_arrives_whole(self):
        with zot.Client(**self.options()) as client:
            whole = client.ask("utf8").text
            self.assertTrue(any(ord(character) > 0xFFFF for character in whole), whole)
            self.assertEqual(client.ask("split:1:utf8").text, whole)

    def test_a_failed_prompt_shows_its_events_and_then_raises(self):
        seen = []
        with zot.Client(**self.options()) as client:
            with self.assertRaises(zot.PromptFailed) as raised:
                for event in client.prompt("err:429:slow down"):
                    seen.append(event)
            self.assertEqual(raised.exception.code, "rate_limited")
            self.assertIn("slow down", raised.exception.message)
            self.assertEqual(kinds(seen)[-2:], ["Error", "Done"])
            self.assertEqual(client.ask("say:2").text, "alpha beta ")

    def test_overlap_is_busy(self):
        with zot.Client(**self.options()) as client:
            with client.prompt("hangmid") as run:
                next(run)
                for overlapping in (
                    lambda: client.prompt("say:1"),
                    client.clear,
                    lambda: client.ask("say:1"),
                    client.compact,
                ):
                    with self.assertRaises(zot.Busy) as raised:
                        overlapping()
                    self.assertEqual(raised.exception.code, "busy")
                self.assertTrue(client.state().busy)
            self.assertFalse(client.state().busy)

    def test_queue_and_steer(self):
        with zot.Client(**self.options()) as client:
            run = client.prompt(UNTIL_GO)
            for event in run:
                if isinstance(event, zot.ToolUseStart):
                    queued = []
                    thread = threading.Thread(
                        target=lambda: queued.append(list(client.prompt("say:1", when_busy="queue")))
                    )
                    thread.start()
                    client.steer("say:2")
                    steered = client.prompt("say:3", when_busy="steer")
                    self.assertTrue(steered.steered)
                    self.assertEqual(list(steered), [])
                    (self.work / "go").touch()
            thread.join(PATIENCE)
            self.assertEqual(kinds(queued[0])[-1], "Done")
            texts = [message.text for message in client.messages() if message.role == "user"]
            self.assertEqual(texts[1:], ["say:2", "say:3", "say:1"])

    def test_abort_from_another_thread(self):
        with zot.Client(**self.options()) as client:
            run = client.prompt("hangmid")
            events = []
            for event in run:
                events.append(event)
                if isinstance(event, zot.TextDelta):
                    threading.Thread(target=client.abort).start()
            self.assertEqual((run.answer.stop, kinds(events)[-1]), ("aborted", "Done"))
            run = client.prompt('tool:bash:{"command":"sleep 60"}')
            for event in run:
                if isinstance(event, zot.TurnEnd):
                    threading.Thread(target=client.abort).start()
            self.assertEqual(run.answer.stop, "aborted")

    def test_two_threads_cannot_read_one_prompt(self):
        with zot.Client(**self.options()) as client:
            run = client.prompt("hang")
            reading = threading.Thread(target=lambda: list(run))
            reading.start()
            self.wait_until(run._iterating.locked, "the other thread")
            with self.assertRaises(RuntimeError):
                while True:  # Until the other thread waits again.
                    next(run)
            client.abort()
            reading.join(PATIENCE)

    def test_a_prompt_that_takes_too_long_is_aborted(self):
        with zot.Client(**self.options()) as client:
            for directive in ("hang", "hangmid", 'tool:bash:{"command":"sleep 60"}'):
                begun = time.monotonic()
                with self.assertRaises(zot.Timeout) as raised:
                    client.ask(directive, timeout=0.4)
                self.assertIsInstance(raised.exception, TimeoutError)
                self.assertLess(time.monotonic() - begun, 5)
                self.assertFalse(client.state().busy)
                self.assertEqual(client.ask("say:1").text, "alpha ")

    def test_leaving_the_loop_aborts(self):
        with zot.Client(**self.options()) as client:
            for event in client.prompt("hangmid"):
                if isinstance(event, zot.TextDelta):
                    break
            self.assertEqual(client.ask("say:1").text, "alpha ")

    def test_closing_while_something_runs(self):
        client = zot.Client(**self.options())
        run = client.prompt('tool:bash:{"command":"sleep 60"}')
        while not isinstance(next(run), zot.TurnEnd):
            pass
        begun = time.monotonic()
        client.close()
        self.assertLess(time.monotonic() - begun, 5)
        # The last frames of zot may still be read.
        self.assertEqual(kinds(run)[-1], "Done")
        self.assertEqual(run.answer.stop, "aborted")

    def test_a_slow_reader_slows_zot_down_and_can_still_ask(self):
        with zot.Client(**self.options()) as client:
            run = client.prompt("say:150000")
            session = client._link._session
            self.wait_until(lambda: not session.wants_input, "a full buffer")
            with client._link._changed:
                kept = session._current.cost
            time.sleep(0.2)
            self.assertEqual(session._current.cost, kept)
            # A call is answered; only what precedes its response is read.
            self.assertTrue(client.state().busy)
            self.assertFalse(session.wants_input)
            self.assertEqual(sum(isinstance(event, zot.TextDelta) for event in run), 150000)

    def test_compaction(self):
        with zot.Client(**self.options()) as client:
            with self.assertRaises(zot.PromptFailed) as raised:
                client.compact()
            self.assertEqual(raised.exception.code, "compaction")
            for _ in range(4):
                client.ask("say:1")
            self.assertEqual(client.compact(), "SUMMARY")
            self.assertLess(client.state().message_count, 8)

    def test_the_key_is_not_on_the_command_line(self):
        with zot.Client(**self.options(api_key="sk-secret")) as client:
            arguments = pathlib.Path(f"/proc/{client.pid}/cmdline").read_bytes()
            self.assertNotIn(b"sk-secret", arguments)
            client.ask("say:1")


class Approvals(ScriptedTest):
    COMMAND = 'tool:bash:{"command":"echo one >> made"}'

    def ask(self, decide, **more):
        """Returns the text of the result of a call that `decide` decides about."""
        with zot.Client(**self.options(on_approval=decide, **more)) as client:
            return [event.text for event in client.prompt(self.COMMAND) if isinstance(event, zot.ToolResult)]

    def test_allow_deny_and_other_arguments(self):
        asked = []

        def decide(request):
            asked.append((request.name, request.args, request.preview))
            return decisions.pop(0)

        decisions = [zot.Allow(), True]
        self.ask(decide)
        self.ask(decide)
        self.assertEqual((self.work / "made").read_text(), "one\none\n")
        self.assertEqual(asked[0], ("bash", {"command": "echo one >> made"}, "echo one >> made"))
        decisions = [zot.Deny("not today"), False]
        self.assertEqual(self.ask(decide), ["refused: not today"])
        self.assertIn("refused", self.ask(decide)[0])
        decisions = [zot.Allow(args={"command": "echo other"})]
        self.assertIn("other", self.ask(decide)[0])
        self.assertEqual((self.work / "made").read_text(), "one\none\n")

    def test_remember(self):
        asked = []

        def decide(request):
            asked.append(request)
            return zot.Allow(remember="tool")

        with zot.Client(**self.options(on_approval=decide)) as client:
            client.ask(self.COMMAND)
            client.ask(self.COMMAND)
        self.assertEqual(len(asked), 1)

    def test_only_the_listed_tools_need_approval(self):
        asked = []
        self.ask(asked.append, confirm=["write"])
        self.assertEqual(asked, [])

    def test_a_callback_that_fails_allows_nothing(self):
        async def promise(request):
            return True

        def fail(request):
            raise KeyError("on purpose")

        for decide, error in ((fail, KeyError), (lambda request: None, TypeError), (promise, TypeError)):
            with self.assertRaises(error):
                self.ask(decide)
        self.assertFalse((self.work / "made").exists())

    def test_without_a_callback_tools_run_unless_confirm_is_given(self):
        with zot.Client(**self.options()) as client:
            client.ask(self.COMMAND)
            self.assertEqual((self.work / "made").read_text(), "one\n")
        with zot.Client(**self.options(confirm=True)) as client:
            for event in client.prompt(self.COMMAND):
                if isinstance(event, zot.ToolConfirm):
                    client.confirm(event.id, False, reason="by hand")
                elif isinstance(event, zot.ToolResult):
                    self.assertEqual(event.text, "refused: by hand")


class Restart(ScriptedTest):
    def test_the_pending_call_raises_and_the_next_one_succeeds(self):
        with zot.Client(**self.options(restart=True, system_prompt="one")) as client:
            client.ask('think:hm:tool:read:{"path":"notes.txt"}')
            client.set_model("gpt-5-mini")
            client.set_tools(["read"])
            before, pid = client.messages(full=True), client.pid
            run = client.prompt("hangmid")
            next(run)
            os.kill(pid, signal.SIGKILL)
            with self.assertRaises(zot.Crashed) as raised:
                list(run)
            self.assertEqual(raised.exception.status, -signal.SIGKILL)
            self.assertIn("SIGKILL", str(raised.exception))
            self.assertEqual(list(run), [])
            self.assertEqual(client.messages(full=True), before)
            self.assertNotEqual(client.pid, pid)
            self.assertEqual(client.state().model, "gpt-5-mini")
            self.assertEqual([tool.name for tool in client.tools() if tool.enabled], ["read"])
            self.assertEqual(client.ask("say:1").text, "alpha ")
            self.assertEqual(client.state().message_count, len(before) + 2)
        self.assertEqual(self.left_behind(), [])

    def test_cleared_and_set_conversations_are_restored(self):
        with zot.Client(**self.options(restart=True)) as client:
            client.ask("say:1")
            client.clear()
            self.crash(client)
            self.assertEqual(client.state().message_count, 0)
            client.set_messages([{"role": "user", "content": [{"type": "text", "text": "hello"}]}])
            self.crash(client)
            self.assertEqual([message.text for message in client.messages()], ["hello"])

    def test_a_session_continues_in_its_file(self):
        path = self.work / "talk.jsonl"
        with zot.Client(**self.options(session=path)) as client:
            client.ask("say:1")
        with zot.Client(**self.options(session=path, fork=True, restart=True)) as client:
            client.ask("say:1")
            session, before = client.state().session, client.messages()
            self.crash(client)
            self.assertEqual(client.messages(), before)
            self.assertEqual(client.state().session, session)
        self.assertNotEqual(session.path, str(path))

    def crash(self, client):
        pid = client.pid
        os.kill(pid, signal.SIGKILL)
        self.wait_until(lambda: not is_running(pid))

    def test_a_conversation_longer_than_a_line(self):
        text = "x" * (6 * 1024 * 1024)
        messages = []
        for _ in range(4):
            messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
            messages.append({"role": "assistant", "content": [{"type": "text", "text": "ok"}]})
        with zot.Client(**self.options(restart=True)) as client:
            self.assertEqual(client.set_messages(messages).message_count, 8)
            self.crash(client)
            self.assertEqual([len(message.text) for message in client.messages()], [len(text), 2] * 4)

    def test_without_restart_every_later_call_fails(self):
        with zot.Client(**self.options()) as client:
            self.crash(client)
            for _ in range(2):
                with self.assertRaises(zot.Crashed):
                    client.ping()


if __name__ == "__main__":
    unittest.main()
