"""Makes the packages importable from the source tree, and runs extensions as programs."""

import os
import pathlib
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))
# Text printed before `run` must still be in the buffer when `run` is called.
os.environ.pop("PYTHONUNBUFFERED", None)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))

from zot_ext.testing import Host, HostError  # noqa: E402,F401


class ProgramTest(unittest.TestCase):
    """Runs extensions as processes; their standard error is in `log`."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def program(self, source, *flags, ready=True):
        """Starts a script through a shell, which redirects its standard error to a file."""
        script = self.directory / "extension.py"
        script.write_text(textwrap.dedent(source), encoding="utf-8")
        python = " ".join([sys.executable, *flags])
        host = Host(["sh", "-c", f"exec {python} extension.py 2>log"], extension_dir=str(self.directory))
        self.addCleanup(host.close)
        host.start()
        if ready:
            host.wait_for(lambda: host.ready, "ready")
        return host

    @property
    def log(self):
        return (self.directory / "log").read_text(encoding="utf-8")
