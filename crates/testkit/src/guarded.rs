//! Server programs that end with the test that started them, even one that is killed.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Reads how to end its program; the end of its input means that the test is gone. In a process group
/// of its own, so that what ends the test's group leaves it to clean up.
const GUARD: &str = r#"
directory=$1; last_signal=$2; shift 2
"$@" & server=$!
read -r signal || { signal=$last_signal; gone=yes; }
kill -s "$signal" "$server" 2>/dev/null
wait "$server"
if [ -n "$gone" ]; then rm -rf "$directory"; fi
"#;

/// A program that serves until it is stopped, with a directory that the guard removes if the test is
/// killed.
pub(crate) struct Guarded {
    guard: Child,
    end_signal: &'static str,
}

impl Guarded {
    /// Starts a program that `end_signal` ends at once, as the user of the command `shell`, which is `sh`.
    pub(crate) fn start(
        mut shell: Command,
        program: &Path,
        arguments: &[&OsStr],
        directory: &Path,
        end_signal: &'static str,
    ) -> Self {
        let log = std::fs::File::options()
            .append(true)
            .create(true)
            .open(directory.join("log"))
            .expect("open the server's log");
        shell
            .args(["-c", GUARD, "guard"])
            .arg(directory)
            .arg(end_signal)
            .arg(program)
            .args(arguments)
            .current_dir(directory)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("share the server's log"))
            .stderr(log)
            .process_group(0);
        Self {
            guard: shell.spawn().expect("start sh"),
            end_signal,
        }
    }

    /// Sends the named signal to the program and waits until it has ended.
    pub(crate) fn end(mut self, signal: &str) {
        self.signal_and_wait(signal);
    }

    fn signal_and_wait(&mut self, signal: &str) {
        if let Some(mut input) = self.guard.stdin.take() {
            // A guard that is gone has nothing left to end.
            let _ = writeln!(input, "{signal}");
            let _ = self.guard.wait();
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.signal_and_wait(self.end_signal);
    }
}

/// Finds a program below `directories` or in `$PATH`; fails by name, with the package to install.
pub(crate) fn find_program(name: &str, package: &str, directories: &[PathBuf]) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    directories
        .iter()
        .cloned()
        .chain(std::env::split_paths(&path))
        .chain(system)
        .map(|directory| directory.join(name))
        .find(|program| program.is_file())
        .unwrap_or_else(|| {
            panic!("{name} is missing: apt-get install {package}, or add it to $PATH")
        })
}

/// Returns the command, run as the user `postgres` when we are root, whom database programs refuse.
pub(crate) fn unprivileged(program: &Path) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = other_user() {
        command.uid(user).gid(group);
    }
    command
}

/// Gives a directory to the user of [`unprivileged`].
pub(crate) fn hand_over(path: &Path) {
    if let Some((user, group)) = other_user() {
        chown(path, Some(user), Some(group)).expect("give a directory to the user postgres");
    }
}

fn other_user() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let number = |flag| {
        let output = Command::new("id").args([flag, "postgres"]).output();
        let output = output.expect("run id");
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim()
            .parse()
            .unwrap_or_else(|_| panic!("root needs the user postgres to run a database"))
    };
    Some((number("-u"), number("-g")))
}
