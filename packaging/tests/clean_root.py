"""A root file system that holds only what is put into it, and a new user with an empty home in it."""

from __future__ import annotations

import os
import pathlib
import shlex
import shutil
import subprocess
import tempfile

HOME = "/home/ada"
ENVIRONMENT = {"HOME": HOME, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
DEVICES = ("null", "zero", "random", "urandom", "tty")
# In the root these paths are links into /usr, as on most systems today.
MERGED = ("bin", "sbin", "lib", "lib64")


def has_namespaces() -> bool:
    """Whether this user may create the namespaces that a root needs."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "true"]
    return shutil.which("unshare") is not None and subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


class CleanRoot:
    """Runs commands as a user of its own, in a root with its own process ids, without the host's files."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="zot-root-")
        self.path = pathlib.Path(self._directory.name)
        self._binds: list[str] = []
        for name in ("dev", "proc", "tmp", "etc", "usr/bin", HOME[1:], *(f"usr/{name}" for name in MERGED)):
            (self.path / name).mkdir(parents=True, exist_ok=True)
        for name in MERGED:
            (self.path / name).symlink_to(f"usr/{name}")
        (self.path / "etc/passwd").write_text(f"ada:x:1000:1000::{HOME}:/bin/sh\n")
        for name in DEVICES:
            (self.path / "dev" / name).touch()

    def close(self) -> None:
        self._directory.cleanup()

    def bind(self, *paths: str) -> None:
        """Shows directories of the host, read-only, at the same path."""
        for path in paths:
            target = self.path / path.lstrip("/")
            if target.resolve() == target or not target.exists():
                target.mkdir(parents=True, exist_ok=True)
            self._binds.append(path)

    def copy_libraries(self, *programs: pathlib.Path) -> None:
        """Copies the shared libraries that programs need; static ones need none."""
        for program in programs:
            listed = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            for word in listed.split():
                if word.startswith("/"):
                    self._copy(pathlib.Path(word))

    def copy_programs(self, *names: str) -> None:
        """Copies programs of the host with their libraries."""
        for name in names:
            program = pathlib.Path(shutil.which(name) or name)
            self._copy(program)
            self.copy_libraries(program)

    def run(self, *command: str, cwd: str = HOME, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        mounts = [f"mount --rbind /proc {shlex.quote(str(self.path / 'proc'))}"]
        mounts += [f"mount --bind /dev/{name} {shlex.quote(str(self.path / 'dev' / name))}" for name in DEVICES]
        for path in self._binds:
            target = shlex.quote(str(self.path / path.lstrip("/")))
            mounts += [f"mount --rbind {shlex.quote(path)} {target}", f"mount -o remount,bind,ro {target} 2>/dev/null || true"]
        enter = ["unshare", "--user", "--map-user=1000", "--map-group=1000", f"--root={self.path}", f"--wd={cwd}"]
        script = " && ".join([*mounts, "exec " + shlex.join([*enter, "--", *command])])
        outside = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script]
        return subprocess.run(
            outside, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout
        )

    def _copy(self, source: pathlib.Path) -> None:
        target = self.path / os.path.realpath(source).lstrip("/")
        named = self.path / str(source).lstrip("/")
        for path in {target, named}:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                shutil.copy2(source, path)
