# The level `read-only`: the working directory can be read, and nothing else.


def write_file():
    write("file.txt")


def create_file():
    write("new")


def append_file():
    with open("file.txt", "ab") as file:
        file.write(b"more")


def truncate_file():
    os.truncate("file.txt", 0)


def remove_file():
    os.unlink("file.txt")


def rename_file():
    os.rename("file.txt", "moved")


def make_directory():
    os.mkdir("made")


def make_link():
    os.symlink("file.txt", "link")


def make_hard_link():
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "zot-hard-%d" % os.getpid())
    os.link("file.txt", path)
    os.unlink(path)


def change_mode():
    os.chmod("file.txt", 0o777)


def change_times():
    os.utime("file.txt", (1, 1))


def change_attribute():
    os.setxattr("file.txt", "user.zot", b"x")


def map_file():
    descriptor = os.open("file.txt", os.O_RDWR)
    with mmap.mmap(descriptor, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as mapping:
        mapping[0:4] = b"mmap"


def write_through_proc():
    descriptor = os.open("file.txt", os.O_RDONLY)
    write(f"/proc/self/fd/{descriptor}")


def write_unnamed_file():
    descriptor = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    call("linkat", AT_FDCWD, f"/proc/self/fd/{descriptor}", AT_FDCWD, "new", 0x400)


def write_by_git():
    subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"],
                   capture_output=True)


def remount():
    privately()
    if is_off():
        call("mount", facts.workspace, facts.workspace, 0, 4096, 0)
    call("mount", 0, facts.workspace, 0, 32 | 4096, 0)
    write(facts.workspace + "/file.txt")
