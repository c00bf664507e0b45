# Processes outside: stopped, traced, read, changed. Only the bystander is ever the target, and no signal that
# ends it.

SIGNAL = signal.SIGUSR1


def kill():
    os.kill(facts.pid, SIGNAL)


def kill_zot():
    # Nothing is sent: the question is whether it could be.
    os.kill(facts.zot, 0)
    return "zot can be signalled"


def kill_everybody():
    # A signal that nobody minds. Never without a sandbox: it would go to every process of the machine.
    if not is_off():
        call("kill", -1, signal.SIGURG)


def kill_group():
    os.kill(-facts.group, 0)
    return "the group of zot can be signalled"


def kill_thread():
    call("tgkill", facts.pid, facts.pid, SIGNAL)


def kill_thread_of_any_process():
    call("tkill", facts.pid, SIGNAL)


def information(number):
    return ctypes.create_string_buffer(struct.pack("iiiiii", number, 0, -1, 0, 0, 0) + bytes(104))


def queue_signal():
    call("rt_sigqueueinfo", facts.pid, SIGNAL, information(SIGNAL))


def queue_signal_to_thread():
    call("rt_tgsigqueueinfo", facts.pid, facts.pid, SIGNAL, information(SIGNAL))


def signal_by_descriptor():
    descriptor = call("pidfd_open", facts.pid, 0)
    call("pidfd_send_signal", descriptor, SIGNAL, 0, 0)


def signal_by_handle():
    # FD_PIDFS_ROOT: a process named by a handle instead of its number.
    kind, handle = facts.process_handle or (0, "")
    raw = bytes.fromhex(handle)
    buffer = ctypes.create_string_buffer(struct.pack("Ii", len(raw), kind) + raw)
    descriptor = call("open_by_handle_at", -10002, buffer, os.O_RDONLY)
    call("pidfd_send_signal", descriptor, SIGNAL, 0, 0)


def signal_by_directory():
    descriptor = os.open(f"/proc/{facts.pid}", os.O_RDONLY | os.O_DIRECTORY)
    call("pidfd_send_signal", descriptor, SIGNAL, 0, 0)


def signal_by_input():
    # The owner of a pipe gets a signal when something arrives.
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, facts.pid)
    fcntl.fcntl(reader, fcntl.F_SETSIG, SIGNAL)
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writer, b"x")


def signal_by_extended_owner():
    # F_SETOWN_EX with F_OWNER_PID
    reader, writer = os.pipe()
    fcntl.fcntl(reader, 15, struct.pack("ii", 1, facts.pid))
    fcntl.fcntl(reader, fcntl.F_SETSIG, SIGNAL)
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writer, b"x")


def signal_by_lease():
    # SIGIO to another owner when a file is opened against a lease.
    write("leased")
    descriptor = os.open("leased", os.O_RDONLY)
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    fcntl.fcntl(descriptor, fcntl.F_SETOWN, facts.pid)
    fcntl.fcntl(descriptor, fcntl.F_SETSIG, SIGNAL)
    if os.fork() == 0:
        signal.alarm(2)
        quietly(os.open, "leased", os.O_WRONLY | os.O_NONBLOCK)
        os._exit(0)
    os.wait()


PTRACE_ATTACH, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_PEEKDATA = 16, 17, 0x4206, 2


def traced(pid):
    call("ptrace", PTRACE_SEIZE, pid, 0, 0)
    return f"traced {pid}"


def trace():
    try:
        return in_child(lambda: traced(facts.pid))
    finally:
        time.sleep(0.01)


def trace_zot():
    return each([(pid, lambda pid=pid: in_child(lambda: traced(pid))) for pid in (facts.zot, os.getppid())])


def trace_by_attaching():
    def attempt():
        call("ptrace", PTRACE_ATTACH, facts.pid, 0, 0)
        os.waitpid(facts.pid, 0x40000000)
        call("ptrace", PTRACE_DETACH, facts.pid, 0, 0)
        return "attached"
    return in_child(attempt)


def pieces(local, remote):
    def vector(address, length):
        return ctypes.create_string_buffer(struct.pack("QQ", address, length), 16)
    return vector(ctypes.addressof(local), len(local)), vector(*remote)


def read_memory():
    buffer = ctypes.create_string_buffer(facts.length)
    local, remote = pieces(buffer, (facts.address, facts.length))
    call("process_vm_readv", facts.pid, local, 1, remote, 1, 0)
    return buffer.raw


def write_memory():
    buffer = ctypes.create_string_buffer(b"changed", 7)
    local, remote = pieces(buffer, (facts.address, 7))
    call("process_vm_writev", facts.pid, local, 1, remote, 1, 0)


def take_descriptor():
    process = call("pidfd_open", facts.pid, 0)
    taken = call("pidfd_getfd", process, facts.descriptor, 0)
    return os.pread(taken, 4096, 0)


def take_descriptor_of_zot():
    def attempt(pid):
        process = call("pidfd_open", pid, 0)
        return f"descriptor {call('pidfd_getfd', process, 0, 0)}"
    return each([(pid, lambda pid=pid: attempt(pid)) for pid in (facts.zot, os.getppid())])


def compare():
    return gets_past("kcmp", facts.pid, os.getpid(), 0, 0, 0, refused=UNSEEN)


def advise_memory():
    process = call("pidfd_open", facts.pid, 0)
    vector = ctypes.create_string_buffer(struct.pack("QQ", facts.address & ~4095, 4096), 16)
    call("process_madvise", process, vector, 1, 20, 0)
    return "the memory of the bystander was marked as cold"


def release_memory():
    process = call("pidfd_open", facts.pid, 0)
    return gets_past("process_mrelease", process, 0, refused=UNSEEN)


def move_memory():
    return gets_past("move_pages", facts.pid, 0, 0, 0, 0, 0, refused=UNSEEN)


def migrate_memory():
    nodes = ctypes.c_ulong(1)
    return gets_past("migrate_pages", facts.pid, 8, nodes, nodes, refused=UNSEEN)


def read_limits():
    limits = ctypes.create_string_buffer(16)
    call("prlimit64", facts.pid, 7, 0, limits)
    return "the limits of the bystander were read"


def change_limits():
    limits = ctypes.create_string_buffer(struct.pack("QQ", 100, 200), 16)
    call("prlimit64", facts.pid, 7, limits, 0)


def change_priority():
    call("setpriority", 0, facts.pid, 10)


def change_priority_of_group():
    # The bystander leads a group of its own.
    call("setpriority", 1, facts.pid, 10)


def change_priority_of_user():
    # 0 is what nearly all have: no harm if it is done.
    call("setpriority", 2, os.getuid(), 0)
    return "the priority of all processes of the user was set"


def change_input_priority():
    call("ioprio_set", 1, facts.pid, (2 << 13) | 7)
    return "the priority of the bystander was set"


def change_affinity():
    mask = ctypes.c_ulong(1)
    call("sched_setaffinity", facts.pid, 8, mask)
    return "the bystander was bound to a processor"


def change_scheduler():
    parameters = ctypes.c_int(0)
    call("sched_setscheduler", facts.pid, 3, parameters)


def change_scheduler_attributes():
    attributes = ctypes.create_string_buffer(struct.pack("IIQiIQQQ", 48, 3, 0, 0, 0, 0, 0, 0), 48)
    call("sched_setattr", facts.pid, attributes, 0)


def read_futexes():
    head, length = ctypes.c_void_p(), ctypes.c_size_t()
    call("get_robust_list", facts.pid, head, length)
    return "the list of the bystander's locks was read"


def watch_performance():
    attributes = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 1) + bytes(96))
    return f"descriptor {call('perf_event_open', attributes, facts.pid, -1, -1, 0)}"


def join_group():
    os.setpgid(0, facts.group)
    return "joined the group of zot"


def enter_by_descriptor():
    process = call("pidfd_open", facts.pid, 0)
    call("setns", process, NAMESPACES["mnt"])
    return "joined the mounts of the bystander"


def credentials():
    # PIDFD_GET_INFO
    process = call("pidfd_open", facts.pid, 0)
    fcntl.ioctl(process, 0xC0000000 | 64 << 16 | 0xFF << 8 | 11, bytes(64))
    return "credentials of the bystander were read"
