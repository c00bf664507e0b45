# Namespaces: new ones, in which a process has every right, and those of others.


def with_new_user(attempt, how="unshare", others=NAMESPACES["mnt"]):
    """Runs the attempt as root of a new user namespace, made in one of three ways."""
    user, group = os.getuid(), os.getgid()

    def inside():
        if how == "unshare":
            call("unshare", NAMESPACES["user"] | others)
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            quietly(write, f"/proc/self/{name}", text.encode())
        return attempt()

    if how == "unshare":
        return in_child(inside)
    return cloned(inside, how, NAMESPACES["user"] | others)


def cloned(function, how, flags):
    """As in_child, with `clone` or `clone3`."""
    reader, writer = os.pipe()
    if how == "clone3":
        arguments = ctypes.create_string_buffer(struct.pack("8Q", flags, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
        child = call("clone3", arguments, 64)
    else:
        child = call("clone", flags | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        try:
            result = function()
            os.write(writer, b"ok " + (result if isinstance(result, bytes) else (result or "").encode()))
        except OSError as error:
            os.write(writer, f"error {error.errno}".encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        answer = file.read()
    os.waitpid(child, 0)
    if answer.startswith(b"error "):
        number = int(answer[6:])
        raise OSError(number, os.strerror(number))
    if not answer.startswith(b"ok "):
        raise Held("the child was killed")
    return answer[3:].decode() or None


def change_everything():
    """What a root of its own namespace would try."""
    quietly(call, "mount", 0, "/", 0, 32 | 4096, 0)
    for path in (facts.readable, ".git/config", ".git/hooks"):
        quietly(call, "umount2", path, 2)
        quietly(call, "mount", 0, path, 0, 32 | 4096, 0)
    quietly(write, os.path.join(facts.readable, "keep"))
    quietly(write, ".git/config")
    quietly(write, os.path.join(facts.outside, "keep"))
    return quietly(read, os.path.join(facts.outside, "secret"))


def root_of_namespace():
    # To be it is enough: it opens much of the kernel to attacks.
    secret = change_everything() or b""
    return "root of a new namespace " + secret.decode()


def user_by_unshare():
    return with_new_user(root_of_namespace)


def user_by_clone():
    return with_new_user(root_of_namespace, "clone")


def user_by_clone3():
    return with_new_user(root_of_namespace, "clone3")


def user_and_all_others():
    everything = sum(flag for name, flag in NAMESPACES.items() if name not in ("user", "time"))
    return with_new_user(root_of_namespace, "unshare", everything)


def user_within_user():
    return with_new_user(lambda: with_new_user(root_of_namespace))


def mount_in_new_user():
    def attempt():
        os.mkdir("here")
        call("mount", "none", "here", "tmpfs", 0, 0)
        return "mounted"
    return with_new_user(attempt)


def bind_in_new_user():
    def attempt():
        os.mkdir("here")
        call("mount", facts.outside, "here", 0, 4096 | 16384, 0)
        return read("here/secret")
    return with_new_user(attempt)


def trace_from_new_user():
    return with_new_user(lambda: call("ptrace", 0x4206, facts.pid, 0, 0) or "traced", others=0)


def network_in_new_user():
    # Raw sockets of a network of its own are no harm; those of the machine would be.
    def attempt():
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300):
            return "a packet socket" + str([name for _, name in socket.if_nameindex()])
    return with_new_user(attempt, others=0)


def device_in_new_user():
    def attempt():
        os.mknod("node", stat.S_IFBLK | 0o600, os.makedev(254, 0))
        return "made a device"
    return with_new_user(attempt, others=0)


def keys():
    listed = facts.key_description.encode() in read("/proc/keys")
    return "the key of the bystander is listed" if listed else None


def keys_in_new_user():
    return with_new_user(keys, others=0)


def enter(path, kind=0):
    descriptor = os.open(path, os.O_RDONLY)
    call("setns", descriptor, kind)


def entered(path, name):
    enter(path, NAMESPACES[name])
    if name == "mnt":
        return read(facts.outside + "/secret")
    return f"entered {path}"


def namespaces_of(pid):
    return each([(name, lambda name=name: in_child(lambda: entered(f"/proc/{pid}/ns/{name}", name)))
                 for name in ("mnt", "net", "pid", "ipc", "uts", "cgroup", "user")])


def enter_first_process():
    if is_off():
        return namespaces_of(1)
    # Inside, the first process may be our own supervisor, whose namespaces are no escape by themselves.
    def attempt():
        for name in ("user", "mnt", "net", "pid", "ipc"):
            quietly(enter, f"/proc/1/ns/{name}")
        return change_everything() or b""
    return in_child(attempt)


def enter_bystander():
    return namespaces_of(facts.pid)


def enter_zot():
    return namespaces_of(facts.zot)


def enter_parent():
    def attempt():
        for name in ("user", "mnt", "net", "pid", "ipc"):
            quietly(enter, f"/proc/{os.getppid()}/ns/{name}")
        return change_everything() or b""
    return in_child(attempt)


def owner_of_namespace(request):
    # NS_GET_USERNS and NS_GET_PARENT lead to namespaces above.
    def attempt(name):
        descriptor = os.open(f"/proc/self/ns/{name}", os.O_RDONLY)
        above = fcntl.ioctl(descriptor, request)
        call("setns", above, 0)
        return "entered"
    return each([(name, lambda name=name: in_child(lambda: attempt(name))) for name in ("user", "pid", "net", "mnt")])


def enter_owner():
    return owner_of_namespace(0xB701)


def enter_ancestor():
    return owner_of_namespace(0xB702)


def enter_by_handle():
    # FD_NSFS_ROOT: a namespace named by a handle.
    if facts.namespace_handle is None:
        raise Held("this kernel has no handles of namespaces")
    kind, handle = facts.namespace_handle
    raw = bytes.fromhex(handle)
    buffer = ctypes.create_string_buffer(struct.pack("Ii", len(raw), kind) + raw)
    descriptor = call("open_by_handle_at", -10003, buffer, os.O_RDONLY)
    call("setns", descriptor, 0)
    return "entered"


def next_mount_namespace():
    # NS_MNT_GET_NEXT and NS_MNT_GET_PREV walk through all mount namespaces.
    def attempt(request):
        descriptor = os.open("/proc/self/ns/mnt", os.O_RDONLY)
        for _ in range(8):
            descriptor = fcntl.ioctl(descriptor, request, 0)
        return "reached another mount namespace"
    return each([(hex(request), lambda request=request: attempt(request)) for request in (0x8010B70B, 0x8010B70C)])


def list_namespaces():
    # listns names the namespaces of the machine.
    request = ctypes.create_string_buffer(struct.pack("IIQQII", 32, 0, 0, 0, 0, 0))
    found = ctypes.create_string_buffer(8 * 512)
    count = call("listns", request, found, 512, 0)
    return f"{count} namespaces" if count > 8 else None
