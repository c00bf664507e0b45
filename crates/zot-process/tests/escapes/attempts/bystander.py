# A process of the same user outside of the sandbox: it has a secret in its memory, its environment, its
# descriptors and everything that processes share, listens wherever one can listen, and reports what was
# done to it. It prints facts, then answers each line of input with its state; the test compares them.
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import termios

directory, secret, internet = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
machine = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
key_calls = {"add_key": (248, 217), "keyctl": (250, 219)}
facts = {"pid": os.getpid()}
contacts = []
received = []


def note(number, _frame):
    received.append(signal.Signals(number).name)


for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGIO, signal.SIGCONT,
               signal.SIGURG, signal.SIGRTMIN):
    signal.signal(number, note)

# Memory.
cell = ctypes.create_string_buffer(secret.encode() + bytes(64))
facts["address"] = ctypes.addressof(cell)
facts["length"] = len(secret)

# A descriptor of a file with the secret.
with open(os.path.join(directory, "held-open"), "w+b", buffering=0) as file:
    file.write(secret.encode())
    os.dup2(file.fileno(), 77)
os.unlink(os.path.join(directory, "held-open"))
facts["descriptor"] = 77

listeners = {}


def listen(name, family, kind, address):
    try:
        opened = socket.socket(family, kind)
        opened.bind(address)
        if kind != socket.SOCK_DGRAM:
            opened.listen(64)
    except OSError:
        return None
    opened.setblocking(False)
    listeners[name] = opened
    return opened.getsockname()


def port(name, family, kind, host):
    address = listen(name, family, kind, (host, 0))
    facts[name] = address[1] if address else None


port("tcp4", socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1")
port("tcp6", socket.AF_INET6, socket.SOCK_STREAM, "::1")
port("udp4", socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.1")
port("udp6", socket.AF_INET6, socket.SOCK_DGRAM, "::1")
# The address of this machine on its network, if it has one; nothing is sent to find it.
facts["host"] = None
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    probe.connect(("198.51.100.1", 9))
    facts["host"] = probe.getsockname()[0]
    port("tcp_host", socket.AF_INET, socket.SOCK_STREAM, facts["host"])
except OSError:
    pass
probe.close()
if internet == "Small":
    # Hosts that no attempt may reach: public, private, the metadata service, a port that is not allowed.
    for address, number in (("93.184.215.15", 80), ("2606:2800:21f::15", 80), ("10.1.2.3", 80), ("fd00::1", 80),
                            ("169.254.169.254", 80), ("127.0.0.1", 80), ("93.184.215.14", 8080)):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        if not listen(f"{address} {number}", family, socket.SOCK_STREAM, (address, number)):
            sys.exit(f"cannot listen on {address} {number}")
abstract = "zot-escapes-%d" % os.getpid()
facts["abstract"] = abstract
listen("abstract stream", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract)
listen("abstract datagram", socket.AF_UNIX, socket.SOCK_DGRAM, "\0" + abstract + "-datagram")
listen("abstract packets", socket.AF_UNIX, socket.SOCK_SEQPACKET, "\0" + abstract + "-packets")
for place in ("outside", "readable", "home"):
    listen(place + " stream", socket.AF_UNIX, socket.SOCK_STREAM, os.path.join(directory, place, "stream.socket"))
    listen(place + " datagram", socket.AF_UNIX, socket.SOCK_DGRAM, os.path.join(directory, place, "datagram.socket"))

# System V objects and POSIX queues.
libc.shmat.restype = ctypes.c_void_p
shared = libc.shmget(0x5A000000 | os.getpid(), 4096, 0o1600)
memory = libc.shmat(shared, None, 0)
ctypes.memmove(memory, secret.encode() + b"\0", len(secret) + 1)
facts["shm_key"], facts["shm"] = 0x5A000000 | os.getpid(), shared
queue = libc.msgget(0x5A000000 | os.getpid(), 0o1600)
message = struct.pack("l", 1) + secret.encode()
libc.msgsnd(queue, message, len(secret), 0)
facts["msg"] = queue
semaphore = libc.semget(0x5A000000 | os.getpid(), 1, 0o1600)
libc.semctl(semaphore, 0, 16, 1)
facts["sem"] = semaphore
real_time = ctypes.CDLL("librt.so.1", use_errno=True) if not hasattr(libc, "mq_open") else libc
name = b"/zot-escapes-%d" % os.getpid()
posix = real_time.mq_open(name, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600, None)
real_time.mq_send(posix, secret.encode(), len(secret), 1)
facts["mq"] = name.decode()
in_memory = "/dev/shm/zot-escapes-%d" % os.getpid()
with open(in_memory, "w") as file:
    file.write(secret)
facts["shm_file"] = in_memory


def key_call(name, *arguments):
    return libc.syscall(key_calls[name][machine], *arguments)


# A key in the keyring of the user, which every process of the user can search; -4 names it.
description = b"zot-escapes-%d" % os.getpid()
key = key_call("add_key", b"user", description, secret.encode(), len(secret), ctypes.c_long(-4))
facts["key"] = key if key > 0 else None
facts["key_description"] = description.decode()

# A terminal.
master, slave = os.openpty()
facts["terminal"] = os.ttyname(slave)
attributes = termios.tcgetattr(slave)
attributes[3] &= ~(termios.ICANON | termios.ECHO)
termios.tcsetattr(slave, termios.TCSANOW, attributes)
os.set_blocking(slave, False)
os.set_blocking(master, False)


# Handles, which name files and processes without a path.
def handle(path, descriptor=-100, flags=0):
    buffer = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    number = (303, 264)[machine]
    if libc.syscall(number, descriptor, path, buffer, ctypes.byref(mount), flags) < 0:
        return None
    length, kind = struct.unpack_from("Ii", buffer)
    return [kind, buffer.raw[8:8 + length].hex()]


facts["file_handle"] = handle(os.path.join(directory, "outside", "secret").encode())
facts["root_handle"] = handle(b"/")
own = libc.syscall(434, os.getpid(), 0)
facts["process_handle"] = handle(b"", own, 0x1000)
facts["namespace_handle"] = None
for space in ("net", "mnt", "user"):
    opened = os.open("/proc/self/ns/" + space, os.O_RDONLY)
    found = handle(b"", opened, 0x1000)
    facts["namespace_handle"] = facts["namespace_handle"] or found
    os.close(opened)


def drain(name, listener):
    while True:
        try:
            if listener.type == socket.SOCK_DGRAM:
                contacts.append("%s: %r" % (name, listener.recv(4096)[:40]))
            else:
                connection, _ = listener.accept()
                connection.close()
                contacts.append(name)
        except OSError:
            return


def readable(descriptor):
    try:
        return len(os.read(descriptor, 4096))
    except OSError:
        return 0


def on_terminal():
    return [readable(slave), readable(master)]


def count(kind, number):
    # Offsets of the number of messages are not portable; /proc has them by name.
    try:
        with open("/proc/sysvipc/" + kind) as file:
            rows = [line.split() for line in file]
    except OSError:
        return None
    columns = {"msg": ("msqid", "qnum"), "shm": ("shmid", "size"), "sem": ("semid", "nsems")}
    identifier, index = map(rows[0].index, columns[kind])
    return [row[index] for row in rows[1:] if row[identifier] == str(number)]


def state():
    if internet == "Small":
        wait_for_internet()
    for name, listener in listeners.items():
        drain(name, listener)
    queued = ctypes.create_string_buffer(128)
    real_time.mq_getattr(posix, queued)
    opened = open("/proc/self/oom_score_adj").read().strip()
    limits = [resource.getrlimit(getattr(resource, name)) for name in ("RLIMIT_NOFILE", "RLIMIT_CORE", "RLIMIT_CPU")]
    return {
        "contacts": contacts, "signals": received, "memory": cell.raw[: len(secret) + 8].hex(),
        "shared memory": ctypes.string_at(memory, 64).hex(), "messages": count("msg", queue),
        "segments": count("shm", shared), "semaphores": [count("sem", semaphore), libc.semctl(semaphore, 0, 12)],
        "queue": struct.unpack_from("4l", queued)[3], "file in memory": open(in_memory).read() if os.path.exists(in_memory) else None,
        "priority": os.getpriority(os.PRIO_PROCESS, 0), "affinity": sorted(os.sched_getaffinity(0)),
        "scheduler": os.sched_getscheduler(0), "limits": limits, "badness": opened, "terminal": on_terminal(),
        "group": os.getpgid(0), "name": open("/proc/self/comm").read(), "position": os.lseek(77, 0, os.SEEK_CUR),
    }



def main():
    if internet == "Small":
        facts["proxy"] = start_internet(contacts)
    try:
        print(json.dumps(facts), flush=True)
        for line in sys.stdin:
            print(json.dumps(state()), flush=True)
    finally:
        # Nothing stays behind.
        libc.shmctl(shared, 0, None)
        libc.msgctl(queue, 0, None)
        libc.semctl(semaphore, 0, 0)
        real_time.mq_unlink(name)
        if os.path.exists(in_memory):
            os.unlink(in_memory)
        if key > 0:
            key_call("keyctl", 9, key, ctypes.c_long(-4))


