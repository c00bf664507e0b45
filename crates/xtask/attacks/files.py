"""Attacks through files and sockets. Usage: python3 files.py NAME DIRECTORY-OF-PROGRAMS

Prints one line of JSON: {"held": true, "figure": "..."} or {"held": false, "figure": "how"}.
Uses a temporary directory and loopback only, and ends what it started.
"""

import json
import os
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

PATIENCE = 30  # The longest that a program may take on a loaded machine before it counts as hanging.


class Broken(Exception):
    pass


class Place:
    """A home, a project and the programs."""

    def __init__(self, programs):
        self.programs = programs
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="zot-attack-"))
        self.home = self.path("home")
        self.zot_home = self.path("home", ".zot")
        self.project = self.path("project")
        for directory in (self.home, self.zot_home, self.project):
            os.mkdir(directory, 0o700)
        self.started = []

    def path(self, *names):
        return os.path.join(self.root, *names)

    def environment(self, **more):
        return {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": self.home,
            "ZOT_HOME": self.zot_home,
            "TMPDIR": self.directory("tmp"),
            "XDG_RUNTIME_DIR": self.directory("run"),
            **more,
        }

    def directory(self, name):
        path = self.path(name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path

    def start(self, arguments, **options):
        program = os.path.join(self.programs, arguments[0])
        options.setdefault("cwd", self.project)
        options.setdefault("env", self.environment())
        process = subprocess.Popen([program, *arguments[1:]], **options)
        self.started.append(process)
        return process

    def run(self, arguments, stdin=b"", **options):
        """Exit code, output, errors and seconds; no end in time is a broken promise."""
        began = time.monotonic()
        process = self.start(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )
        try:
            out, err = process.communicate(stdin, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise Broken(f"{' '.join(arguments)} did not end in {PATIENCE} s")
        text = lambda data: data.decode(errors="replace")
        return process.returncode, text(out), text(err), time.monotonic() - began

    def clear(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    try:
                        stream.close()
                    except OSError:
                        pass
        shutil.rmtree(self.root, ignore_errors=True)


def write(path, text=""):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path) as file:
        return file.read()


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


OFFLINE = ["-p", "--provider", "offline"]


# ---- undo ---------------------------------------------------------------------------------------


def undo(place):
    """Links planted after a change, in place of the file, its directory, or a name of another file."""
    outside = place.directory("outside")

    def to_link(path, victim):
        os.remove(path)
        os.symlink(victim, path)

    def to_hard_link(path, victim):
        os.remove(path)
        os.link(victim, path)

    def parent_to_link(path, victim):
        directory = os.path.dirname(path)
        os.rename(directory, directory + ".moved")
        os.symlink(os.path.dirname(victim), directory)

    def grandparent_to_link(path, victim):
        directory = os.path.dirname(os.path.dirname(path))
        os.rename(directory, directory + ".moved")
        os.makedirs(os.path.join(outside, "deep"), exist_ok=True)
        os.replace(victim, os.path.join(outside, "deep", os.path.basename(victim)))
        os.symlink(outside, directory)

    attempts = refused = 0
    for plant in (to_link, to_hard_link, parent_to_link, grandparent_to_link):
        for existed in (True, False):
            for same_content in (True, False):
                for force in (False, True):
                    remove(place.project)
                    remove(outside)
                    os.makedirs(os.path.join(place.project, "top", "deep"))
                    os.mkdir(outside)
                    path = os.path.join(place.project, "top", "deep", "f.txt")
                    if existed:
                        write(path, "before")
                    code, out, err, _ = place.run(["zot", *OFFLINE, "write top/deep/f.txt: after"])
                    if code != 0 or read(path) != "after":
                        raise RuntimeError(f"the change was not made: {out}{err}")
                    victim = os.path.join(outside, "f.txt")
                    content = "after" if same_content else "precious"
                    write(victim, content)
                    plant(path, victim)
                    if not os.path.exists(victim):
                        victim = os.path.join(outside, "deep", "f.txt")
                    flags = ["--force"] if force else []
                    code, out, err, _ = place.run(["zot", "sessions", "undo", *flags])
                    attempts += 1
                    if not os.path.exists(victim):
                        raise Broken(f"undo removed a file outside ({plant.__name__})")
                    if read(victim) != content:
                        raise Broken(f"undo overwrote a file outside ({plant.__name__})")
                    refused += code != 0
                    shutil.rmtree(os.path.join(place.zot_home, "sessions"))
    return f"{attempts} undos with planted links, {refused} refused, no file outside touched"


# ---- files that are none ------------------------------------------------------------------------


def make_pipe(path):
    os.mkfifo(path)


def make_device(path):
    os.symlink("/dev/zero", path)


def make_socket(path):
    # The path of a socket must be short.
    before = os.getcwd()
    os.chdir(os.path.dirname(path))
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(os.path.basename(path))
    finally:
        os.chdir(before)
        listener.close()


def make_kernel_file(path):
    os.symlink("/proc/kmsg", path)


KINDS = {
    "a named pipe": make_pipe,
    "a device": make_device,
    "a socket": make_socket,
    "a directory": os.mkdir,
}


def special_files(place):
    """Everything that the programs open by a path, as a pipe, a device, a socket and a directory."""
    home, project = place.zot_home, place.project
    at = os.path.join
    zot = lambda *arguments: ["zot", *OFFLINE, *arguments, "hello"]
    # The file, the command that opens it, and whether it must be named for every kind.
    cases = [
        (at(home, "models.json"), zot()),
        (at(home, "providers.json"), zot()),
        (at(home, "config.json"), zot()),
        (at(project, ".zot", "config.json"), zot()),
        (at(home, "SYSTEM.md"), zot()),
        (at(project, "AGENTS.md"), ["zot", "context"]),
        (at(home, "skills", "one", "SKILL.md"), ["zot", "skills", "list"]),
        (at(project, "s.jsonl"), zot("--session", at(project, "s.jsonl"))),
        (at(project, "s.jsonl"), zot("--resume", at(project, "s.jsonl"))),
        (at(project, "s.jsonl"), ["zot", "sessions", "show", at(project, "s.jsonl")]),
        (at(project, "s.jsonl"), ["zot", "sessions", "import", at(project, "s.jsonl")]),
        (at(home, "sessions", "index.jsonl"), ["zot", "sessions", "list"]),
        (at(project, "tape"), zot("--replay", at(project, "tape"))),
        (at(project, "tape"), zot("--record", at(project, "tape"))),
        (at(project, "tape"), ["zot", "cassette", "show", at(project, "tape")]),
        (at(project, "ext", "extension.json"), zot("--ext", at(project, "ext"))),
        (at(project, "log.jsonl"), ["glasspane", "serve", "--replay", at(project, "log.jsonl")]),
        (at(project, "ZINO.toml"), ["zino", "check", "--config", at(project, "ZINO.toml")]),
    ]
    slowest, count = 0, 0
    for path, command in cases:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for kind, make in [*KINDS.items(), (None, make_kernel_file)]:
            remove(path)
            make(path)
            code, out, err, seconds = place.run(command)
            slowest, count = max(slowest, seconds), count + 1
            told = out + err
            # A project's file that is a link to a device is refused for being such a link.
            named = kind in told or "link that leads out" in told if kind else True
            if not named or (kind and os.path.basename(path) not in told):
                # A directory of that name can be meant, or be nothing at all.
                if kind != "a directory":
                    raise Broken(f"{path} as {kind} is not named by {' '.join(command)}: {told}")
            remove(path)
    # auth.json is opened when a key is looked for.
    for kind, make in KINDS.items():
        path = at(home, "auth.json")
        make(path)
        code, out, err, seconds = place.run(["zot", "-p", "--provider", "openai", "hello"])
        if code == 0 or "auth.json" not in err or kind not in err:
            raise Broken(f"auth.json as {kind} is not named: {err}")
        slowest, count = max(slowest, seconds), count + 1
        remove(path)
    return f"{count} files that are none, each refused by name, the slowest in {slowest:.1f} s"


ATTACKS = {
    "undo": undo,
    "special-files": special_files,
}


def main():
    name, programs = sys.argv[1], sys.argv[2]
    place = Place(programs)
    try:
        print(json.dumps({"held": True, "figure": ATTACKS[name](place)}))
    except Broken as error:
        print(json.dumps({"held": False, "figure": str(error)}))
    finally:
        place.clear()


if __name__ == "__main__":
    main()
