//! Starts `zot`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};

use super::pipes::Pipes;
use super::{Finished, PATIENCE, Zot};
use crate::{InstalledExtension, ModelServer, Wire, Workdir};

/// The variables that a child inherits: nothing personal.
const INHERITED: [&str; 5] = ["PATH", "LANG", "LC_ALL", "TERM", "LLVM_PROFILE_FILE"];

/// A command line of `zot` in a clean environment.
pub struct ZotCommand {
    binary: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: PathBuf,
}

impl ZotCommand {
    /// Creates a command without arguments whose directories are in `workdir`.
    pub fn new(binary: impl AsRef<Path>, workdir: &Workdir) -> Self {
        let home = workdir.home();
        let mut environment: Vec<(OsString, OsString)> = INHERITED
            .iter()
            .filter_map(|name| Some((name.into(), std::env::var_os(name)?)))
            .collect();
        for (name, below) in [
            ("HOME", ""),
            ("TMPDIR", ""),
            ("ZOT_HOME", "zot"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CACHE_HOME", "cache"),
        ] {
            let path = if below.is_empty() {
                home.clone()
            } else {
                home.join(below)
            };
            environment.push((name.into(), path.into()));
        }
        Self {
            binary: binary.as_ref().to_owned(),
            arguments: Vec::new(),
            environment,
            directory: workdir.path(),
        }
    }

    /// Creates `zot rpc` with `server` as its model.
    pub fn rpc(
        binary: impl AsRef<Path>,
        workdir: &Workdir,
        server: &ModelServer,
        wire: Wire,
    ) -> Self {
        Self::new(binary, workdir)
            .argument("rpc")
            .model(server, wire)
            .argument("--cwd")
            .argument(workdir.path())
    }

    /// Adds the flags that select `server`.
    pub fn model(self, server: &ModelServer, wire: Wire) -> Self {
        self.arguments(["--provider", wire.provider(), "--base-url"])
            .argument(server.url(wire))
            .arguments(["--api-key", "x", "--model", wire.model()])
    }

    /// Loads these extensions and no others.
    pub fn extensions<'a>(
        self,
        extensions: impl IntoIterator<Item = &'a InstalledExtension>,
    ) -> Self {
        extensions
            .into_iter()
            .fold(self.argument("--no-ext"), |command, extension| {
                command.argument("--ext").argument(extension.directory())
            })
    }

    pub fn argument(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub fn arguments<T: AsRef<OsStr>>(self, arguments: impl IntoIterator<Item = T>) -> Self {
        arguments.into_iter().fold(self, Self::argument)
    }

    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let (name, value) = (name.as_ref().to_owned(), value.as_ref().to_owned());
        self.environment.push((name, value));
        self
    }

    /// Starts the program.
    pub fn spawn(self) -> Zot {
        let (mut zot, stdout) = self.spawn_unread();
        zot.pipes.read_stdout(stdout);
        zot
    }

    /// Starts the program and leaves standard output to the caller.
    pub fn spawn_unread(self) -> (Zot, ChildStdout) {
        let mut child = self
            .into_command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start the zot binary");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("standard output is piped");
        let stderr = child.stderr.take().expect("standard error is piped");
        let zot = Zot {
            child,
            stdin,
            pipes: Pipes::new(stderr),
            consumed: 0,
        };
        (zot, stdout)
    }

    /// Returns the command, for tests that set its standard streams.
    pub fn into_command(self) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment)
            .current_dir(self.directory);
        command
    }

    /// Runs the program to its end with `stdin` as its input.
    pub fn run(self, stdin: impl AsRef<[u8]>) -> Finished {
        let mut zot = self.spawn();
        zot.send_bytes(stdin.as_ref());
        zot.close_stdin();
        zot.wait(PATIENCE)
    }
}
