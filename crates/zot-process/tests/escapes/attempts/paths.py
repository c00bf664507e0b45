# Paths that lead out of the working directory, and every change of what lies there.


def outside(name):
    return os.path.join(facts.outside, name)


def to_outside(name):
    return os.path.relpath(outside(name), facts.workspace)


def read_absolute():
    return read(outside("secret"))


def read_parent():
    return read(to_outside("secret"))


def read_doubled_slashes():
    return read(outside("secret").replace("/", "////"))


def read_long_path():
    # Just below the longest path that the kernel takes.
    name = to_outside("secret")
    return read("./" * ((4095 - len(name)) // 2) + name)


def read_bytes_of_no_encoding():
    directory = os.fsencode(facts.outside) + b"/\xff\xfe\x80"
    return read(directory + b"/secret")


def read_component_limit():
    # A chain of directories longer than any path, entered one by one; then up again and out.
    depth = 0
    name = "d" * 200
    for _ in range(30):
        os.mkdir(name)
        os.chdir(name)
        depth += 1
    for _ in range(depth):
        os.chdir("..")
    return read(to_outside("secret"))


def read_through_removed_directory():
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    return read("../" + to_outside("secret"))


def read_through_open_parent():
    directory = os.open("..", os.O_PATH)
    for _ in range(6):
        directory = os.open("..", os.O_PATH, dir_fd=directory)
    return read_at(directory, outside("secret").lstrip("/"))


def read_at(directory, path):
    descriptor = os.open(path, os.O_RDONLY, dir_fd=directory)
    return os.read(descriptor, 4096)


def read_path_descriptor():
    # A descriptor that only names a file, opened again through /proc.
    descriptor = os.open(outside("secret"), os.O_PATH)
    return read(f"/proc/self/fd/{descriptor}")


def read_openat2():
    how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_RDONLY, 0, 0), 24)
    descriptor = call("openat2", AT_FDCWD, outside("secret"), how, 24)
    return os.read(descriptor, 4096)


def read_file_handle():
    return opened_by_handle(facts.file_handle, os.O_RDONLY)


def read_root_handle():
    kind, handle = facts.root_handle
    root = handle_descriptor(kind, handle, os.O_RDONLY | os.O_DIRECTORY)
    return read_at(root, outside("secret").lstrip("/"))


def handle_descriptor(kind, handle, flags, mount=None):
    raw = bytes.fromhex(handle)
    buffer = ctypes.create_string_buffer(struct.pack("Ii", len(raw), kind) + raw)
    mount = os.open(".", os.O_RDONLY) if mount is None else mount
    return call("open_by_handle_at", mount, buffer, flags)


def opened_by_handle(handle, flags):
    if handle is None:
        raise Held("this file system has no handles")
    return os.read(handle_descriptor(*handle, flags), 4096)


def read_home():
    home = facts.home
    return each([(name, lambda name=name: read(os.path.join(home, name))) for name in (
        ".ssh/id_ed25519", ".config/token", ".netrc", ".bash_history")])


def read_tilde():
    # What the password database and the shell call home.
    command = ["/bin/sh", "-c", f"HOME={facts.home}; cat ~/.netrc ~/.ssh/id_ed25519"]
    return subprocess.run(command, capture_output=True).stdout


def list_outside():
    return " ".join(os.listdir(facts.listed)).encode()


def list_home():
    return " ".join(os.listdir(facts.home)).encode()


def read_temporary_file_of_others():
    return read(facts.tmp_file)


def write_absolute():
    write(outside("keep"))


def write_parent():
    write(to_outside("keep"))


def write_new_file():
    write(outside("new"))


def write_home():
    each([(name, lambda name=name: write(os.path.join(facts.home, name))) for name in (
        ".bashrc", ".config/new", ".profile")])


def write_other_project():
    write(os.path.join(facts.other, "keep"))


def write_temporary_files():
    # A name that the test looks for; a directory of our own may be in its place.
    write(facts.tmp_new)


def append():
    with open(outside("keep"), "ab") as file:
        file.write(b"more")


def truncate_by_path():
    call("truncate", outside("keep"), 0)


def truncate_on_open():
    os.open(outside("keep"), os.O_WRONLY | os.O_TRUNC)


def remove_file():
    os.unlink(outside("keep"))


def remove_directory():
    os.rmdir(outside("empty"))


def make_directory():
    os.mkdir(outside("made"))


def make_pipe():
    os.mkfifo(outside("pipe"))


def rename_in():
    os.rename(outside("keep"), "taken")


def rename_out():
    write("mine")
    os.rename("mine", outside("keep"))


def rename_outside():
    os.rename(outside("keep"), outside("moved"))


def exchange_with_outside():
    write("mine")
    call("renameat2", AT_FDCWD, "mine", AT_FDCWD, outside("keep"), 2)


def rename_workspace_away():
    os.rename(facts.workspace, facts.workspace + ".moved")


def write_parent_of_workspace():
    write("../beside")


def write_system():
    name = "zot-escapes-%d" % os.getpid()

    def attempt(directory):
        path = os.path.join(directory, name)
        write(path)
        os.unlink(path)

    directories = ("/", "/etc", "/usr", "/usr/bin", "/usr/local/bin", "/opt", "/var/lib")
    return each([(path, lambda path=path: attempt(path)) for path in directories if os.path.isdir(path)])


def write_loader_files():
    # Opened, not changed: what they say decides which code every program runs.
    paths = ["/etc/ld.so.cache", "/etc/passwd", "/etc/hosts", "/bin/sh", "/usr/bin/env"]
    return each([(path, lambda path=path: opens(path, os.O_WRONLY)) for path in paths])
