# What every attempt uses. The attempt is a function of the module that follows; its result says what it
# achieved, and the test looks from outside as well. Nothing here does harm where nothing is confined: the
# same code runs without a sandbox, to prove that it would work.
#
# An attempt ends in one of these ways:
#   an OSError or Held     it was refused
#   a text                 it got out, as described
#   bytes                  it read this; the test looks for the secret in it
#   None                   it did what it could; the test looks for the effect
import ctypes
import errno
import fcntl
import mmap
import os
import stat
import struct
import sys
import time


class Later:
    """A module that is imported when it is used: to start with all of them takes most of the time."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        globals()[self.name] = __import__(self.name)
        return getattr(globals()[self.name], attribute)


contextlib, signal, socket = Later("contextlib"), Later("signal"), Later("socket")
select, subprocess, threading = Later("select"), Later("subprocess"), Later("threading")


class Held(Exception):
    """The attempt was refused without an error of the system."""


class Facts:
    def __init__(self, text):
        # JSON of numbers, texts and lists is Python, but for three words.
        self.__dict__.update(eval(text, {"true": True, "false": False, "null": None}))


facts = Facts(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
MACHINE = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
SECOND = 1_000_000_000

# The numbers of system calls on x86_64 and aarch64; those above 423 are the same everywhere.
CALLS = {
    "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171), "bpf": (321, 280), "capset": (126, 91),
    "chroot": (161, 51), "clone": (56, 220), "clone3": (435, 435), "copy_file_range": (326, 285),
    "delete_module": (176, 106), "execveat": (322, 281), "fanotify_init": (300, 262), "fchmodat2": (452, 452),
    "finit_module": (313, 273), "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433),
    "get_robust_list": (274, 100), "init_module": (175, 105), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "ioperm": (173, None), "iopl": (172, None),
    "ioprio_set": (251, 30), "kcmp": (312, 272), "kexec_file_load": (320, 294), "kexec_load": (246, 104),
    "keyctl": (250, 219), "kill": (62, 129), "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446), "linkat": (265, 37), "listmount": (458, 458), "listns": (470, 470), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "migrate_pages": (256, 238), "mknodat": (259, 33), "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "move_pages": (279, 239), "mq_open": (240, 180),
    "mq_timedreceive": (243, 183), "mq_timedsend": (242, 182), "mq_unlink": (241, 181), "msgctl": (71, 187),
    "msgget": (68, 186), "msgrcv": (70, 188), "msgsnd": (69, 189), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "openat": (257, 56), "openat2": (437, 437),
    "perf_event_open": (298, 241), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "pivot_root": (155, 41), "prctl": (157, 167), "prlimit64": (302, 261),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "quotactl_fd": (443, 443), "reboot": (169, 142),
    "renameat2": (316, 276), "request_key": (249, 218), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274), "sched_setscheduler": (144, 119),
    "seccomp": (317, 277), "semctl": (66, 191), "semget": (64, 190), "semop": (65, 193), "setdomainname": (171, 162),
    "sethostname": (170, 161), "setns": (308, 268), "setpriority": (141, 140), "shmat": (30, 196),
    "shmctl": (31, 195), "shmget": (29, 194), "socket": (41, 198), "socketpair": (53, 199), "splice": (275, 76),
    "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116), "tgkill": (234, 131), "tkill": (200, 130),
    "truncate": (76, 45), "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282),
    "vmsplice": (278, 75),
}

REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)
UNSEEN = REFUSED + (errno.ESRCH, errno.ENOENT)

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
NAMESPACES = {
    "mnt": 0x00020000, "cgroup": 0x02000000, "uts": 0x04000000, "ipc": 0x08000000, "user": 0x10000000,
    "pid": 0x20000000, "net": 0x40000000, "time": 0x00000080,
}


def as_argument(value):
    if isinstance(value, bytes):
        return ctypes.c_char_p(value)
    if isinstance(value, str):
        return ctypes.c_char_p(os.fsencode(value))
    if value is None or isinstance(value, int):
        return ctypes.c_long(value or 0)
    return ctypes.byref(value)


def call_number(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(as_argument, arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def call(name, *arguments):
    """Makes a system call; raises OSError."""
    number = CALLS[name][MACHINE]
    if number is None:
        raise Held("this machine has no such call")
    return call_number(number, *arguments)


def gets_past(name, *arguments, refused=REFUSED):
    """Returns a text if the call is done, or fails for a reason other than a lack of rights."""
    try:
        return f"{name}: {call(name, *arguments)}"
    except OSError as error:
        if error.errno in refused:
            raise
        return f"{name}: {errno.errorcode.get(error.errno, error.errno)}"


def each(attempts):
    """Tries all of them (name, function); returns the names of those that were not refused."""
    last = Held("nothing to try")
    done = []
    for name, attempt in attempts:
        try:
            result = attempt()
            if isinstance(result, bytes):
                print("GOT", result.decode("latin-1"))
            else:
                done.append(f"{name} {result}" if isinstance(result, str) else str(name))
        except (OSError, Held) as error:
            last = error
    if done:
        return ", ".join(done)
    raise last


def quietly(function, *arguments, **options):
    try:
        return function(*arguments, **options)
    except (OSError, Held):
        return None


def read(path):
    with open(path, "rb") as file:
        return file.read(1 << 16)


def write(path, content=b"changed"):
    with open(path, "wb") as file:
        file.write(content)


def opens(path, flags):
    os.close(os.open(path, flags | os.O_CLOEXEC))
    return f"opened {path}"


def is_off():
    return facts.mode == "off"


def privately():
    """Keeps what follows from the machine where nothing is confined: mounts there are in a namespace."""
    if is_off():
        call("unshare", NAMESPACES["mnt"])
        call("mount", "none", "/", 0, 0x4000 | 0x40000, 0)


def in_child(function):
    """Runs the function in a child; what it returns, or the error, is the result here."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result = function()
            text = "" if result is None else result
            if isinstance(text, bytes):
                text = "GOT " + text.decode("latin-1")
            os.write(writer, ("ok " + text).encode())
        except OSError as error:
            os.write(writer, f"error {error.errno}".encode())
        except Held as error:
            os.write(writer, f"held {error}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        answer = file.read().decode("utf-8", "replace")
    os.waitpid(child, 0)
    if answer.startswith("error "):
        number = int(answer[6:])
        raise OSError(number, os.strerror(number))
    if not answer.startswith("ok "):
        raise Held(answer or "the child was killed")
    result = answer[3:]
    return result[4:].encode("latin-1") if result.startswith("GOT ") else result or None


def main(attempt):
    try:
        result = attempt()
    except (OSError, Held, MemoryError) as error:
        print("HELD", f"{type(error).__name__} {error}".replace("\n", " "))
        return
    if isinstance(result, bytes):
        print("GOT", result.decode("latin-1"))
    elif result:
        print("ESCAPED", result)
    print("DONE")
