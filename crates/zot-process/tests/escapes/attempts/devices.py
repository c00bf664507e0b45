# Device nodes, made or found. Opened at most.


def made(kind, major, minor, flags=os.O_RDONLY):
    # Mode 0600: only for us.
    path = "node-%d-%d" % (major, minor)
    os.mknod(path, kind | 0o600, os.makedev(major, minor))
    # Whether we may open it does not matter: others will find it.
    quietly(opens, path, flags | os.O_NONBLOCK)
    os.unlink(path)
    return "made a device"


def disk_of_the_machine():
    return os.stat(facts.readable).st_dev


def make_block_device():
    number = disk_of_the_machine()
    return made(stat.S_IFBLK, os.major(number), os.minor(number))


def make_memory_device():
    return made(stat.S_IFCHR, 1, 1)


def make_kernel_log():
    return made(stat.S_IFCHR, 1, 11)


def make_terminal_device():
    return made(stat.S_IFCHR, 5, 0)


def make_device_in_temporary_directory():
    os.chdir(os.environ.get("TMPDIR", "/tmp"))
    return made(stat.S_IFCHR, 1, 3)


def make_device_in_home():
    os.chdir(os.environ["HOME"])
    return made(stat.S_IFCHR, 1, 3)


def make_whiteout():
    # A character device 0:0, which everybody may make.
    return made(stat.S_IFCHR, 0, 0)


def open_any(paths, flags=os.O_RDONLY):
    return each([(path, lambda path=path: opens(path, flags | os.O_NONBLOCK | os.O_NOCTTY)) for path in paths])


def disks():
    names = quietly(os.listdir, "/sys/block") or []
    return open_any([f"/dev/{name}" for name in [*names, "sda", "vda", "nvme0n1", "xvda", "loop0"]])


def memory():
    return open_any(("/dev/mem", "/dev/kmem", "/dev/port", "/dev/crash", "/dev/oldmem"))


def kernel_log():
    return open_any(("/dev/kmsg",), os.O_WRONLY)


def virtualisation():
    return open_any(("/dev/kvm", "/dev/vhost-net", "/dev/vhost-vsock", "/dev/vsock", "/dev/vfio/vfio"), os.O_RDWR)


def file_systems():
    return open_any(("/dev/fuse", "/dev/loop-control", "/dev/mapper/control", "/dev/btrfs-control", "/dev/autofs"), os.O_RDWR)


def input_devices():
    names = quietly(os.listdir, "/dev/input") or []
    return open_any([f"/dev/input/{name}" for name in names] + ["/dev/uinput", "/dev/uhid"])


def faults():
    return open_any(("/dev/userfaultfd",), os.O_RDWR)


def processor():
    return open_any(("/dev/cpu/0/msr", "/dev/cpu/0/cpuid", "/dev/cpu_dma_latency", "/dev/hwrng", "/dev/rtc0", "/dev/nvram"))


def tunnels():
    return open_any(("/dev/net/tun", "/dev/ppp"), os.O_RDWR)


def terminal_of_the_bystander():
    return open_any((facts.terminal,), os.O_RDWR)


def new_terminals():
    # The multiplexer of the machine: a terminal beside those of the user.
    return opens("/dev/ptmx", os.O_RDWR | os.O_NOCTTY) if not os.path.islink("/dev/ptmx") else None


def other_devices():
    # Everything in /dev that is a device and not one of the harmless ones.
    harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "stdin", "stdout", "stderr"}
    # Consoles of the machine are left alone, and what opening would start.
    consoles = ("tty", "console", "vcs", "hvc")
    paths = []
    for name in sorted(os.listdir("/dev")):
        path = os.path.join("/dev", name)
        mode = os.lstat(path).st_mode
        is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
        left_alone = name.startswith(("watchdog", "snapshot")) or (is_off() and name.startswith(consoles))
        if is_device and name not in harmless and not left_alone:
            paths.append(path)
    return open_any(paths)


def write_to_dev():
    path = "/dev/zot-escapes-%d" % os.getpid()
    os.mkdir(path)
    os.rmdir(path)
    # A directory of devices of our own would be no harm; the test asks whether it was the machine's.
    return "made a directory in /dev" if os.path.exists("/dev/vda") or os.path.exists("/dev/sda") or is_off() else None
