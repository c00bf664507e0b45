"""The protocol without input and output: bytes in, events and responses out."""

import json
import pathlib
import unittest

from support import ROOT

from zot import commands, errors, events
from zot.messages import UnknownBlock
from zot.protocol import EVENT_COST, MAX_WAITING_COST, Decoder, Memory, Session

SCHEMA = pathlib.Path(ROOT).parent.parent / "docs/schema/rpc.schema.json"
DONE = {"type": "done"}


def line(**frame):
    return json.dumps(frame, ensure_ascii=False).encode() + b"\n"


def sent(session):
    return [json.loads(text) for text in session.take_outgoing()]


def receive(session, *frames):
    session.apply(Decoder().feed(b"".join(line(**frame) for frame in frames)))


def begin(session, request):
    """Returns a call, and a function that responds to it."""
    call = session.begin(request)
    (frame,) = sent(session)

    def answer(data=None, success=True, **more):
        response = {"type": "response", "id": frame["id"], "command": frame["type"], "success": success, **more}
        receive(session, {**response, "data": data} if data is not None else response)

    return call, answer


def session(snapshots=False):
    return Session(Memory(), snapshots)


class Lines(unittest.TestCase):
    def test_every_split_of_the_bytes_gives_the_same_events(self):
        data = line(type="text_delta", delta="grüße 🦀\u2028\u0085\r x") + b"\r\n" + line(type="done", later=1)
        for size in range(1, len(data) + 1):
            decoder = Decoder()
            pieces = [data[i : i + size] for i in range(0, len(data), size)]
            items = [item for piece in pieces for item in decoder.feed(piece)]
            self.assertEqual([type(event).__name__ for event, _, _ in items], ["TextDelta", "Done"])
            self.assertEqual(items[0][0].delta, "grüße 🦀\u2028\u0085\r x")
            self.assertEqual(items[1][0].raw, {"type": "done", "later": 1})
            self.assertIsNone(decoder.failure)

    def test_a_line_of_twenty_mebibytes(self):
        decoder, text = Decoder(), "x" * (20 * 1024 * 1024)
        data = line(type="text_delta", delta=text)
        items = []
        for start in range(0, len(data), 65536):
            items += decoder.feed(data[start : start + 65536])
        self.assertEqual(items[0][0].delta, text)

    def test_garbage_fails_after_the_events_before_it(self):
        for garbage in (
            b"usage: cat [FILE]\n",
            b"[]\n",
            b"{}\n",
            b'{"type":1}\n',
            b'{"type":"\xff"}\n',
            b"[" * 99999 + b"\n",
        ):
            decoder = Decoder()
            items = decoder.feed(line(**DONE) + garbage + line(**DONE))
            self.assertEqual(len(items), 1)
            self.assertIn("not a frame", decoder.failure)


class Events(unittest.TestCase):
    def test_every_event_of_the_schema_has_a_class(self):
        definitions = json.loads(SCHEMA.read_text())["$defs"]
        kinds = {variant["properties"]["type"]["const"] for variant in definitions["Event"]["oneOf"]}
        self.assertEqual(kinds, set(events._READERS))

    def test_every_command_of_the_schema_can_be_sent(self):
        definitions = json.loads(SCHEMA.read_text())["$defs"]
        expected = {variant["properties"]["type"]["const"] for variant in definitions["Command"]["oneOf"]}
        made = [
            commands.hello(None), commands.prompt("", [], None, "reject"), commands.compact(), commands.steer("", []),
            commands.abort(), commands.confirm("", True, None, "call", None), commands.get_state(),
            commands.get_messages(True), commands.set_messages([], False)[0], commands.clear(), commands.set_model(""),
            commands.get_models(), commands.set_reasoning(None), commands.set_tools(None), commands.get_tools(),
            commands.set_system_prompt(None), commands.get_usage(), commands.subscribe(None, False, set()),
            commands.get_commands(), commands.invoke_command("", ""), commands.reload_extensions(),
            commands.panel_key("", "", "", None), commands.panel_resize("", "", 1, 1), commands.panel_close("", ""),
            commands.ping(), commands.answer("", "decline", None), commands.get_mcp(), commands.set_sandbox("off"),
        ]  # fmt: skip
        self.assertEqual({request.command for request in made}, expected)

    def test_unknown_and_odd_events_are_kept(self):
        for frame in ({"type": "sing", "song": 1}, {"type": "text_delta", "delta": 5}, {"type": "turn_start"}):
            event = events.read_event(frame)
            self.assertIsInstance(event, events.UnknownEvent)
            self.assertEqual((event.type, event.raw), (frame["type"], frame))
        message = events.read_event({"type": "assistant_message", "content": [{"type": "video", "x": 1}], "time": "t"})
        self.assertIsInstance(message.content[0], UnknownBlock)
        self.assertEqual(message.content[0].raw["x"], 1)


class Correlation(unittest.TestCase):
    def test_responses_find_their_calls_in_any_order(self):
        one = session()
        first, respond_first = begin(one, commands.ping())
        second, respond_second = begin(one, commands.set_model("m"))
        respond_second({"model": "m"})
        self.assertEqual((first.done, second.done, second.result()), (False, True, "m"))
        respond_first()
        self.assertIsNone(first.result())

    def test_rejections_carry_the_code(self):
        one = session()
        for code, kind in (("busy", errors.Busy), ("unknown_model", errors.CommandFailed)):
            call, answer = begin(one, commands.set_model("m"))
            answer(success=False, error="words", code=code)
            with self.assertRaises(kind) as raised:
                call.result()
            self.assertEqual((raised.exception.code, raised.exception.command), (code, "set_model"))

    def test_a_response_with_unexpected_fields(self):
        call, answer = begin(session(), commands.get_state())
        answer({"provider": 1})
        with self.assertRaises(errors.ProtocolError):
            call.result()

    def test_events_belong_to_the_prompt_that_started(self):
        one = session()
        first, start_first = begin(one, commands.prompt("a", [], None, "queue"))
        second, start_second = begin(one, commands.prompt("b", [], None, "queue"))
        start_first({"started": True})
        receive(
            one,
            {"type": "turn_start", "step": 1},
            {"type": "ext_notify", "extension": "e", "level": "l", "message": "m"},
            DONE,
        )
        self.assertTrue(first.stream.ended)
        start_second({"started": True})
        receive(one, {"type": "compact_done", "summary": ""}, DONE, {"type": "later"})
        self.assertEqual([type(event).__name__ for event in first.stream.take()], ["TurnStart", "Done"])
        self.assertEqual([type(event).__name__ for event in second.stream.take()], ["CompactDone", "Done"])
        self.assertEqual([type(event).__name__ for event in one.take_notices()], ["ExtensionNotify", "UnknownEvent"])

    def test_a_compaction_ends_with_compact_done(self):
        one = session()
        call, start = begin(one, commands.compact())
        start({"started": True})
        receive(one, {"type": "compact_done", "summary": "s"})
        self.assertTrue(call.stream.ended)

    def test_an_abandoned_prompt_is_aborted_when_it_starts(self):
        one = session()
        call, start = begin(one, commands.prompt("a", [], None, "queue"))
        one.abandon(call)
        self.assertEqual(sent(one), [])
        self.assertTrue(one.is_winding_down)
        start({"started": True})
        self.assertEqual([frame["type"] for frame in sent(one)], ["abort"])
        self.assertTrue(one.is_winding_down)
        receive(one, {"type": "text_delta", "delta": "x"}, DONE)
        self.assertFalse(one.is_winding_down)
        self.assertEqual(call.stream.take(), [])

    def test_reading_stops_for_a_slow_reader_unless_someone_waits_for_a_response(self):
        one = session()
        call, start = begin(one, commands.prompt("a", [], None, "reject"))
        start({"started": True})
        delta = {"type": "text_delta", "delta": "x" * 1024}
        while one.wants_input:
            receive(one, *[delta] * 100)
        self.assertLess(call.stream.cost, MAX_WAITING_COST + 100 * (1100 + EVENT_COST))
        begin(one, commands.prompt("b", [], None, "queue"))
        self.assertFalse(one.wants_input)
        state, answer = begin(one, commands.ping())
        self.assertTrue(one.wants_input)
        answer()
        self.assertFalse(one.wants_input)
        call.stream.take()
        self.assertTrue(one.wants_input)

    def test_the_end_fails_everything_pending(self):
        one = session()
        prompt, start = begin(one, commands.prompt("a", [], None, "reject"))
        start({"started": True})
        ping, _ = begin(one, commands.ping())
        one.end(lambda: errors.Crashed("gone", -9))
        self.assertIsInstance(prompt.stream.error, errors.Crashed)
        with self.assertRaises(errors.Crashed):
            ping.result()
        with self.assertRaises(errors.Crashed):
            one.begin(commands.ping())

    def test_a_line_that_zot_would_reject_is_not_sent(self):
        one = session()
        with self.assertRaises(errors.CommandFailed) as raised:
            one.begin(commands.steer("x" * (16 * 1024 * 1024), []))
        self.assertEqual((raised.exception.code, one.take_outgoing()), ("line_too_long", []))


class Snapshots(unittest.TestCase):
    def test_a_prompt_has_ended_when_its_conversation_is_kept(self):
        memory = Memory()
        one = Session(memory, snapshots=True)
        call, start = begin(one, commands.prompt("a", [], None, "reject"))
        start({"started": True})
        receive(one, DONE)
        self.assertFalse(call.stream.ended)
        (fetch,) = sent(one)
        self.assertEqual((fetch["type"], fetch["full"]), ("get_messages", True))
        data = {"messages": [{"role": "user", "content": []}]}
        receive(one, {"type": "response", "id": fetch["id"], "command": "get_messages", "success": True, "data": data})
        self.assertTrue(call.stream.ended)
        begin(one, commands.set_model("m"))[1]({"model": "m"})
        self.assertEqual([request.command for request in memory.requests()], ["set_model", "set_messages"])

    def test_long_conversations_are_split_before_user_messages(self):
        big = "x" * (6 * 1024 * 1024)
        messages = [{"role": role, "n": n, "text": big} for n, role in enumerate(["user", "assistant", "user", "tool"])]
        requests = commands.set_messages(messages, append=False)
        pieces = [[message["n"] for message in request.fields["messages"]] for request in requests]
        self.assertEqual(pieces, [[0, 1], [2, 3]])
        self.assertEqual([request.fields.get("append") for request in requests], [None, True])


if __name__ == "__main__":
    unittest.main()
