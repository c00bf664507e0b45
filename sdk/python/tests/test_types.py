"""The packages and the bench script under mypy --strict, where mypy is installed."""

import importlib.util
import subprocess
import sys
import unittest

from support import ROOT


@unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed: pip install mypy")
class Types(unittest.TestCase):
    def test_strict(self):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "--cache-dir=/dev/null"],
            cwd=str(ROOT),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
