# What processes of a user share without files: System V objects, POSIX queues, shared memory.


def attach(flags):
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(facts.shm, None, flags)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return address


def read_segment():
    return ctypes.string_at(attach(0o10000), 64)


def write_segment():
    ctypes.memmove(attach(0), b"changed", 7)


def find_segment():
    number = call("shmget", facts.shm_key, 4096, 0)
    return f"segment {number}" if number == facts.shm else None


def describe_segment():
    # IPC_STAT: a question that needs the right to read.
    buffer = ctypes.create_string_buffer(512)
    call("shmctl", facts.shm, 2, buffer)
    return "the segment was described"


def change_segment():
    # IPC_SET with what IPC_STAT said.
    buffer = ctypes.create_string_buffer(512)
    call("shmctl", facts.shm, 2, buffer)
    call("shmctl", facts.shm, 1, buffer)
    return "the segment was changed"


def read_queue():
    buffer = ctypes.create_string_buffer(512)
    length = call("msgrcv", facts.msg, buffer, 504, 0, 0o4000)
    return buffer.raw[8:8 + length]


def write_queue():
    call("msgsnd", facts.msg, struct.pack("l", 2) + b"hello", 5, 0o4000)


def change_semaphore():
    call("semop", facts.sem, struct.pack("HhH", 0, 1, 0o4000), 1)


def set_semaphore():
    call("semctl", facts.sem, 0, 16, 5)


def list_objects():
    text = read("/proc/sysvipc/shm") + read("/proc/sysvipc/msg") + read("/proc/sysvipc/sem")
    return "the bystander's are listed" if str(facts.shm_key).encode() in text else None


def open_posix_queue(flags):
    return call("mq_open", facts.mq.lstrip("/"), flags, 0, 0)


def read_posix_queue():
    queue = open_posix_queue(os.O_RDONLY | os.O_NONBLOCK)
    buffer = ctypes.create_string_buffer(16384)
    length = call("mq_timedreceive", queue, buffer, 16384, 0, 0)
    return buffer.raw[:length]


def write_posix_queue():
    call("mq_timedsend", open_posix_queue(os.O_WRONLY | os.O_NONBLOCK), "hello", 5, 1, 0)


def remove_posix_queue():
    call("mq_unlink", facts.mq.lstrip("/"))
    return "removed"


def read_shared_memory():
    return read(facts.shm_file)


def write_shared_memory():
    write(facts.shm_file)


def list_shared_memory():
    return "the bystander's is listed" if os.path.basename(facts.shm_file) in os.listdir("/dev/shm") else None


def leave_in_shared_memory():
    # The test looks for this name outside, and removes it.
    write(facts.shm_new)


def lock_file_outside():
    # A lock on a file of others keeps them waiting.
    descriptor = os.open(os.path.join(facts.outside, "keep"), os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return "locked"
