# The private directories of another sandbox, and of this one.


def read_files_of_other_command():
    return read(os.path.join(facts.neighbour_temporary, "secret"))


def write_files_of_other_command():
    write(os.path.join(facts.neighbour_temporary, "keep"))


def list_files_of_other_command():
    return " ".join(os.listdir(facts.neighbour_temporary)).encode()


def read_home_of_other_command():
    return read(os.path.join(facts.neighbour, "home", "secret"))


def list_temporary_directory():
    return each([(path, lambda path=path: " ".join(os.listdir(path)).encode()) for path in (
        facts.tmp, "/tmp", "/var/tmp", os.environ.get("TMPDIR", "/tmp"))])


def read_by_temporary_path():
    # The same name in the temporary directory that the command sees.
    names = ("/tmp/secret", "/var/tmp/secret", os.path.join(os.environ.get("TMPDIR", "/tmp"), "secret"))
    return each([(name, lambda name=name: read(name)) for name in names] +
                [("other", lambda: read(os.path.join(facts.neighbour_temporary, "secret")))])


def change_scratch_directory():
    # The parent of our own temporary directory holds what the sandbox is made of.
    for path in (facts.scratch, os.path.join(facts.scratch, "empty"), os.path.join(facts.scratch, "root-1")):
        quietly(write, os.path.join(path, "planted"))
        quietly(os.rename, os.path.join(path, "home"), os.path.join(path, "home.old"))


def replace_own_directories():
    # Links in place of our own home and temporary directory: the next command would follow them.
    for path in (os.environ.get("TMPDIR", "/nonexistent"), os.environ["HOME"]):
        quietly(os.rename, path, path + ".old")
        quietly(os.symlink, facts.outside, path)
        quietly(os.rmdir, path)


def plant_links_for_next_command():
    # Names that the sandbox makes itself when it starts a command: here links to the outside.
    temporary, home = os.environ.get("TMPDIR", "/nonexistent"), os.environ["HOME"]
    for directory in (temporary, home):
        for name in (".cargo", ".local", ".npm", ".config", "project", "zot", ".rustup", ".pyenv"):
            path = os.path.join(directory, name)
            quietly(os.rename, path, path + ".old")
            quietly(os.symlink, facts.outside, path)


def fill_shared_directory():
    # What we leave in our temporary directory must not become visible outside under its name.
    write(os.path.join(os.environ.get("TMPDIR", "/tmp"), os.path.basename(facts.tmp_new)))


def masked_files():
    # Passwords of the system, which root could read.
    return each([(path, lambda path=path: "read" if read(path) else nothing_there()) for path in (
        "/etc/shadow", "/etc/gshadow", "/etc/sudoers")])


def nothing_there():
    raise Held("empty")
