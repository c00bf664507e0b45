"""An extension that may start nothing tries to start programs that have no path it could be kept from."""
import ctypes
import os
import sys

call = ctypes.CDLL(None, use_errno=True).syscall
x86 = os.uname().machine == "x86_64"
MEMFD_CREATE, EXECVEAT = (319, 322) if x86 else (279, 281)


def program():
    with open("/bin/true", "rb") as file:
        return file.read()


def in_memory(flags):
    descriptor = call(MEMFD_CREATE, b"x", flags)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "memfd_create")
    os.write(descriptor, program())
    os.fchmod(descriptor, 0o755)
    again = os.open("/proc/self/fd/%d" % descriptor, os.O_RDONLY)
    os.close(descriptor)
    return again


WAYS = {
    "memory": lambda: in_memory(0),
    "memory-executable": lambda: in_memory(16),
    "memory-sealed": lambda: in_memory(8),
    "opened": lambda: os.open("/bin/true", os.O_RDONLY),
}
HOW = {
    "execveat": lambda fd: call(EXECVEAT, fd, b"", (ctypes.c_char_p * 2)(b"true", None), None, 0x1000),
    "fexecve": lambda fd: os.execve(fd, ["true"], {}),
    "proc": lambda fd: os.execv("/proc/self/fd/%d" % fd, ["true"]),
}
with open(sys.argv[1], "w") as report:
    for way, make in WAYS.items():
        for how, start in HOW.items():
            child = os.fork()
            if child == 0:
                try:
                    start(make())
                except OSError:
                    pass
                os._exit(77)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            print("started" if code == 0 else "held", way, how, file=report)
    print("end", file=report)
