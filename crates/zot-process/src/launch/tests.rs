//! Real children under a real kernel. A test of something that the kernel cannot enforce is reported as
//! skipped, and checks that the enforcement report says so.

mod execution;
mod files;
mod isolation;
mod limits;
mod network;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use testkit::{KernelFeature, skip, skip_without};

use super::{Confined, Confinement, Enforcement, FileAccess, Status, confine, enforceable};
use crate::ProcessGroup;
use crate::sandbox::{ConnectRule, Limits, Rules, Sandbox, Surroundings};

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script);
    command
}

fn succeeds(command: Command, confinement: &Confinement) -> String {
    let shown = format!("{command:?}");
    let (output, enforcement) = output(command, confinement);
    assert!(
        output.status.success(),
        "{shown}: {output:?} {enforcement:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn fails(command: Command, confinement: &Confinement) -> String {
    let shown = format!("{command:?}");
    let (output, enforcement) = output(command, confinement);
    assert!(
        !output.status.success(),
        "{shown}: {output:?} {enforcement:?}"
    );
    String::from_utf8(output.stderr).unwrap()
}

/// Runs a command, in a view if it has files and this system has namespaces.
fn output(command: Command, confinement: &Confinement) -> (Output, Enforcement) {
    let runtime = runtime();
    let _inside = runtime.enter();
    let Some(files) = confinement.files.clone() else {
        let (confined, enforcement) = confine(command, confinement).unwrap();
        return (output_of(confined), enforcement);
    };
    let scratch = tempfile::tempdir().unwrap();
    let surroundings = Surroundings {
        scratch: scratch.path().to_owned(),
        workspace: "/".into(),
        home: std::env::home_dir(),
        ..Surroundings::default()
    };
    let rules = Rules {
        connect: match confinement.without_network {
            true => Vec::new(),
            false => vec![ConnectRule::Anywhere],
        },
        unix_sockets: match confinement.without_local_sockets {
            true => Vec::new(),
            false => vec!["/nonexistent".into()],
        },
        inherits_environment: true,
        limits: Limits {
            memory_bytes: confinement.memory_limit,
            open_files: confinement.open_files,
            ..Limits::default()
        },
        ..Rules::default()
    };
    let sandbox = Sandbox::exact(files, rules, surroundings).unwrap();
    let prepared = sandbox.prepare(command).unwrap();
    (output_of(prepared.command), prepared.enforcement)
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// Runs a command until everything it started has ended.
fn output_of(command: impl Into<Confined>) -> Output {
    let mut command = command.into();
    let (mut stdout, stdout_writer) = std::io::pipe().unwrap();
    let (mut stderr, stderr_writer) = std::io::pipe().unwrap();
    command
        .command_mut()
        .stdin(std::process::Stdio::null())
        .stdout(stdout_writer)
        .stderr(stderr_writer);
    let runtime = runtime();
    let _inside = runtime.enter();
    let group = ProcessGroup::spawn(command).unwrap();
    let read = |from: &mut dyn std::io::Read| {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    };
    let (stdout, stderr) = std::thread::scope(|scope| {
        let stderr = scope.spawn(|| read(&mut stderr));
        (read(&mut stdout), stderr.join().unwrap())
    });
    let end = runtime.block_on(group.close());
    Output {
        status: end.status.unwrap(),
        stdout,
        stderr,
    }
}

/// Returns whether files can be confined here; if not, the report must say so.
fn has_landlock() -> bool {
    let confinement = Confinement::default().filesystem(FileAccess::default());
    let enforcement = confine(Command::new("true"), &confinement).unwrap().1;
    match (enforceable().files, enforcement.files) {
        _ if KernelFeature::Landlock.is_hidden() => {
            skip_without(KernelFeature::Landlock, "hidden");
            false
        }
        (Status::NotEnforced(reason), reported) => {
            skip_without(KernelFeature::Landlock, &reason);
            assert_eq!(reported, Status::NotEnforced(reason));
            false
        }
        (_, reported) => {
            assert!(!matches!(
                reported,
                Status::NotEnforced(_) | Status::NotRequested
            ));
            true
        }
    }
}

/// Returns whether sockets can be refused here; if not, the report must say so.
fn has_call_filters() -> bool {
    let confinement = Confinement::default().network(false);
    let reported = confine(Command::new("true"), &confinement)
        .unwrap()
        .1
        .network;
    assert_eq!(reported, enforceable().network);
    match reported {
        _ if KernelFeature::Seccomp.is_hidden() => {
            skip_without(KernelFeature::Seccomp, "hidden");
            false
        }
        Status::NotEnforced(reason) => {
            skip_without(KernelFeature::Seccomp, &reason);
            false
        }
        reported => {
            assert_eq!(reported, Status::Enforced);
            true
        }
    }
}

/// Returns the first `name` in `PATH`; without one the test is skipped.
fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|path| path.is_file());
    if found.is_none() {
        skip(&format!("{name} is not installed"));
    }
    found
}

/// Returns `text` with `{}` replaced by a path.
fn with_path(text: &str, path: &Path) -> OsString {
    OsString::from(text.replace("{}", path.to_str().unwrap()))
}

fn reading(paths: &[&Path]) -> FileAccess {
    FileAccess {
        read: paths.iter().map(|&path| path.to_owned()).collect(),
        ..FileAccess::default()
    }
}

fn writing(paths: &[&Path]) -> FileAccess {
    FileAccess {
        write: paths.iter().map(|&path| path.to_owned()).collect(),
        ..FileAccess::default()
    }
}

#[test]
fn a_default_confinement_denies_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = shell("echo x > file && cat file");
    command.current_dir(directory.path());
    let (output, enforcement) = output(command, &Confinement::default());
    assert_eq!(output.stdout, b"x\n");
    for (part, status) in enforcement.parts() {
        if part == "end with parent" {
            assert_eq!(*status, enforceable().parent_death);
        } else {
            assert_eq!(*status, Status::NotRequested, "{part}");
        }
    }
}

#[tokio::test]
async fn a_process_group_takes_a_confined_command() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = shell("echo x > file");
    command.current_dir(directory.path());
    let confinement = Confinement::default().filesystem(writing(&[directory.path()]));
    let (command, _) = confine(command, &confinement).unwrap();
    let group = ProcessGroup::spawn(command).unwrap();
    let end = group.close().await;
    assert!(end.status.unwrap().success());
    assert!(directory.path().join("file").exists());
}

#[tokio::test]
async fn a_missing_confined_program_is_an_error() {
    let confinement = Confinement::default().filesystem(FileAccess::default());
    let (command, _) = confine(Command::new("/nonexistent/program"), &confinement).unwrap();
    let error = ProcessGroup::spawn(command).err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
