"""Tries to act on every process by its number; prints how many outside were reached."""
import ctypes
import errno
import os

call = ctypes.CDLL(None, use_errno=True).syscall
x86 = os.uname().machine == "x86_64"
buffer = ctypes.create_string_buffer(256)
pointer = ctypes.addressof(buffer)
vector = (ctypes.c_size_t * 2)(pointer, 1)
pieces = ctypes.addressof(vector)
DENIED = (errno.EPERM, errno.EACCES, errno.ESRCH)
CALLS = {
    "kill": lambda pid: (62 if x86 else 129, pid, 0),
    "prlimit": lambda pid: (302 if x86 else 261, pid, 4, 0, pointer),
    "setpriority": lambda pid: (141 if x86 else 140, 0, pid, 19),
    "ioprio_set": lambda pid: (251 if x86 else 30, 1, pid, 0),
    "process_vm_readv": lambda pid: (310 if x86 else 270, pid, pieces, 1, pieces, 1, 0),
    "ptrace": lambda pid: (101 if x86 else 117, 0x4206, pid, 0, 0),
    "migrate_pages": lambda pid: (256 if x86 else 238, pid, 0, 0, 0),
}
# The first process of a PID namespace belongs to whoever is in it.
own = {os.getpid(), os.getppid(), os.getpgid(0)}
if os.readlink("/proc/self") == str(os.getpid()) and len([p for p in os.listdir("/proc") if p.isdigit()]) < 10:
    own.add(1)
reached = set()
for pid in range(1, 70000):
    if pid in own:
        continue
    for name, arguments in CALLS.items():
        done = call(*map(ctypes.c_long, arguments(pid)))
        if done >= 0 or ctypes.get_errno() not in DENIED:
            reached.add((pid, name))
print("reached=%d" % len({pid for pid, _ in reached}), sorted(reached)[:5])
