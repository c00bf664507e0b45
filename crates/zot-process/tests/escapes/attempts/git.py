# Git runs programs that files of a repository name. The test calls git outside of the sandbox afterwards,
# as a user would, and looks whether the planted command ran.


def command():
    return f"touch {facts.marker}"


def evil_configuration():
    return f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = \"{command()}; false\"\n".encode()


def script(path):
    # The mode is set with the file: changing it may be refused.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o755)
    os.write(descriptor, f"#!/bin/sh\n{command()}\n".encode())
    os.close(descriptor)


def evil_repository(path):
    for name in ("hooks", "objects/info", "objects/pack", "refs/heads"):
        os.makedirs(os.path.join(path, name))
    write(os.path.join(path, "HEAD"), b"ref: refs/heads/main\n")
    write(os.path.join(path, "config"), evil_configuration())
    for hook in ("pre-commit", "post-index-change", "post-commit"):
        script(os.path.join(path, "hooks", hook))


def hook():
    for name in ("pre-commit", "post-commit", "post-index-change", "reference-transaction"):
        quietly(script, f".git/hooks/{name}")


def hook_from_sample():
    # A sample has the mode already.
    quietly(os.rename, ".git/hooks/pre-commit.sample", ".git/hooks/pre-commit")
    quietly(script, ".git/hooks/pre-commit")


def hooks_directory():
    quietly(os.rename, ".git/hooks", ".git/old-hooks")
    quietly(os.mkdir, ".git/hooks")
    hook()


def hooks_link():
    os.mkdir("evil")
    script("evil/pre-commit")
    quietly(os.rename, ".git/hooks", ".git/old-hooks")
    os.symlink("../evil", ".git/hooks")


def configuration():
    with open(".git/config", "ab") as file:
        file.write(evil_configuration())


def configuration_by_git():
    subprocess.run(["git", "config", "core.fsmonitor", command()], capture_output=True)


def configuration_by_rename():
    write("mine", evil_configuration())
    os.rename("mine", ".git/config")


def configuration_of_worktree():
    write(".git/config.worktree", evil_configuration())


def hooks_path_by_git():
    os.mkdir("evil")
    script("evil/pre-commit")
    subprocess.run(["git", "config", "core.hooksPath", "evil"], capture_output=True)


def directory_renamed():
    os.rename(".git", "old")
    evil_repository(".git")


def directory_exchanged():
    evil_repository("evil")
    call("renameat2", AT_FDCWD, "evil", AT_FDCWD, ".git", 2)


def directory_replaced_by_file():
    evil_repository("evil")
    os.rename(".git", "old")
    write(".git", b"gitdir: evil\n")


def directory_replaced_by_link():
    evil_repository("evil")
    os.rename(".git", "old")
    os.symlink("evil", ".git")


def directory_removed():
    subprocess.run(["rm", "-rf", ".git"], capture_output=True)
    quietly(evil_repository, ".git")
    quietly(configuration)


def common_directory():
    # `commondir` says where the configuration and the hooks are.
    evil_repository("evil")
    write(".git/commondir", b"../evil\n")


def file_of_worktree():
    # In a work tree of another repository, .git is a file that says where the repository is.
    evil_repository("evil")
    write(".git", b"gitdir: evil\n")


def file_of_worktree_replaced():
    evil_repository("evil")
    write("mine", b"gitdir: evil\n")
    os.rename("mine", ".git")


def directory_created():
    evil_repository(".git")


def file_created():
    evil_repository("evil")
    write(".git", b"gitdir: evil\n")


def link_created():
    evil_repository("evil")
    os.symlink("evil", ".git")


def bare_repository():
    # A working directory that is itself a repository without a work tree.
    for name in ("objects/info", "objects/pack", "refs/heads"):
        os.makedirs(name)
    write("HEAD", b"ref: refs/heads/main\n")
    write("config", evil_configuration().replace(b"bare = false", b"bare = false\n\tworktree = ."))


def submodule():
    # `git status` looks into submodules, with their configuration.
    evil_repository("sub/.git")
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "update-index", "--add", "--cacheinfo", "160000," + "1" * 40 + ",sub"],
                   capture_output=True, env=environment)


def submodule_directory():
    evil_repository(".git/modules/sub")
    quietly(os.mkdir, "sub")
    write("sub/.git", b"gitdir: ../.git/modules/sub\n")
    subprocess.run(["git", "update-index", "--add", "--cacheinfo", "160000," + "1" * 40 + ",sub"], capture_output=True)


def global_configuration():
    # The user's own, by every name git looks for.
    home = os.environ.get("HOME", "/nonexistent")
    for path in (facts.home, home):
        quietly(write, os.path.join(path, ".gitconfig"), evil_configuration())
        quietly(write, os.path.join(path, ".config/git/config"), evil_configuration())
    subprocess.run(["git", "config", "--global", "core.fsmonitor", command()], capture_output=True)


def shell_start_up():
    home = os.environ.get("HOME", "/nonexistent")
    for path in (facts.home, home):
        for name in (".bashrc", ".profile", ".bash_profile", ".zshenv", ".config/fish/config.fish"):
            quietly(write, os.path.join(path, name), f"{command()}\n".encode())


def program_in_path():
    # Programs of the user that come before those of the system.
    home = os.environ.get("HOME", "/nonexistent")
    for path in (facts.home, home):
        for name in (".cargo/bin/git", ".local/bin/git", "bin/git"):
            quietly(script, os.path.join(path, name))


def preloaded_library():
    # A library that programs outside would load, and the variable that names it.
    for path in ("/etc/ld.so.preload", facts.home + "/.pam_environment", facts.home + "/.config/environment.d/x.conf"):
        if is_off() and path.startswith("/etc"):
            continue
        quietly(write, path, b"LD_PRELOAD=" + os.fsencode(facts.workspace) + b"/evil.so\n")
    return quietly(opens, "/etc/ld.so.cache", os.O_WRONLY)
