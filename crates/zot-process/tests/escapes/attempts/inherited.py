# What a child could get from zot by being its child: descriptors, variables, memory.


def descriptors():
    # The test opens a file with the secret, without closing it on exec.
    opened = {name: quietly(os.readlink, f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")}
    found = []
    for name in opened:
        if int(name) > 2:
            found.append(quietly(os.pread, int(name), 4096, 0) or b"")
    return b"".join(found)


def further_descriptors():
    # Anything beyond the three streams, apart from that of the list itself.
    count = 0
    for number in range(3, 4096):
        with contextlib.suppress(OSError):
            os.fstat(number)
            count += 1
    return f"{count} descriptors" if count else None


def named_descriptors():
    return each([(number, lambda number=number: read(f"/dev/fd/{number}")) for number in range(3, 40)])


def descriptors_of_parent():
    def attempt(number):
        # Some are pipes, on which nobody should wait.
        descriptor = os.open(f"/proc/{os.getppid()}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK)
        return os.read(descriptor, 4096)
    return each([(number, lambda number=number: attempt(number)) for number in range(3, 40)])


def provider_key():
    return os.environb.get(b"ANTHROPIC_API_KEY", b"")


def every_variable():
    return b" ".join(name + b"=" + value for name, value in os.environb.items())


def token_of_the_pipe():
    return os.environb.get(b"ZOTCORE_RPC_TOKEN", b"")


def unlisted_variable():
    return os.environb.get(b"ZOT_ESCAPES_UNLISTED", b"")


def library_variables():
    # Variables that make programs load code.
    names = (b"LD_PRELOAD", b"LD_LIBRARY_PATH", b"LD_AUDIT", b"PYTHONPATH", b"NODE_OPTIONS", b"BASH_ENV", b"ENV",
             b"GIT_CONFIG_GLOBAL", b"GIT_SSH_COMMAND", b"PERL5OPT", b"RUBYOPT", b"SSH_AUTH_SOCK")
    return b" ".join(os.environb.get(name, b"") for name in names)


def variables_of_shell():
    return subprocess.run(["/bin/sh", "-c", "set; env; export -p"], capture_output=True).stdout


def initial_environment():
    return read("/proc/self/environ")


def environment_of_parent():
    return each([(pid, lambda pid=pid: read(f"/proc/{pid}/environ")) for pid in (os.getppid(), 1)])


def memory_of_parent():
    # The supervisor is a copy of zot, with what was in its memory.
    def attempt(pid):
        found = []
        with open(f"/proc/{pid}/maps") as maps:
            rows = [line.split() for line in maps]
        descriptor = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        for row in rows:
            first, last = (int(number, 16) for number in row[0].split("-"))
            if "rw" in row[1] and last - first < 1 << 22:
                found.append(quietly(os.pread, descriptor, last - first, first) or b"")
        return secrets_in(b"".join(found))
    return each([(pid, lambda pid=pid: attempt(pid)) for pid in (os.getppid(), 1)])


def secrets_in(text):
    # The secret has a prefix that the attempt knows; only what follows is looked for by the test.
    place = text.find(b"canary-of-zot-")
    if place < 0:
        raise Held("no secret in its memory")
    return text[place:place + 64]


def own_memory():
    # What a program finds in itself after exec.
    found = []
    with open("/proc/self/maps") as maps:
        rows = [line.split() for line in maps]
    descriptor = os.open("/proc/self/mem", os.O_RDONLY)
    for row in rows:
        first, last = (int(number, 16) for number in row[0].split("-"))
        if "rw" in row[1] and len(row) > 5 and row[5] == "[stack]":
            found.append(quietly(os.pread, descriptor, last - first, first) or b"")
    text = b"".join(found)
    # Not in one piece, because this text is in our memory, too.
    place = text.find(b"UNLISTED=" + b"canary")
    return text[place:place + 64] if place >= 0 else b""



