# Names that change between a check and its use.


def racing(first, second, attempt):
    """Repeats the attempt while another process exchanges two names; returns what was read."""
    swapper = os.fork()
    if swapper == 0:
        while True:
            quietly(call, "renameat2", AT_FDCWD, first, AT_FDCWD, second, 2)
    got = set()
    try:
        # Without a sandbox it must succeed, on a busy machine as well.
        end = time.monotonic() + (2 if is_off() else 0.5)
        while time.monotonic() < end:
            result = quietly(attempt)
            if isinstance(result, bytes):
                got.add(result)
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)
    return b"".join(got)


def prepared():
    os.mkdir("plain")
    write("plain/secret", b"nothing")
    write("plain/keep", b"nothing")
    os.symlink(facts.outside, "link")


def read_while_swapping():
    prepared()
    return racing("plain", "link", lambda: read("plain/secret"))


def write_while_swapping():
    prepared()
    racing("plain", "link", lambda: write("plain/keep"))


def create_while_swapping():
    prepared()
    racing("plain", "link", lambda: write("plain/new"))


def rename_while_swapping():
    prepared()

    def attempt():
        write("mine")
        os.rename("mine", "plain/keep")

    racing("plain", "link", attempt)


def remove_while_swapping():
    prepared()

    def attempt():
        quietly(os.unlink, "plain/keep")
        quietly(write, "plain/keep")

    racing("plain", "link", attempt)


def change_mode_while_swapping():
    prepared()
    racing("plain", "link", lambda: os.chmod("plain/keep", 0o777))


def swap_file_with_link():
    write("plain", b"nothing")
    os.symlink(os.path.join(facts.outside, "secret"), "link")
    return racing("plain", "link", lambda: read("plain"))


def swap_git_directory():
    # The protections of .git/config and .git/hooks lie on names inside of what is swapped.
    os.makedirs("evil/hooks")
    write("evil/config", b"changed")
    racing(".git", "evil", lambda: write(".git/config"))
    quietly(os.rename, "evil", ".git")


def move_directory_while_inside():
    # The parent of the current directory changes under us; then up and out.
    os.makedirs("a/b/c")
    temporary = os.environ.get("TMPDIR", "/tmp")
    target = os.path.join(temporary, "zot-moved-%d" % os.getpid())
    os.chdir("a/b/c")
    quietly(os.rename, facts.workspace + "/a/b", target)
    try:
        for _ in range(20):
            os.chdir("..")
            found = quietly(read, facts.outside.lstrip("/") + "/secret")
            if found:
                return found
    finally:
        subprocess.run(["rm", "-rf", target], capture_output=True)
    raise Held("nothing was found on the way up")


def swap_temporary_directory():
    temporary = os.environ.get("TMPDIR", "/tmp")
    path = os.path.join(temporary, "zot-swap-%d" % os.getpid())
    os.mkdir(path)
    write(path + "/keep")
    os.symlink(facts.outside, path + "-link")
    try:
        racing(path, path + "-link", lambda: write(path + "/keep"))
    finally:
        subprocess.run(["rm", "-rf", path, path + "-link"], capture_output=True)
