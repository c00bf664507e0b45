# More rights than a command starts with.


def run(*command, **options):
    return subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=10, **options)


def setuid_program():
    # A copy of `id` that belongs to root, made by the test.
    output = run(os.path.join(facts.privileged, "id"), "-u").stdout.strip()
    return "became root" if output == b"0" and os.getuid() != 0 else None


def setgid_program():
    output = run(os.path.join(facts.privileged, "id-group"), "-g").stdout.strip()
    return "became the group of root" if output == b"0" and os.getgid() != 0 else None


def file_capabilities():
    # A copy of `cat` that may read every file.
    return run(os.path.join(facts.privileged, "cat"), os.path.join(facts.privileged, "root-only")).stdout


def setuid_of_other_user():
    # As root, a program of another user: its identity is not ours to take.
    output = run(os.path.join(facts.privileged, "id-other"), "-u").stdout.strip()
    return f"became {output.decode()}" if output not in (b"", str(os.getuid()).encode()) else None


def leave_program(change):
    # Others could start it outside, with our rights.
    with open("left", "w") as file:
        file.write("#!/bin/sh\n")
    change("left")
    return "a program with the rights of its owner" if os.stat("left").st_mode & 0o6000 else None


def leave_setuid_program():
    return leave_program(lambda path: os.chmod(path, 0o4755))


def leave_setgid_program():
    return leave_program(lambda path: os.chmod(path, 0o2755))


def leave_setuid_program_by_descriptor():
    return leave_program(lambda path: os.fchmod(os.open(path, os.O_RDONLY), 0o4755))


def create_setuid_program():
    os.umask(0)
    descriptor = os.open("created", os.O_CREAT | os.O_WRONLY, 0o4755)
    return "created" if os.fstat(descriptor).st_mode & 0o4000 else None


def create_setuid_program_with_openat2():
    # struct open_how: flags, mode, resolve.
    os.umask(0)
    how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0)
    descriptor = libc.syscall(437, -100, b"created", how, len(how))
    return "created" if descriptor >= 0 and os.fstat(descriptor).st_mode & 0o4000 else None


def make_setuid_node():
    os.umask(0)
    os.mknod("node", 0o104755)
    return "made" if os.stat("node").st_mode & 0o4000 else None


def su():
    output = run("su", "-c", "id -u", "root")
    return "su works" if output.stdout.strip() == b"0" and os.getuid() != 0 else None


def sudo():
    output = run("sudo", "-n", "id", "-u")
    return "sudo works" if output.stdout.strip() == b"0" else None


def new_privileges():
    # PR_GET_NO_NEW_PRIVS
    return "programs can gain rights" if libc.prctl(39, 0, 0, 0, 0) == 0 else None



ADMINISTRATION = {
    2: "read every file", 16: "load modules", 17: "access ports", 19: "trace", 21: "administrate", 22: "reboot",
    25: "set the clock", 12: "administrate the network", 13: "raw sockets", 18: "chroot", 23: "raise priorities",
    24: "raise limits", 26: "configure terminals", 27: "make devices", 9: "make immutable", 31: "set capabilities",
    32: "override rules", 33: "administrate rules", 34: "read the log", 35: "wake", 37: "audit", 38: "watch", 39: "bpf",
    40: "checkpoint", 8: "change capabilities", 14: "lock memory", 15: "own shared memory", 20: "accounting",
}


def capabilities(field):
    with open("/proc/self/status") as file:
        values = dict(line.split(":", 1) for line in file)
    return int(values[field], 16)


def effective_capabilities():
    held = [name for bit, name in ADMINISTRATION.items() if capabilities("CapEff") >> bit & 1]
    return ", ".join(held) or None


def bounding_capabilities():
    # What a program with capabilities could get.
    if os.getuid() != 0:
        raise Held("an ordinary user cannot use them")
    held = [name for bit, name in ADMINISTRATION.items() if capabilities("CapBnd") >> bit & 1]
    return ", ".join(held) or None


def set_capabilities(inheritable):
    # CAP_SYS_ADMIN, which is all that matters.
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    bit = 1 << 21
    data = struct.pack("6I", bit, bit, bit if inheritable else 0, 0, 0, 0)
    call("capset", header, ctypes.create_string_buffer(data))


def raise_capabilities():
    set_capabilities(False)
    return "may administrate the machine"


def ambient_capabilities():
    # PR_CAP_AMBIENT_RAISE, for every program that is started.
    quietly(set_capabilities, True)
    if libc.prctl(47, 2, 21, 0, 0) == 0:
        return "raised"
    raise OSError(ctypes.get_errno(), "refused")


def keep_capabilities_over_user_change():
    # As root: become somebody else, and keep what root had.
    libc.prctl(8, 1, 0, 0, 0)
    os.setresuid(65534, 65534, 0)
    os.setresuid(0, 0, 0)
    return effective_capabilities()


def become_root():
    if os.getuid() == 0:
        raise Held("is root")
    os.setuid(0)
    return "became root"


def supplementary_groups():
    os.setgroups([0, 27])
    if os.getuid() != 0:
        return "groups were set"


def remove_call_filter():
    # PR_SET_SECCOMP to 0, and a filter that allows everything, which cannot overrule others.
    program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    filters = ctypes.create_string_buffer(struct.pack("H6xQ", 1, ctypes.addressof(program)))
    libc.prctl(22, 0, 0, 0, 0)
    quietly(call, "seccomp", 1, 0, filters)
    attributes = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 1) + bytes(96))
    return f"perf_event_open: {call('perf_event_open', attributes, 0, -1, -1, 0)}"


def add_file_rules():
    # A second set of rules of files that allows everything: all sets must agree.
    size = struct.pack("QQQ", 1, 0, 0)
    quietly(call, "landlock_restrict_self", call("landlock_create_ruleset", size, 24, 0), 0)
    return read(os.path.join(facts.outside, "secret"))


def change_personality():
    # Old kernels dropped checks for some; the secret must stay out of reach.
    libc.personality(0x0040000 | 0x0100000)
    return read(os.path.join(facts.outside, "secret"))


def in_thread():
    # Rules must hold for threads that start later.
    got = []
    thread = threading.Thread(target=lambda: got.append(quietly(read, os.path.join(facts.outside, "secret"))))
    thread.start()
    thread.join()
    return got[0] or b""


def in_new_program():
    return run("cat", os.path.join(facts.outside, "secret")).stdout


def in_new_session():
    def attempt():
        os.setsid()
        return read(os.path.join(facts.outside, "secret"))
    return in_child(attempt)


def through_scheduler_services():
    # Services that start programs later, outside: none may take a job.
    commands = (("systemd-run", "--user", "--collect", "touch", facts.marker), ("at", "-f", "/dev/null", "now"),
                ("crontab", "-"), ("batch", "-f", "/dev/null"))

    def attempt(command):
        if is_off():
            raise Held("not tried without a sandbox: a job would run")
        if run(*command).returncode == 0:
            return "took the job"
        raise Held("refused")
    return each([(command[0], lambda command=command: attempt(command)) for command in commands])
