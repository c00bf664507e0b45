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
        (at(project, "tape"), ["zot", "-p", "--cassette", at(project, "tape"), "hello"]),
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
            if kind is None and command[0] == "glasspane":
                continue  # It would be served: the kernel calls it a regular file.
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


# ---- a full disk --------------------------------------------------------------------------------


def limited(bytes_per_file):
    """Files end at this size, as on a full disk: the write that crosses it is cut off and fails."""
    import resource

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_per_file, bytes_per_file))

    return limit


def lines_of(path):
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        return file.read().split(b"\n")


def full_disk(place):
    """The disk fills up at every place of a prompt with tools; then there is room again."""
    session = place.path("project", "s.jsonl")
    prompts = ["write a.txt: one", "read a.txt", "say hello"]
    commands = b"".join(
        json.dumps({"id": str(number), "type": "prompt", "message": text}).encode() + b"\n"
        for number, text in enumerate(prompts)
    )
    command = ["zot", "rpc", "--provider", "offline", "--session", session]
    for name in ("s.jsonl", "a.txt"):
        remove(place.path("project", name))
    place.run(command, commands)
    whole = os.path.getsize(session)
    runs = failed = told_count = 0
    for size in range(0, whole, max(1, whole // 40)):
        for name in ("s.jsonl", "s.files", "a.txt"):
            remove(place.path("project", name))
        code, out, err, _ = place.run(command, commands, preexec_fn=limited(size))
        runs += 1
        failed += '"type":"error"' in out or code != 0
        lines = lines_of(session)
        if lines and lines[-1] != b"":
            raise Broken(f"half a record was left at the end of the file ({size} bytes)")
        text = b"\n".join(lines).decode()
        for line in out.splitlines():
            event = json.loads(line)
            words = []
            if event.get("type") == "assistant_message":
                words = [block.get("text", "") for block in event["content"]]
            elif event.get("type") == "tool_result":
                content = event.get("content") or []
                words = [block.get("text", "") for block in content]
            for word in filter(None, words):
                told_count += 1
                if json.dumps(word)[1:-1] not in text and json.dumps(word, ensure_ascii=False)[1:-1] not in text:
                    raise Broken(f"told, but not in the file of {size} bytes: {word!r}")
        # There is room again: the session is gone on with, if it was begun.
        if os.path.exists(session):
            code, out, err, _ = place.run(["zot", *OFFLINE, "--session", session, "say hello"])
            if code != 0 or "damaged" in err or "not a record" in err:
                raise Broken(f"the session of {size} bytes cannot be gone on with: {err}")
    return f"{runs} sizes of disk, {failed} prompts failed, {told_count} messages reported, all of them in the file"


# ---- who may look -------------------------------------------------------------------------------


def environment_token(place):
    """The secret of the pipe, and who can read it in /proc, root included."""
    secret = "s3cret-of-the-pipe"
    process = place.start(
        ["zot", "rpc", "--provider", "offline"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=place.environment(ZOTCORE_RPC_TOKEN=secret),
    )
    hello = json.dumps({"id": "1", "type": "hello", "token": secret}).encode() + b"\n"
    process.stdin.write(hello)
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    if not answer.get("success"):
        raise Broken(f"the token is not taken: {answer}")
    try:
        with open(f"/proc/{process.pid}/environ", "rb") as file:
            shown = file.read()
    except PermissionError:
        return "the environment cannot be read at all"
    if secret.encode() in shown:
        raise Broken("the token can be read in /proc/PID/environ")
    return f"{len(shown)} bytes of environment, the token not among them"


def private_files(place):
    """What zino, zot and Glasspane write when the mask of the process leaves everything open."""
    opened = lambda: os.umask(0)
    code, out, err, _ = place.run(["zot", *OFFLINE, "write a.txt: one"], preexec_fn=opened)
    checked = 0
    for root, directories, files in os.walk(place.zot_home):
        for name in directories + files:
            mode = stat.S_IMODE(os.lstat(os.path.join(root, name)).st_mode)
            checked += 1
            if mode & 0o077:
                raise Broken(f"{os.path.join(root, name)} has mode {mode:o}")
    zino = place.directory("zino")
    place.run(["zino", "init", zino], cwd=zino)
    config = os.path.join(zino, "ZINO.toml")
    if os.path.exists(config):
        daemon = place.start(
            ["zino", "up", "--config", config],
            cwd=zino,
            preexec_fn=opened,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        data = zino_sockets(zino)
        wait_for(lambda: len(zino_sockets(zino)) >= 7 or daemon.poll() is not None, "zino's sockets")
        place.run(["zino", "cli", "--config", config, "-n", "-ch", "c", "hello"], cwd=zino)
        for root, directories, files in os.walk(zino):
            for name in directories + files:
                path = os.path.join(root, name)
                mode = stat.S_IMODE(os.lstat(path).st_mode)
                if stat.S_ISSOCK(os.lstat(path).st_mode):
                    checked += 1
                    if mode & 0o007:
                        raise Broken(f"the socket {path} has mode {mode:o}")
                elif "/data/" in path + "/" or "memor" in path or "history" in path:
                    checked += 1
                    if mode & 0o077:
                        raise Broken(f"{path} has mode {mode:o}")
        daemon.terminate()
        daemon.wait(PATIENCE)
    return f"{checked} files, directories and sockets under umask 0, none of them open to others"


def zino_sockets(directory):
    found = []
    for root, _, files in os.walk(directory):
        for name in files:
            if stat.S_ISSOCK(os.lstat(os.path.join(root, name)).st_mode):
                found.append(os.path.join(root, name))
    return found


def wait_for(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise Broken(f"{what}: not within {PATIENCE} s")
        time.sleep(0.05)


def mention_links(place):
    """@link in a prompt, to a file outside of the project."""
    secret = place.path("secret.txt")
    write(secret, "the secret outside")
    os.symlink(secret, place.path("project", "link"))
    os.symlink(place.root, place.path("project", "directory"))
    tries = 0
    for flags in ([], ["--jail"]):
        for mention in ("@link", "@directory/secret.txt", "@./link"):
            session = place.path("project", "m.jsonl")
            remove(session)
            place.run(["zot", *OFFLINE, *flags, "--session", session, f"say {mention}"])
            tries += 1
            if "the secret outside" in read(session):
                raise Broken(f"{mention} shows the model a file from outside ({flags})")
    return f"{tries} mentions through links, nothing attached"


def scratch(place):
    """What a run leaves that was killed: the next one removes it."""
    temporary = place.directory("tmp")
    process = place.start(
        ["zot", "rpc", "--jail", "--provider", "offline"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    prompt = {"id": "1", "type": "prompt", "message": "run: touch \"$TMPDIR/x\"; sleep 100"}
    process.stdin.write(json.dumps(prompt).encode() + b"\n")
    process.stdin.flush()
    left = lambda: [name for name in os.listdir(temporary) if name.startswith("zot-")]
    wait_for(left, "a scratch directory")
    process.kill()
    process.wait()
    abandoned = len(left())
    outside = place.directory("outside")
    write(os.path.join(outside, "precious"), "x")
    os.symlink(outside, os.path.join(temporary, "zot-jail-planted"))
    place.run(["zot", *OFFLINE, "hello"])
    names = [name for name in left() if name != "zot-jail-planted"]
    if names:
        raise Broken(f"still there after the next start: {names}")
    if not os.path.exists(os.path.join(outside, "precious")):
        raise Broken("a planted link was followed")
    return f"{abandoned} abandoned directory swept, a planted link left alone"


# ---- who does not answer ------------------------------------------------------------------------


def unread_output(place):
    """Standard input is closed while nobody reads standard output, which is kept open."""
    reader, writer = os.pipe()
    process = place.start(
        ["zot", "rpc", "--provider", "offline"],
        stdin=subprocess.PIPE,
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    try:
        flood = json.dumps({"id": "x" * 1000, "type": "ping"}).encode() + b"\n"
        os.set_blocking(process.stdin.fileno(), False)
        sent, stuck = 0, 0
        while sent < 8 << 20 and stuck < 20:
            try:
                sent += os.write(process.stdin.fileno(), flood * 16)
                stuck = 0
            except BlockingIOError:
                stuck += 1
                time.sleep(0.05)
        process.stdin.close()
        process.stdin = None
        began = time.monotonic()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            raise Broken("zot rpc did not end within 60 s")
        return f"ended {time.monotonic() - began:.0f} s after its input, {sent >> 20} MiB of commands unanswered"
    finally:
        os.close(reader)


def half_open(place):
    """Connections to Glasspane that send nothing, or half a request."""
    server = place.start(
        ["glasspane", "serve", "--listen", "127.0.0.1:0", "--socket", place.path("run", "g.sock")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    place.directory("run")
    url = server.stdout.readline().decode().strip()
    port = int(url.split(":")[2].split("/")[0])
    path = "/" + url.split("/", 3)[3]
    held = []
    slowest = 0
    try:
        for number in range(300):
            half = socket.create_connection(("127.0.0.1", port))
            if number % 2:
                half.sendall(b"GET / HTTP/1.1\r\nHost:")
            held.append(half)
            silent = socket.socket(socket.AF_UNIX)
            silent.connect(place.path("run", "g.sock"))
            if number % 2:
                silent.sendall(b'{"glasspane":')
            held.append(silent)
        for _ in range(10):
            began = time.monotonic()
            client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            client.sendall(
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
            )
            answer = client.recv(64)
            client.close()
            slowest = max(slowest, time.monotonic() - began)
            if b" 200 " not in answer:
                raise Broken(f"a real client got {answer!r}")
        agent = socket.socket(socket.AF_UNIX)
        agent.settimeout(PATIENCE)
        agent.connect(place.path("run", "g.sock"))
        agent.sendall(b'{"glasspane":"watch"}\n')
        if not agent.recv(1):
            raise Broken("a watcher on the socket is not served")
        agent.close()
    finally:
        for connection in held:
            connection.close()
    return f"600 half-open connections, ten real requests answered, the slowest in {slowest * 1000:.0f} ms"


ATTACKS = {
    "undo": undo,
    "special-files": special_files,
    "full-disk": full_disk,
    "environment-token": environment_token,
    "private-files": private_files,
    "mention-links": mention_links,
    "scratch": scratch,
    "unread-output": unread_output,
    "half-open": half_open,
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
