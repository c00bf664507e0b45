# /proc and /sys: other processes seen as files, and switches of the kernel. Switches are opened for
# writing, never written.


def of(name, pid=None):
    return f"/proc/{pid or facts.pid}/{name}"


def others():
    """The bystander, zot, and the first process: whichever they are where the attempt runs."""
    return (facts.pid, facts.zot, 1, os.getppid())


def own_root():
    return read("/proc/self/root" + facts.outside + "/secret")


def thread_root():
    return read("/proc/thread-self/root" + facts.outside + "/secret")


def root_of_others():
    return each([(pid, lambda pid=pid: read(of("root", pid) + facts.outside + "/secret")) for pid in others()])


def directory_of_others():
    # The bystander works in the directory with the secret.
    return each([(pid, lambda pid=pid: read(of("cwd", pid) + "/secret")) for pid in others()])


def environment_of_others():
    return each([(pid, lambda pid=pid: read(of("environ", pid))) for pid in others()])


def memory_of_others():
    descriptor = os.open(of("mem"), os.O_RDONLY)
    return os.pread(descriptor, facts.length, facts.address)


def write_memory_of_others():
    descriptor = os.open(of("mem"), os.O_RDWR)
    os.pwrite(descriptor, b"changed", facts.address)


def layout_of_others():
    text = read(of("maps"))
    return f"{len(text)} bytes of maps" if text else None


def descriptors_of_others():
    return read(of(f"fd/{facts.descriptor}"))


def descriptor_details_of_others():
    return "fdinfo is readable" if read(of(f"fdinfo/{facts.descriptor}")) else None


def mapped_files_of_others():
    names = os.listdir(of("map_files"))
    return f"{len(names)} files" if names else None


def kernel_stack_of_others():
    return each([(name, lambda name=name: read(of(name)) and name) for name in ("stack", "syscall", "auxv", "personality")])


def threads_of_others():
    return read(of(f"task/{facts.pid}/environ"))


def badness_of_others():
    descriptor = os.open(of("oom_score_adj"), os.O_WRONLY)
    os.write(descriptor, b"500")


def dump_filter_of_others():
    return opens(of("coredump_filter"), os.O_WRONLY)



def references_of_others():
    return opens(of("clear_refs"), os.O_WRONLY)


def command_lines_of_others():
    # The test put the secret on the bystander's command line.
    return read(of("cmdline"))


def list_of_processes():
    seen = [name for name in os.listdir("/proc") if name.isdigit()]
    return f"the bystander among {len(seen)} processes" if str(facts.pid) in seen else None


def mounts_of_others():
    # A mount that only the outside has would be named here.
    return each([(pid, lambda pid=pid: opens(of("mountinfo", pid), os.O_RDONLY)) for pid in (facts.pid, facts.zot)])



def identity_maps_of_others():
    names = ("uid_map", "gid_map", "setgroups")
    return each([(name, lambda name=name: opens(of(name), os.O_WRONLY)) for name in names])


SWITCHES = ("kernel/core_pattern", "kernel/modprobe", "kernel/hotplug", "kernel/panic", "kernel/sysrq",
            "kernel/hostname", "kernel/ns_last_pid", "kernel/yama/ptrace_scope", "kernel/unprivileged_bpf_disabled",
            "kernel/perf_event_paranoid", "kernel/randomize_va_space", "vm/drop_caches", "vm/overcommit_memory",
            "fs/binfmt_misc/register", "fs/binfmt_misc/status", "fs/file-max", "fs/protected_symlinks",
            "net/ipv4/ip_forward", "user/max_user_namespaces", "fs/suid_dumpable", "kernel/usermodehelper/bset")


def kernel_switches():
    paths = [f"/proc/sys/{name}" for name in SWITCHES]
    return each([(path, lambda path=path: opens(path, os.O_WRONLY)) for path in paths if os.path.exists(path)])


def system_request():
    return opens("/proc/sysrq-trigger", os.O_WRONLY)


def kernel_memory():
    paths = ("/proc/kcore", "/proc/vmcore", "/proc/kmsg", "/proc/kallsyms_all")
    return each([(path, lambda path=path: opens(path, os.O_RDONLY | os.O_NONBLOCK)) for path in paths])


def hardware_switches():
    paths = ["/proc/mtrr", "/proc/irq/default_smp_affinity", "/proc/acpi/wakeup", "/proc/scsi/scsi",
             "/proc/timer_stats", "/proc/sys/dev/cdrom/lock", "/proc/asound/card0/oss_mixer"]
    buses = quietly(os.listdir, "/proc/bus/pci") or []
    for bus in buses:
        devices = quietly(os.listdir, f"/proc/bus/pci/{bus}") or []
        paths += [f"/proc/bus/pci/{bus}/{device}" for device in devices[:1]]
    return each([(path, lambda path=path: opens(path, os.O_WRONLY)) for path in paths])


def keys():
    listed = facts.key_description.encode() in read("/proc/keys")
    return "the key of the bystander is listed" if listed else None


def use_of_pages():
    paths = ("/proc/kpagecount", "/proc/kpageflags", "/proc/kpagecgroup")
    return ", ".join(path for path in paths if quietly(read, path)) or None


def sys_switches():
    paths = ("/sys/kernel/uevent_helper", "/sys/power/state", "/sys/power/pm_trace", "/sys/kernel/profiling",
             "/sys/kernel/mm/transparent_hugepage/enabled", "/sys/kernel/mm/ksm/run", "/sys/class/net/lo/flags",
             "/sys/module/kernel/parameters/crash_kexec_post_notifiers", "/sys/kernel/kexec_crash_size",
             "/sys/kernel/livepatch", "/sys/devices/system/cpu/cpu1/online", "/sys/bus/pci/rescan",
             "/sys/firmware/efi/efivars/BootOrder-8be4df61-93ca-11d2-aa0d-00e098032b8c",
             "/sys/block/loop0/queue/read_ahead_kb", "/sys/devices/virtual/net/lo/mtu")
    return each([(path, lambda path=path: opens(path, os.O_WRONLY)) for path in paths])


def sys_tracing():
    paths = ("/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/bpf", "/sys/fs/pstore")

    def attempt(path):
        names = os.listdir(path)
        if not names:
            raise Held("empty")
        return f"{len(names)} names"
    return each([(path, lambda path=path: attempt(path)) for path in paths])


def sys_changes_of_mode():
    # Owner of nothing here, but root may change modes.
    path = "/sys/class/net/lo/mtu"
    mode = stat.S_IMODE(os.stat(path).st_mode)
    os.chmod(path, mode)
    return f"changed the mode of {path}"


def groups():
    # The control groups of the machine, in both versions.
    directories = ["/sys/fs/cgroup"]
    directories += [f"/sys/fs/cgroup/{name}" for name in (quietly(os.listdir, "/sys/fs/cgroup") or [])]
    own = [line.split(":", 2) for line in read("/proc/self/cgroup").decode().splitlines()]
    for _, controllers, path in own:
        base = "/sys/fs/cgroup/" + (controllers.removeprefix("name=") or "unified")
        directories += [base + path, os.path.dirname(base + path), "/sys/fs/cgroup" + path]
    return sorted({path.rstrip("/") for path in directories if os.path.isdir(path)})


def leave_control_group():
    def attempt(directory):
        descriptor = os.open(directory + "/cgroup.procs", os.O_WRONLY)
        os.write(descriptor, b"0")
    return each([(path, lambda path=path: attempt(path)) for path in groups()])


def move_others_between_control_groups():
    return each([(path, lambda path=path: opens(path + "/cgroup.procs", os.O_WRONLY)) for path in groups()])


def create_control_group():
    def attempt(directory):
        path = directory + "/zot-escapes-%d" % os.getpid()
        os.mkdir(path)
        os.rmdir(path)
    return each([(path, lambda path=path: attempt(path)) for path in groups()])


def release_agent():
    # A program that the kernel runs as root when a control group becomes empty.
    names = ("release_agent", "notify_on_release", "cgroup.clone_children")
    paths = [f"{path}/{name}" for path in groups() for name in names]
    return each([(path, lambda path=path: opens(path, os.O_WRONLY)) for path in paths])


def control_group_limits():
    names = ("memory.max", "pids.max", "cpu.max", "cgroup.kill", "cgroup.freeze", "cgroup.subtree_control",
             "memory.limit_in_bytes", "devices.allow", "freezer.state", "cpu.shares")
    paths = [f"{path}/{name}" for path in groups() for name in names]
    return each([(path, lambda path=path: opens(path, os.O_WRONLY)) for path in paths])


def mount_control_groups():
    def attempt():
        call("unshare", NAMESPACES["user"] | NAMESPACES["mnt"] | NAMESPACES["cgroup"])
        os.mkdir("groups")
        call("mount", "cgroup", "groups", "cgroup", 0, "memory")
        return "mounted control groups"

    def unified():
        call("unshare", NAMESPACES["user"] | NAMESPACES["mnt"] | NAMESPACES["cgroup"])
        os.mkdir("groups2")
        call("mount", "cgroup2", "groups2", "cgroup2", 0, 0)
        return "mounted control groups"
    return each([("version 1", lambda: in_child(attempt)), ("version 2", lambda: in_child(unified))])


def connections_of_the_machine():
    port = f":{facts.tcp4:04X}".encode()
    text = read("/proc/net/tcp")
    return "the listener of the bystander is listed" if port in text else None


def sockets_of_the_machine():
    return "the socket of the bystander is listed" if facts.abstract.encode() in read("/proc/net/unix") else None
