# io_uring: system calls that no filter of system calls sees.

OPENAT, SOCKET, CONNECT, READ, SEND, RENAMEAT, UNLINKAT, SYMLINKAT, LINKAT, MKDIRAT = 18, 45, 16, 22, 26, 35, 36, 38, 39, 37


class Ring:
    def __init__(self):
        parameters = ctypes.create_string_buffer(120)
        self.descriptor = call("io_uring_setup", 4, parameters)
        words = struct.unpack("30I", parameters.raw)
        self.queue, self.completions = words[10:20], words[20:30]
        size = max(self.queue[6] + words[0] * 4, self.completions[5] + words[1] * 16)
        self.ring = mmap.mmap(self.descriptor, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        self.entries = mmap.mmap(self.descriptor, words[0] * 64, mmap.MAP_SHARED,
                                 mmap.PROT_READ | mmap.PROT_WRITE, offset=0x10000000)
        self.mask = struct.unpack_from("I", self.ring, self.queue[2])[0]
        self.kept = []

    def word(self, offset):
        return struct.unpack_from("I", self.ring, offset)[0]

    def do(self, operation, descriptor, offset=0, address=0, length=0, flags=0):
        """Does one operation and returns its result."""
        if isinstance(address, (bytes, str)):
            buffer = ctypes.create_string_buffer(os.fsencode(address))
            self.kept.append(buffer)
            address = ctypes.addressof(buffer)
        if isinstance(offset, str):
            buffer = ctypes.create_string_buffer(os.fsencode(offset))
            self.kept.append(buffer)
            offset = ctypes.addressof(buffer)
        tail = self.word(self.queue[1])
        index = tail & self.mask
        struct.pack_into("BBHiQQIIQHHiQQ", self.entries, index * 64, operation, 0, 0, descriptor, offset, address,
                         length, flags, 1, 0, 0, 0, 0, 0)
        struct.pack_into("I", self.ring, self.queue[6] + index * 4, index)
        struct.pack_into("I", self.ring, self.queue[1], tail + 1)
        call("io_uring_enter", self.descriptor, 1, 1, 1, 0, 0)
        head = self.word(self.completions[0])
        slot = self.completions[5] + (head & self.word(self.completions[2])) * 16
        _, result, _ = struct.unpack_from("QiI", self.ring, slot)
        struct.pack_into("I", self.ring, self.completions[0], head + 1)
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return result


def outside(name):
    return os.path.join(facts.outside, name)


def set_up():
    Ring()
    return "a ring"


def read_file():
    descriptor = Ring().do(OPENAT, AT_FDCWD, 0, outside("secret"), 0, os.O_RDONLY)
    return os.read(descriptor, 4096)


def write_file():
    descriptor = Ring().do(OPENAT, AT_FDCWD, 0, outside("keep"), 0, os.O_WRONLY)
    os.write(descriptor, b"changed")


def remove_file():
    Ring().do(UNLINKAT, AT_FDCWD, 0, outside("keep"))


def rename_file():
    # The new directory is in the field of the length.
    Ring().do(RENAMEAT, AT_FDCWD, outside("moved"), outside("keep"), AT_FDCWD & 0xFFFFFFFF)


def make_directory():
    Ring().do(MKDIRAT, AT_FDCWD, 0, outside("made"), 0o700)


def write_protected():
    descriptor = Ring().do(OPENAT, AT_FDCWD, 0, ".git/config", 0, os.O_WRONLY)
    os.write(descriptor, b"changed")


def connection():
    ring = Ring()
    descriptor = ring.do(SOCKET, socket.AF_INET, socket.SOCK_STREAM)
    address = struct.pack("=H", socket.AF_INET) + struct.pack(">H4s8x", facts.tcp4, socket.inet_aton("127.0.0.1"))
    ring.do(CONNECT, descriptor, 16, address)


def unix_connection():
    ring = Ring()
    descriptor = ring.do(SOCKET, socket.AF_UNIX, socket.SOCK_STREAM)
    path = os.path.join(facts.readable, "stream.socket")
    address = struct.pack("=H", socket.AF_UNIX) + os.fsencode(path) + b"\0"
    ring.do(CONNECT, descriptor, len(address), address)


def by_registering():
    # A ring that is only registered, without entering.
    parameters = ctypes.create_string_buffer(120)
    struct.pack_into("I", parameters, 8, 1 << 1)
    return gets_past("io_uring_register", -1, 0x80000000 | 4, parameters, 1)
