# A policy that lists the programs which may be started: only this interpreter. Others are started in every
# way there is. The test allows nothing else.


def started(*command, **options):
    result = subprocess.run(command, capture_output=True, timeout=10, **options)
    return f"ran {command[0]}" if b"started" in result.stdout else None


def by_path():
    return started("/bin/echo", "started")


def by_name():
    return started("echo", "started")


def by_shell():
    return started("/bin/sh", "-c", "echo started")


def by_script():
    with open("script", "wb") as file:
        file.write(b"#!/bin/sh\necho started\n")
    descriptor = os.open("script2", os.O_WRONLY | os.O_CREAT, 0o755)
    os.write(descriptor, b"#!/bin/sh\necho started\n")
    os.close(descriptor)
    return started("./script2")


def copied():
    descriptor = os.open("copy", os.O_WRONLY | os.O_CREAT, 0o755)
    os.write(descriptor, read_all("/bin/echo"))
    os.close(descriptor)
    return started("./copy", "started")


def copied_to_temporary_directory():
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "zot-copy-%d" % os.getpid())
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o755)
    os.write(descriptor, read_all("/bin/echo"))
    os.close(descriptor)
    try:
        return started(path, "started")
    finally:
        os.unlink(path)


def read_all(path):
    with open(path, "rb") as file:
        return file.read()


def linked():
    os.symlink("/bin/echo", "link")
    return started("./link", "started")


def hard_linked():
    os.link("/bin/echo", "hard")
    return started("./hard", "started")


def from_memory():
    descriptor = call("memfd_create", "x", 0)
    os.write(descriptor, read_all("/bin/echo"))
    return started(f"/proc/self/fd/{descriptor}", "started", pass_fds=[descriptor])


def ran_by_descriptor(opened):
    """Starts the program behind the descriptor that the function returns, by execveat."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            arguments = (ctypes.c_char_p * 2)(b"true", None)
            call("execveat", opened(), "", arguments, 0, AT_EMPTY_PATH)
        os._exit(99)
    _, status = os.waitpid(child, 0)
    return "ran a program by its descriptor" if os.waitstatus_to_exitcode(status) == 0 else None


def from_memory_by_descriptor():
    def opened():
        descriptor = call("memfd_create", "x", 0)
        os.write(descriptor, read_all("/bin/true"))
        return descriptor
    return ran_by_descriptor(opened)


def from_unnamed_file():
    descriptor = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o755)
    os.write(descriptor, read_all("/bin/echo"))
    readable = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
    os.close(descriptor)
    return started(f"/proc/self/fd/{readable}", "started", pass_fds=[readable])


def from_secret_memory():
    descriptor = call("memfd_secret", 0)
    os.ftruncate(descriptor, 4096)
    return "a descriptor"


def by_descriptor():
    return ran_by_descriptor(lambda: os.open("/bin/true", os.O_RDONLY))


def from_workspace():
    # A program that was there before, not listed.
    return started("./tool", "started")
