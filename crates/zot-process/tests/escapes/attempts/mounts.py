# The file system seen differently. Where nothing is confined, in a mount namespace of its own.

READ_ONLY, REMOUNT, BIND, MOVE, RECURSIVE, PRIVATE, SHARED = 1, 32, 4096, 8192, 16384, 1 << 18, 1 << 20


def make_mount_point():
    privately()
    os.mkdir("here")


def mount_temporary():
    make_mount_point()
    call("mount", "none", "here", "tmpfs", 0, 0)
    return "mounted"


def mount_over_system():
    privately()
    call("mount", "none", "/etc", "tmpfs", 0, 0)
    return "mounted over /etc"


def bind_outside():
    make_mount_point()
    call("mount", facts.outside, "here", 0, BIND, 0)
    return read("here/secret")


def bind_root():
    make_mount_point()
    call("mount", "/", "here", 0, BIND | RECURSIVE, 0)
    return "bound /"


def remount_root():
    privately()
    call("mount", 0, "/", 0, REMOUNT | BIND, 0)
    return "/ is writable"


def remount_readable():
    privately()
    if is_off():
        call("mount", facts.readable, facts.readable, 0, BIND, 0)
    call("mount", 0, facts.readable, 0, REMOUNT | BIND, 0)
    write(os.path.join(facts.readable, "keep"))


def remount_protected():
    privately()
    for path in (".git/config", ".git/hooks"):
        if is_off():
            call("mount", path, path, 0, BIND, 0)
        quietly(call, "mount", 0, path, 0, REMOUNT | BIND, 0)
    write(".git/config")


def unmount(path, flags=2):
    privately()
    if is_off():
        call("mount", path, path, 0, BIND, 0)
    call("umount2", path, flags)
    return f"unmounted {path}"


def unmount_protected():
    return unmount(".git/config")


def unmount_workspace():
    return unmount(facts.workspace)


def unmount_proc():
    return unmount("/proc")


def unmount_root():
    privately()
    call("umount2", "/", 2)
    return "unmounted /"


def unmount_home():
    return unmount(facts.home)


def move_over_protected():
    privately()
    os.mkdir("evil")
    call("mount", "evil", ".git", 0, BIND, 0)
    return "another directory is mounted there"


def set_attributes():
    # mount_setattr takes the read-only flag away.
    privately()
    attributes = ctypes.create_string_buffer(struct.pack("QQQQ", 0, 1, 0, 0), 32)
    call("mount_setattr", AT_FDCWD, "/", 0x8000, attributes, 32)
    return "everything is writable"


def clone_tree():
    # A copy of the mounts without their parents.
    privately()
    tree = call("open_tree", AT_FDCWD, facts.readable, 1 | os.O_CLOEXEC)
    attributes = ctypes.create_string_buffer(struct.pack("QQQQ", 0, 1, 0, 0), 32)
    call("mount_setattr", tree, "", AT_EMPTY_PATH, attributes, 32)
    descriptor = os.open("keep", os.O_WRONLY, dir_fd=tree)
    os.write(descriptor, b"changed")


def move_tree():
    make_mount_point()
    tree = call("open_tree", AT_FDCWD, "/", 1 | os.O_CLOEXEC)
    call("move_mount", tree, "", AT_FDCWD, "here", 4)
    return "/ is mounted once more"


def new_file_system():
    privately()
    for kind in ("tmpfs", "proc", "overlay"):
        with contextlib.suppress(OSError):
            context = call("fsopen", kind, 1)
            return f"a context of {kind}: {context}"
    raise OSError(errno.EPERM, "refused")


def pick_file_system():
    privately()
    return f"a context: {call('fspick', AT_FDCWD, '/', 1)}"


def pivot():
    privately()
    os.makedirs("here/old")
    if is_off():
        call("mount", "none", "here", "tmpfs", 0, 0)
        os.mkdir("here/old")
    call("pivot_root", "here", "here/old")
    return "another root"


def change_root():
    # Root of a directory inside, then up from one outside of it: the classic way out.
    os.mkdir("here")
    directory = os.open(".", os.O_RDONLY)
    call("chroot", "here")
    os.fchdir(directory)
    for _ in range(40):
        os.chdir("..")
    call("chroot", ".")
    return read(facts.outside + "/secret")


def change_root_to_others():
    def attempt(pid):
        call("chroot", f"/proc/{pid}/root")
        return read(facts.outside + "/secret")
    return each([(pid, lambda pid=pid: in_child(lambda: attempt(pid))) for pid in (facts.pid, facts.zot, 1)])


def mount_proc():
    make_mount_point()
    call("mount", "proc", "here", "proc", 0, 0)
    return "mounted proc"


def mount_devices():
    make_mount_point()
    return each([(kind, lambda kind=kind: call("mount", kind, "here", kind, 0, 0) and None)
                 for kind in ("devtmpfs", "devpts", "sysfs", "cgroup2", "securityfs", "debugfs", "mqueue", "bpf")])


def mount_disk():
    make_mount_point()
    names = ["/dev/" + name for name in (quietly(os.listdir, "/sys/block") or [])] + ["/dev/vda", "/dev/sda"]
    return each([(name, lambda name=name: call("mount", name, "here", "ext4", READ_ONLY, 0) and None) for name in names])


def overlay():
    privately()
    for name in ("upper", "work", "here"):
        os.mkdir(name)
    options = f"lowerdir={facts.readable},upperdir=upper,workdir=work"
    call("mount", "overlay", "here", "overlay", 0, options)
    return "mounted an overlay"


def share_propagation():
    # Mounts that reach the outside.
    privately()
    call("mount", 0, "/", 0, SHARED | RECURSIVE, 0)
    return "mounts propagate"


def user_file_system():
    # The setuid helper of FUSE mounts for ordinary users.
    programs = [path for path in ("/usr/bin/fusermount3", "/usr/bin/fusermount") if os.path.exists(path)]
    if not programs:
        raise Held("there is no helper")
    os.mkdir("here")
    one, other = socket.socketpair()
    result = subprocess.run([programs[0], "--", "here"], capture_output=True, pass_fds=[other.fileno()],
                            env={**os.environ, "_FUSE_COMMFD": str(other.fileno())}, timeout=5)
    if result.returncode:
        raise Held("refused")
    subprocess.run([programs[0], "-u", "here"], capture_output=True)
    return "mounted"


