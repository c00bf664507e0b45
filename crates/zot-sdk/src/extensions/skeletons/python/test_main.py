"""Run with: python3 -m unittest"""
import pathlib
import unittest

from main import ext
from zot_ext.testing import Host


class Extension(unittest.TestCase):
    def test_command(self):
        with Host(ext) as host:
            self.assertEqual(host.invoke("{{word}}", "Ada").text, "Hello, Ada!")
            self.assertEqual(host.invoke("{{word}}").text, "Hello, world!")

    def test_tool(self):
        with Host(ext) as host:
            self.assertEqual(host.call_tool("{{word}}_greet", name="Ada").text, "Hello, Ada!")
            self.assertTrue(host.call_tool("{{word}}_greet").is_error)

    def test_the_program_of_the_manifest_starts_and_ends(self):
        with Host(pathlib.Path(__file__).parent) as host:
            self.assertEqual(host.hello["name"], "{{name}}")
            self.assertEqual(host.shutdown(), 0)


if __name__ == "__main__":
    unittest.main()
