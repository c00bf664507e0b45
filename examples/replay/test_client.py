"""Tests notes_agent.py against a recording: no network, no key, no cost, the same every time.

Run it with `python3 test_client.py`; ZOT names the binary to use. The recording was made by
`python3 test_client.py --record`, which needs no key either: it uses the offline stand-in.
"""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

from notes_agent import Agent, AgentFailed, ask

HERE = pathlib.Path(__file__).resolve().parent
CASSETTE = HERE / "notes.cassette"
ZOT = os.environ.get("ZOT", "zot")
REPLAY = ["--provider", "replay", "--cassette", str(CASSETTE)]

# What the model is told is part of every request, so both runs must be told the same.
SETUP = ["--system-prompt", "You look after a folder of notes.", "--tools", "read,bash"]

QUESTIONS = ["list the files", "read monday.txt", "count the lines in monday.txt"]


def start(folder, *options):
    """An agent in a copy of the notes, so that no test spoils another's."""
    notes = pathlib.Path(folder) / "notes"
    shutil.copytree(HERE / "notes", notes)
    environment = {**os.environ, "ZOT_HOME": str(pathlib.Path(folder) / "home")}
    return Agent([ZOT, "rpc", *SETUP, *options], notes, environment)


class NotesAgent(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def start(self, *options):
        agent = start(self.folder.name, *options)
        self.addCleanup(agent.process.kill)
        return agent

    def test_questions_are_answered_with_the_help_of_tools(self):
        agent = self.start(*REPLAY)
        answers = [ask(agent, question) for question in QUESTIONS]
        self.assertIn("monday.txt", answers[0][0])
        self.assertEqual([tools for _, tools in answers], [["bash"], ["read"], ["bash"]])
        self.assertEqual(agent.close(), 0)

    def test_a_changed_question_is_noticed(self):
        agent = self.start(*REPLAY)
        with self.assertRaises(AgentFailed) as failed:
            ask(agent, "list all files")
        self.assertIn("exchange 1 differs from the recording", str(failed.exception))
        self.assertIn("messages[0].content[0].text", str(failed.exception))
        agent.close()

    def test_answers_alone_can_be_replayed(self):
        agent = self.start(*REPLAY, "--replay-mode", "by-order")
        answer, tools = ask(agent, "whatever I ask")
        self.assertIn("monday.txt", answer)
        self.assertEqual(tools, ["bash"])
        agent.close()


def record():
    """Makes the recording anew."""
    CASSETTE.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        agent = start(folder, "--provider", "offline", "--record", str(CASSETTE))
        for question in QUESTIONS:
            ask(agent, question)
        agent.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        record()
    else:
        unittest.main()
