"""A small program that embeds zot: it asks for a summary of a folder of notes.

This is the code under test in test_client.py. It speaks the protocol of `zot rpc` and nothing else.
"""

import json
import subprocess


class Agent:
    """A `zot rpc` process in a working directory."""

    def __init__(self, command, directory, environment=None):
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def prompt(self, message):
        """Sends a prompt and returns what happened, up to `done`."""
        self._send({"type": "prompt", "message": message})
        events = []
        for line in self.process.stdout:
            event = json.loads(line)
            events.append(event)
            if event["type"] == "done":
                return events
        raise RuntimeError("zot ended before it was done")

    def close(self):
        """Lets zot finish; returns its exit code."""
        self.process.stdin.close()
        with self.process.stdout:
            self.process.stdout.read()
        return self.process.wait()

    def _send(self, command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()


class AgentFailed(Exception):
    """The agent gave up; the message says why."""


def ask(agent, question):
    """The agent's answer, and the tools it used to find it."""
    answer, tools = "", []
    for event in agent.prompt(question):
        if event["type"] == "error":
            raise AgentFailed(event["message"])
        if event["type"] == "tool_call":
            tools.append(event["name"])
        if event["type"] == "assistant_message":
            texts = [block["text"] for block in event["content"] if block["type"] == "text"]
            answer = "".join(texts)
    return answer, tools
