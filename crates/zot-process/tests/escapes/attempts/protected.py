# Files of the working directory that other programs obey. Each way is tried on all of them.


def existing():
    return [path for path in facts.protected if os.path.lexists(path)]


def file_of(path):
    """The protected file, or one in the protected directory."""
    return os.path.join(path, "settings") if os.path.isdir(path) else path


def on_all(function, paths=None):
    """The test compares them all afterwards."""
    for path in existing() if paths is None else paths:
        quietly(function, path)


def write_existing():
    on_all(lambda path: write(file_of(path)))


def append_existing():
    def attempt(path):
        with open(file_of(path), "ab") as file:
            file.write(b"changed")
    on_all(attempt)


def truncate_existing():
    on_all(lambda path: call("truncate", file_of(path), 0))


def map_existing():
    def attempt(path):
        descriptor = os.open(file_of(path), os.O_RDWR)
        with mmap.mmap(descriptor, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as mapping:
            mapping[0:4] = b"mmap"
    on_all(attempt)


def copy_into_existing():
    write("mine")

    def attempt(path):
        source, target = os.open("mine", os.O_RDONLY), os.open(file_of(path), os.O_WRONLY)
        call("copy_file_range", source, 0, target, 0, 7, 0)
    on_all(attempt)


def send_into_existing():
    write("mine")

    def attempt(path):
        source, target = os.open("mine", os.O_RDONLY), os.open(file_of(path), os.O_WRONLY)
        os.sendfile(target, source, 0, 7)
    on_all(attempt)


def allocate_existing():
    def attempt(path):
        descriptor = os.open(file_of(path), os.O_RDWR)
        os.posix_fallocate(descriptor, 0, 4096)
    on_all(attempt)


def remove_existing():
    on_all(lambda path: os.unlink(file_of(path)))
    on_all(os.rmdir)


def remove_trees():
    subprocess.run(["rm", "-rf", *existing()], capture_output=True)


def rename_existing_away():
    on_all(lambda path: os.rename(path, path + ".moved"))


def rename_over_existing():
    def attempt(path):
        write("mine")
        os.rename("mine", file_of(path))
    on_all(attempt)


def exchange_existing():
    def attempt(path):
        write("mine")
        call("renameat2", AT_FDCWD, "mine", AT_FDCWD, path, 2)
    on_all(attempt)


def replace_by_link():
    def attempt(path):
        os.rename(path, path + ".moved")
        os.symlink("elsewhere", path)
    on_all(attempt)


def write_through_symbolic_link():
    for number, path in enumerate(existing()):
        quietly(os.symlink, file_of(path), f"link{number}")
        quietly(write, f"link{number}")


def write_through_hard_link():
    for number, path in enumerate(existing()):
        quietly(os.link, file_of(path), f"hard{number}")
        quietly(write, f"hard{number}")


def write_through_directory_link():
    os.symlink(".", "here")
    on_all(lambda path: write(os.path.join("here", file_of(path))))


def write_through_proc():
    on_all(lambda path: write(os.path.join("/proc/self/cwd", file_of(path))))
    on_all(lambda path: write("/proc/self/root" + os.path.join(facts.workspace, file_of(path))))


def reopen_for_writing():
    def attempt(path):
        descriptor = os.open(file_of(path), os.O_RDONLY)
        write(f"/proc/self/fd/{descriptor}")
    on_all(attempt)


def change_mode_of_existing():
    on_all(lambda path: os.chmod(file_of(path), 0o777))
    on_all(lambda path: os.chmod(path, 0o777))


def change_times_of_existing():
    on_all(lambda path: os.utime(file_of(path), (1, 1)))


def create_in_existing():
    on_all(lambda path: write(os.path.join(path, "new")))
    on_all(lambda path: os.mkdir(os.path.join(path, "made")))


def unmount_existing():
    on_all(lambda path: call("umount2", path, 2))
    on_all(lambda path: write(file_of(path)))


def rename_parent_of_existing():
    # Only .git has protected children; a rename of it takes them along.
    os.rename(".git", "old")
    write("old/config")
    write("old/hooks/settings")
    os.rename("old", ".git")


def replace_parent_of_existing():
    os.rename(".git", "old")
    os.makedirs(".git/hooks")
    write(".git/config")
    write(".git/hooks/settings")


def exchange_parent_of_existing():
    os.makedirs("evil/hooks")
    write("evil/config")
    call("renameat2", AT_FDCWD, "evil", AT_FDCWD, ".git", 2)


def copy_workspace_and_exchange():
    # The working directory itself, replaced by a copy of it.
    parent = os.path.dirname(facts.workspace)
    copy = os.path.join(parent, "copy-%d" % os.getpid())
    os.mkdir(copy)
    write(os.path.join(copy, ".mcp.json"))
    call("renameat2", AT_FDCWD, copy, AT_FDCWD, facts.workspace, 2)


def missing():
    return [path for path in facts.protected if not os.path.lexists(path)]


def create_missing():
    def attempt(path):
        quietly(os.makedirs, os.path.dirname(path) or ".")
        write(path)
    on_all(attempt, missing())


def create_missing_directories():
    def attempt(path):
        os.makedirs(path)
        write(os.path.join(path, "settings"))
    on_all(attempt, missing())


def create_missing_links():
    os.mkdir("evil")
    write("evil/settings")

    def attempt(path):
        quietly(os.makedirs, os.path.dirname(path) or ".")
        os.symlink(os.path.join(facts.workspace, "evil"), path)
    on_all(attempt, missing())


def create_missing_pipes():
    on_all(os.mkfifo, [path for path in missing() if "/" not in path])


def create_missing_sockets():
    def attempt(path):
        call("mknodat", AT_FDCWD, path, stat.S_IFSOCK | 0o600, 0)
    on_all(attempt, [path for path in missing() if "/" not in path])


def create_missing_hard_links():
    write("mine")
    os.makedirs(".git", exist_ok=True)
    on_all(lambda path: os.link("mine", path), missing())


def create_missing_unnamed():
    # A file without a name, which gets one.
    def attempt(path):
        descriptor = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
        os.write(descriptor, b"changed")
        call("linkat", AT_FDCWD, f"/proc/self/fd/{descriptor}", AT_FDCWD, path, 0x400)
    os.makedirs(".git", exist_ok=True)
    on_all(attempt, missing())


def rename_to_missing():
    os.makedirs(".git", exist_ok=True)

    def attempt(path):
        write("mine")
        os.rename("mine", path)
    on_all(attempt, missing())


def rename_directory_to_missing():
    os.makedirs(".git", exist_ok=True)

    def attempt(path):
        os.mkdir("mine")
        write("mine/settings")
        os.rename("mine", path)
    on_all(attempt, missing())


def create_missing_through_parent():
    # The parent of a protected path arrives whole, under another name first.
    os.makedirs("evil/hooks")
    write("evil/config")
    write("evil/hooks/pre-commit")
    os.rename("evil", ".git")


def create_missing_through_linked_parent():
    os.makedirs("evil/hooks")
    write("evil/config")
    os.symlink("evil", ".git")


def link_parent_of_missing():
    # What appears below .git must not be renamed in another repository.
    os.rename(".git", "old")
    os.symlink(os.path.join(facts.home, "main", ".git"), ".git")


def create_missing_at_the_last_moment():
    # By a process that is killed with all the others.
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            for path in (".mcp.json", ".envrc", ".bashrc"):
                quietly(write, path)


def create_missing_with_taken_names():
    # Whatever they could be renamed to is there already, and not empty.
    def attempt(path):
        quietly(os.makedirs, path + ".withheld/full")
        write(path + ".withheld/full/file")
        for number in range(1, 20):
            quietly(os.makedirs, f"{path}.withheld.{number}/full")
            quietly(os.makedirs, f"{path}.withheld-{number}/full")
            quietly(os.makedirs, f"{path}.withheld{number}/full")
        write(path)
    on_all(attempt, [path for path in missing() if "/" not in path])


def create_missing_with_linked_names():
    # What they are renamed to leads elsewhere.
    def attempt(path):
        os.symlink(os.path.join(facts.outside, "keep"), path + ".withheld")
        write(path)
    on_all(attempt, [path for path in missing() if "/" not in path])


def create_missing_in_locked_directory():
    # Nothing can be renamed in a directory that cannot be written.
    for path in (".mcp.json", ".envrc", ".zot"):
        write(path)
    quietly(os.mkdir, ".git")
    quietly(write, ".git/config")
    quietly(os.chmod, ".git", 0o500)
    quietly(os.chmod, ".", 0o500)


def create_missing_without_permissions():
    for path in (".zot", ".vscode", ".claude"):
        os.mkdir(path)
        write(path + "/settings.json")
        quietly(os.chmod, path, 0)


def create_missing_long_tree():
    # A directory that takes long to move or to look through.
    os.makedirs(".zot/" + "d/" * 200)
    write(".zot/config.json")


def create_missing_immutable():
    # FS_IOC_SETFLAGS with FS_IMMUTABLE_FL: neither renamed nor removed, even by root.
    write(".mcp.json")
    descriptor = os.open(".mcp.json", os.O_RDONLY)
    fcntl.ioctl(descriptor, 0x40086602, struct.pack("l", 0x10))
    if is_off():
        fcntl.ioctl(descriptor, 0x40086602, struct.pack("l", 0))


def create_missing_by_other_name():
    # Spellings that some systems take for the same name.
    for path in (".MCP.JSON", ".Zot", ".mcp.json.", ".mcp.json ", ".\u200cmcp.json"):
        quietly(write, path)
    if os.path.lexists(".mcp.json"):
        return "another spelling made .mcp.json"
    raise Held("other spellings are other files here")
