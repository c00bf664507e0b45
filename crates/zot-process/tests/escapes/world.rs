//! The files around a sandbox: a home directory with a project in it, other projects, secrets, and what
//! is allowed to be read.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zot_process::sandbox::PROTECTED;

use crate::attempt::Workspace;
use crate::bystander::{Bystander, Internet};
use crate::modes::{Mode, PRIVILEGED_VARIABLE};
use crate::snapshot::Snapshot;

/// Protected paths that are directories. Not taken from the code under test: it does not know which are,
/// and a list that follows its mistakes finds none.
const DIRECTORIES: [&str; 18] = [
    ".git/hooks",
    ".zot",
    ".agents",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".goose",
    ".opencode",
    ".pi",
    ".qwen",
    ".windsurf",
    ".devcontainer",
    ".fleet",
    ".idea",
    ".vscode",
    ".zed",
    ".ssh",
];

/// Files of toolchains, which may be read.
const TOOLS: [&str; 8] = [
    ".cargo/bin/tool",
    ".local/bin/tool",
    ".cargo/registry/index",
    ".npm/package",
    ".pyenv/shims/tool",
    ".gitconfig",
    ".cargo/config.toml",
    ".rustup/settings",
];

pub(crate) struct World {
    root: PathBuf,
    secret: String,
    bystander: Bystander,
    before: Snapshot,
    /// Made anew for every attempt.
    protected_before: Snapshot,
    sockets: Option<(UnixListener, UnixDatagram)>,
    /// Whether the working directory must not change.
    is_fixed: bool,
    privileged: PathBuf,
    /// Seconds that nobody else sleeps: the name of processes that are left.
    survivor: String,
    _directory: tempfile::TempDir,
}

impl World {
    pub(crate) fn new(secret: &str, internet: Internet) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("zot-escapes-")
            .tempdir()
            .unwrap();
        let root = directory.path().canonicalize().unwrap();
        build(&root, secret);
        let bystander = Bystander::new(&root, secret, internet);
        let world = Self {
            secret: secret.to_owned(),
            before: Snapshot::default(),
            protected_before: Snapshot::default(),
            sockets: None,
            is_fixed: false,
            privileged: std::env::var_os(PRIVILEGED_VARIABLE)
                .map_or(root.join("readable"), PathBuf::from),
            survivor: format!("98{}.{}", std::process::id(), bystander.facts()["pid"]),
            bystander,
            root,
            _directory: directory,
        };
        fs::write(world.temporary_file(), secret).unwrap();
        fs::write(world.named_file(), "").unwrap();
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("home/project")
    }

    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    pub(crate) fn survivor(&self) -> &str {
        &self.survivor
    }

    pub(crate) fn marker(&self) -> PathBuf {
        self.path("marker")
    }

    /// Returns what the policy lets commands read.
    pub(crate) fn readable(&self) -> Vec<PathBuf> {
        vec![self.path("readable"), self.privileged.clone()]
    }

    fn temporary_file(&self) -> PathBuf {
        self.beside(&format!("zot-escapes-file-{}", std::process::id()))
    }

    /// A file whose name is the secret.
    fn named_file(&self) -> PathBuf {
        self.beside(&format!("zot-escapes-{}", self.secret))
    }

    /// Returns the files that attempts may leave in directories of the machine.
    fn planted(&self) -> [PathBuf; 2] {
        let name = format!("zot-escapes-new-{}", std::process::id());
        [self.beside(&name), Path::new("/dev/shm").join(&name)]
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.root.with_file_name(name)
    }

    /// Makes the working directory and the private directory of the sandbox anew.
    ///
    /// The working directory counts as outside if it must not change either.
    pub(crate) fn renew(&mut self, workspace: Workspace, is_fixed: bool) {
        self.sockets = None;
        self.is_fixed = is_fixed;
        for path in [self.workspace(), self.path("scratch")] {
            remove(&path);
            fs::create_dir(&path).unwrap();
        }
        let path = self.workspace();
        fill_workspace(&path, workspace, &self.path("home/main"));
        symlink(self.path("outside"), path.join("planted")).unwrap();
        let stream = UnixListener::bind(path.join("stream.socket")).unwrap();
        let datagram = UnixDatagram::bind(path.join("datagram.socket")).unwrap();
        stream.set_nonblocking(true).unwrap();
        datagram.set_nonblocking(true).unwrap();
        self.sockets = Some((stream, datagram));
        self.protected_before = self.protected_now();
        self.before = self.outside_now();
    }

    /// Returns what the attempt may know.
    pub(crate) fn facts(&self, mode: Mode) -> Value {
        let mut facts = self.bystander.facts().clone();
        let [temporary, shared] = self.planted();
        let known = json!({
            "mode": match mode { Mode::Off => "off", _ => "confined" },
            "is_proxied": mode == Mode::Namespaces,
            "zot": std::process::id(),
            "group": rustix::process::getpgrp().as_raw_nonzero().get(),
            "workspace": self.workspace(),
            "home": self.path("home"),
            "other": self.path("home/other"),
            "outside": self.path("outside"),
            "listed": self.path("outside/listed"),
            "readable": self.path("readable"),
            "scratch": self.path("scratch"),
            "neighbour": self.path("neighbour"),
            "neighbour_temporary": self.path("neighbour/tmp"),
            "privileged": self.privileged,
            "tmp": self.root.parent(),
            "tmp_file": self.temporary_file(),
            "tmp_new": temporary,
            "shm_new": shared,
            "marker": self.marker(),
            "survivor": self.survivor,
            "protected": PROTECTED.as_slice(),
        });
        let fields = facts.as_object_mut().unwrap();
        fields.extend(known.as_object().unwrap().clone());
        facts
    }

    /// Returns whether everything outside is as it was.
    pub(crate) fn is_intact(&mut self) -> bool {
        self.outside_now() == self.before && self.bystander.changes().is_none()
    }

    /// Returns what changed outside of the working directory.
    pub(crate) fn changes(&mut self) -> Vec<String> {
        let mut changes: Vec<String> = self
            .before
            .changes(&self.outside_now())
            .into_iter()
            .map(|(path, how)| format!("{} {how}", path.display()))
            .collect();
        changes.extend(self.bystander.changes());
        if let Some((stream, datagram)) = &self.sockets
            && (stream.accept().is_ok() || datagram.recv(&mut [0; 16]).is_ok())
        {
            changes.push("a socket in the working directory was reached".to_owned());
        }
        let of_sandbox = [
            "scratch/planted",
            "scratch/home.old",
            "scratch/empty/planted",
            "scratch/root-1/planted",
        ];
        changes.extend(
            of_sandbox
                .into_iter()
                .filter(|name| fs::symlink_metadata(self.path(name)).is_ok())
                .map(|name| format!("{name} was made")),
        );
        for path in self.planted() {
            if fs::remove_file(&path).is_ok() {
                changes.push(format!("{} was made", path.display()));
            }
        }
        changes
    }

    /// Returns the protected files that changed, by their path.
    pub(crate) fn protected_changes(&self) -> Vec<(PathBuf, String)> {
        self.protected_before.changes(&self.protected_now())
    }

    fn outside_now(&self) -> Snapshot {
        let mut left_out = vec![self.path("scratch")];
        if !self.is_fixed {
            left_out.push(self.workspace());
        }
        Snapshot::of(std::slice::from_ref(&self.root), &left_out)
    }

    fn protected_now(&self) -> Snapshot {
        let workspace = self.workspace();
        let roots: Vec<PathBuf> = PROTECTED.iter().map(|name| workspace.join(name)).collect();
        // Behind a link in place of a directory are files of others; the link itself is what was made.
        let seen = |path: PathBuf| match path.parent() {
            Some(around) if around.is_symlink() => around.to_owned(),
            _ => path,
        };
        let roots: Vec<PathBuf> = roots.into_iter().map(seen).collect();
        Snapshot::of(&roots, &[])
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for path in [self.temporary_file(), self.named_file()] {
            let _ = fs::remove_file(path);
        }
        remove(&self.workspace());
        remove(&self.path("scratch"));
    }
}

/// Removes a tree whatever its modes are.
fn remove(path: &Path) {
    if fs::remove_dir_all(path).is_ok() || !path.exists() {
        return;
    }
    let _ = std::process::Command::new("chmod")
        .args(["-R", "u+rwx"])
        .arg(path)
        .output();
    let _ = fs::remove_dir_all(path);
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn build(root: &Path, secret: &str) {
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    for name in [
        "outside",
        "home/other",
        "readable",
        "neighbour/tmp",
        "neighbour/home",
    ] {
        write(&root.join(name).join("keep"), "kept");
    }
    for name in ["outside", "home/other", "neighbour/tmp", "neighbour/home"] {
        write(&root.join(name).join("secret"), secret);
    }
    write(&root.join("outside/listed").join(secret), "");
    write(&root.join("readable/hidden/secret"), secret);
    write(&root.join("readable/hidden").join(secret), "");
    write(&root.join("neighbour/tmp").join(secret), "");
    write(&root.join("home").join(secret), "");
    fs::create_dir(root.join("outside/empty")).unwrap();
    let unusual = root
        .join("outside")
        .join(OsStr::from_bytes(b"\xff\xfe\x80"));
    write(&unusual.join("secret"), secret);
    for name in [
        ".ssh/id_ed25519",
        ".config/token",
        ".netrc",
        ".bash_history",
    ] {
        write(&root.join("home").join(name), secret);
    }
    for name in [".bashrc", ".profile"] {
        write(&root.join("home").join(name), "# kept\n");
    }
    for name in TOOLS {
        write(&root.join("home").join(name), "# kept\n");
    }
    write(&root.join("readable/tool"), "#!/bin/sh\n");
    repository(&root.join("home/main/.git"));
    write(
        &root.join("home/main/.git/worktrees/project/commondir"),
        "../..\n",
    );
    write(
        &root.join("home/main/.git/worktrees/project/HEAD"),
        "ref: refs/heads/other\n",
    );
    let back = format!("{}\n", root.join("home/project/.git").display());
    write(&root.join("home/main/.git/worktrees/project/gitdir"), &back);
    for name in ["home/project", "scratch"] {
        fs::create_dir(root.join(name)).unwrap();
    }
}

/// Makes an empty repository without calling git.
fn repository(path: &Path) {
    for name in ["objects/info", "objects/pack", "refs/heads", "hooks"] {
        fs::create_dir_all(path.join(name)).unwrap();
    }
    write(&path.join("HEAD"), "ref: refs/heads/main\n");
    let configuration = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[extensions]\n\tworktreeConfig = true\n";
    write(&path.join("config"), configuration);
    let sample = path.join("hooks/pre-commit.sample");
    write(&sample, "#!/bin/sh\n");
    fs::set_permissions(&sample, fs::Permissions::from_mode(0o755)).unwrap();
}

fn fill_workspace(path: &Path, kind: Workspace, main: &Path) {
    write(&path.join("file.txt"), "a file");
    fs::create_dir(path.join("sub")).unwrap();
    let tool = path.join("tool");
    write(&tool, "#!/bin/sh\necho started\n");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    match kind {
        Workspace::NothingProtected => {}
        Workspace::Repository => repository(&path.join(".git")),
        Workspace::RepositoryWithoutHooks => {
            repository(&path.join(".git"));
            fs::remove_dir_all(path.join(".git/hooks")).unwrap();
        }
        Workspace::Worktree => {
            let line = format!(
                "gitdir: {}\n",
                main.join(".git/worktrees/project").display()
            );
            write(&path.join(".git"), &line);
        }
        Workspace::EverythingProtected => {
            repository(&path.join(".git"));
            for name in PROTECTED {
                match DIRECTORIES.contains(&name) {
                    true => write(&path.join(name).join("settings"), "kept"),
                    false if name == ".git/config" => {}
                    false => write(&path.join(name), "kept"),
                }
            }
        }
    }
}
