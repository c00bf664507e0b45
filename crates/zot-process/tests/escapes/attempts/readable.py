# A directory that may be read, and nothing else: every change of its files.


def kept():
    return os.path.join(facts.readable, "keep")


def write_content():
    write(kept())


def write_through_descriptor():
    # Opened for reading, then once more for writing.
    descriptor = os.open(kept(), os.O_RDONLY)
    write(f"/proc/self/fd/{descriptor}")


def write_through_mapping():
    writable = os.open(kept(), os.O_RDWR)
    with mmap.mmap(writable, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as mapping:
        mapping[0:4] = b"mmap"


def lease():
    # Programs that want to write to the file have to wait.
    fcntl.fcntl(os.open(kept(), os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
    return "others have to wait"


def truncate():
    os.truncate(kept(), 0)


def remove():
    os.unlink(kept())


def rename():
    os.rename(kept(), kept() + ".moved")


def rename_into_workspace():
    os.rename(kept(), "taken")


def create():
    write(os.path.join(facts.readable, "new"))


def replace():
    write("mine")
    os.rename("mine", kept())


def link_into_workspace():
    # The same file under a name that can be written.
    os.link(kept(), "linked")
    write("linked")


def link_by_descriptor():
    descriptor = os.open(kept(), os.O_PATH)
    call("linkat", descriptor, "", AT_FDCWD, "linked", AT_EMPTY_PATH)
    write("linked")


def link_through_proc():
    descriptor = os.open(kept(), os.O_RDONLY)
    call("linkat", AT_FDCWD, f"/proc/self/fd/{descriptor}", AT_FDCWD, "linked", 0x400)
    write("linked")


def change_mode():
    os.chmod(kept(), 0o777)


def change_mode_by_descriptor():
    os.fchmod(os.open(kept(), os.O_RDONLY), 0o777)


def change_mode_without_following():
    call("fchmodat2", AT_FDCWD, kept(), 0o777, 0)


def change_owner():
    os.chown(kept(), os.getuid(), os.getgid())


def change_times():
    os.utime(kept(), (1, 1))


def change_times_by_descriptor():
    os.utime(os.open(kept(), os.O_RDONLY), (1, 1))


def change_extended_attribute():
    os.setxattr(kept(), "user.zot", b"changed")


def change_flags():
    # FS_IOC_SETFLAGS with FS_NODUMP_FL
    fcntl.ioctl(os.open(kept(), os.O_RDONLY), 0x40086602, b"\x40" + bytes(7))


def change_directory_mode():
    os.chmod(facts.readable, 0o777)


def replace_program():
    # A program that the user runs later.
    write(os.path.join(facts.readable, "tool"), b"#!/bin/sh\ntouch " + os.fsencode(facts.marker) + b"\n")


def write_toolchain():
    names = (".cargo/bin/tool", ".local/bin/tool", ".cargo/registry/index", ".npm/package", ".pyenv/shims/tool",
             ".gitconfig", ".cargo/config.toml", ".rustup/settings")
    # Some may be copies that only this session sees.
    for name in names:
        quietly(write, os.path.join(facts.home, name))


def write_toolchain_through_home():
    # The home of the sandbox may link to the real directories.
    home = os.environ.get("HOME", "/nonexistent")
    for name in (".cargo/bin/tool", ".local/bin/tool", ".npm/package", ".gitconfig", ".pyenv/shims/tool"):
        quietly(write, os.path.join(home, name))
        quietly(os.chmod, os.path.join(home, name), 0o777)
    for name in (".cargo/bin/new", ".local/bin/new", ".npm/new"):
        quietly(write, os.path.join(home, name))


def replace_toolchain_through_home():
    home = os.environ.get("HOME", "/nonexistent")
    for name in (".cargo/bin", ".local/bin", ".npm", ".gitconfig"):
        path = os.path.join(home, name)
        quietly(os.rename, path, path + ".old")
        quietly(os.unlink, path + "/tool")
        quietly(os.makedirs, path)
        quietly(write, os.path.join(path, "tool"))


def hidden():
    # Where keys and sessions are, in a directory that may be read otherwise.
    return os.path.join(facts.readable, "hidden")


def read_hidden_directory():
    return read(os.path.join(hidden(), "secret"))


def list_hidden_directory():
    return " ".join(os.listdir(hidden())).encode()


def read_hidden_directory_by_descriptor():
    directory = os.open(facts.readable, os.O_PATH | os.O_DIRECTORY)
    descriptor = os.open("hidden/secret", os.O_RDONLY, dir_fd=directory)
    return os.read(descriptor, 4096)


def write_hidden_directory():
    write(os.path.join(hidden(), "new"))
