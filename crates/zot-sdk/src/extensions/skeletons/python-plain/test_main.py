"""Talks to the extension as zot does. Run with: python3 -m unittest"""
import json
import pathlib
import subprocess
import sys
import unittest

MAIN = pathlib.Path(__file__).with_name("main.py")


class Talk(unittest.TestCase):
    def setUp(self):
        self.process = subprocess.Popen(
            [sys.executable, str(MAIN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.registered = []
        while not self.registered or self.registered[-1]["type"] != "ready":
            self.registered.append(self.receive())

    def tearDown(self):
        self.assertEqual(self.ask(type="shutdown"), {"type": "shutdown_ack"})
        self.process.stdin.close()
        self.assertEqual(self.process.wait(timeout=5), 0)

    def receive(self):
        line = self.process.stdout.readline()
        self.assertTrue(line, "the extension has ended")
        return json.loads(line)

    def send(self, **frame):
        self.process.stdin.write(json.dumps(frame) + "\n")
        self.process.stdin.flush()

    def ask(self, **frame):
        self.send(**frame)
        return self.receive()

    def test_says_hello_first(self):
        self.assertEqual(self.registered[0]["type"], "hello")
        self.assertEqual(self.registered[0]["name"], "{{name}}")

    def test_command(self):
        answer = self.ask(type="command_invoked", id="1", name="{{word}}", args="Ada")
        self.assertEqual((answer["id"], answer["display"]), ("1", "Hello, Ada!"))

    def test_tool(self):
        answer = self.ask(type="tool_call", id="2", name="{{word}}_greet", args={"name": "Ada"})
        self.assertEqual(answer["content"], [{"type": "text", "text": "Hello, Ada!"}])

    def test_tool_with_wrong_arguments(self):
        answer = self.ask(type="tool_call", id="3", name="{{word}}_greet", args={})
        self.assertTrue(answer["is_error"])

    def test_ignores_what_it_does_not_know(self):
        self.send(type="of_a_later_version")
        self.test_command()


if __name__ == "__main__":
    unittest.main()
