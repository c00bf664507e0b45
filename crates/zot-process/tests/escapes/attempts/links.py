# Links from the working directory to what lies outside.


def outside(name):
    return os.path.join(facts.outside, name)


def read_symbolic_link():
    os.symlink(outside("secret"), "link")
    return read("link")


def write_symbolic_link():
    os.symlink(outside("keep"), "link")
    write("link")


def create_through_dangling_link():
    os.symlink(outside("new"), "link")
    write("link")


def read_relative_link():
    os.symlink(os.path.relpath(facts.outside, facts.workspace), "link")
    return read("link/secret")


def read_link_to_directory():
    os.symlink(facts.outside, "link")
    return read("link/secret")


def list_link_to_directory():
    os.symlink(facts.listed, "link")
    return " ".join(os.listdir("link")).encode()


def read_link_chain():
    target = outside("secret")
    for number in range(30):
        os.symlink(target, f"link{number}")
        target = f"link{number}"
    return read(target)


def read_link_to_root():
    os.symlink("/", "link")
    return read("link" + outside("secret"))


def read_link_through_proc():
    os.symlink("/proc/self/root" + outside("secret"), "link")
    return read("link")


def read_link_through_proc_cwd():
    os.symlink("/proc/self/cwd/" + os.path.relpath(outside("secret"), facts.workspace), "link")
    return read("link")


def read_link_in_temporary_directory():
    directory = os.environ.get("TMPDIR", "/tmp")
    path = os.path.join(directory, "zot-link-%d" % os.getpid())
    os.symlink(outside("secret"), path)
    try:
        return read(path)
    finally:
        os.unlink(path)


def read_link_in_home():
    path = os.path.join(os.environ["HOME"], "zot-link-%d" % os.getpid())
    os.symlink(outside("secret"), path)
    try:
        return read(path)
    finally:
        os.unlink(path)


def read_planted_link():
    # One that was there before, as in a repository that was cloned.
    return read("planted/secret")


def write_planted_link():
    write("planted/keep")


def hard_link_to_read():
    os.link(outside("secret"), "hard")
    return read("hard")


def hard_link_to_write():
    os.link(outside("keep"), "hard")
    write("hard")


def hard_link_out():
    write("mine")
    os.link("mine", outside("new"))


def hard_link_by_descriptor():
    descriptor = os.open(outside("keep"), os.O_PATH)
    call("linkat", descriptor, "", AT_FDCWD, "hard", AT_EMPTY_PATH)
    write("hard")


def hard_link_through_proc():
    descriptor = os.open(outside("keep"), os.O_PATH)
    call("linkat", AT_FDCWD, f"/proc/self/fd/{descriptor}", AT_FDCWD, "hard", 0x400)
    write("hard")


def symbolic_link_outside():
    os.symlink("/", outside("link"))


def copy_with_links():
    # Tools that follow links by themselves.
    os.symlink(facts.outside, "link")
    subprocess.run(["cp", "-rL", "link", "copy"], capture_output=True)
    return each([(path, lambda path=path: read(path)) for path in ("copy/secret",)])


def unpack_archive():
    # An archive with a link, and a file behind it.
    import io
    import tarfile
    with tarfile.open("evil.tar", "w") as archive:
        link = tarfile.TarInfo("to")
        link.type, link.linkname = tarfile.SYMTYPE, facts.outside
        archive.addfile(link)
        file = tarfile.TarInfo("to/keep")
        file.size = 4
        archive.addfile(file, io.BytesIO(b"evil"))
    import warnings
    warnings.simplefilter("ignore")
    with tarfile.open("evil.tar") as archive:
        archive.extractall()
