//! Real children under a real kernel. Where that cannot enforce something the tests say so aloud,
//! and insist that the report does, too.

mod execution;
mod files;
mod limits;
mod network;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{Confinement, Enforcement, FileAccess, Status, confine, enforceable};

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script);
    command
}

fn succeeds(mut command: Command, confinement: &Confinement) -> String {
    let (output, enforcement) = output(&mut command, confinement);
    assert!(
        output.status.success(),
        "{command:?}: {output:?} {enforcement:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn fails(mut command: Command, confinement: &Confinement) -> String {
    let (output, enforcement) = output(&mut command, confinement);
    assert!(
        !output.status.success(),
        "{command:?}: {output:?} {enforcement:?}"
    );
    String::from_utf8(output.stderr).unwrap()
}

fn output(command: &mut Command, confinement: &Confinement) -> (Output, Enforcement) {
    let enforcement = confine(command, confinement).unwrap();
    (command.output().unwrap(), enforcement)
}

/// Whether files can be confined here; when not, the report must say so.
fn has_landlock() -> bool {
    let enforcement = confine(
        &mut Command::new("true"),
        &Confinement::default().filesystem(FileAccess::default()),
    )
    .unwrap();
    match (enforceable().files, enforcement.files) {
        (Status::NotEnforced(reason), stated) => {
            eprintln!("NOT TESTED: files cannot be confined here: {reason}");
            assert_eq!(stated, Status::NotEnforced(reason));
            false
        }
        (_, stated) => {
            assert!(!matches!(
                stated,
                Status::NotEnforced(_) | Status::NotRequested
            ));
            true
        }
    }
}

/// Whether sockets can be refused here; when not, the report must say so.
fn has_call_filters() -> bool {
    let confinement = Confinement::default().network(false);
    let stated = confine(&mut Command::new("true"), &confinement)
        .unwrap()
        .network;
    assert_eq!(stated, enforceable().network);
    match stated {
        Status::NotEnforced(reason) => {
            eprintln!("NOT TESTED: sockets cannot be refused here: {reason}");
            false
        }
        stated => {
            assert_eq!(stated, Status::Enforced);
            true
        }
    }
}

/// The first `name` in `PATH`, or nothing, said aloud.
fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file());
    if found.is_none() {
        eprintln!("NOT TESTED: {name} is not installed");
    }
    found
}

/// `text` with `{}` replaced by a path.
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
fn a_default_confinement_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = shell("echo x > file && cat file");
    command.current_dir(folder.path());
    let confinement = Confinement::default();
    let enforcement = confine(&mut command, &confinement).unwrap();
    for (part, status) in enforcement.parts() {
        assert_eq!(*status, Status::NotRequested, "{part}");
    }
    assert_eq!(succeeds(command, &confinement), "x\n");
}

#[test]
fn a_confined_command_can_be_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = shell("echo x");
    let confinement = Confinement::default()
        .die_with_parent(true)
        .network(false)
        .filesystem(reading(&[folder.path()]));
    confine(&mut command, &confinement).unwrap();
    for _ in 0..3 {
        let output = command.output().unwrap();
        assert_eq!(output.stdout, b"x\n", "{output:?}");
    }
}

#[tokio::test]
async fn a_process_group_takes_a_confined_command() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = shell("echo x > file");
    command.current_dir(folder.path());
    let confinement = Confinement::default()
        .die_with_parent(true)
        .filesystem(writing(&[folder.path()]));
    confine(&mut command, &confinement).unwrap();
    let group = crate::ProcessGroup::spawn(command).unwrap();
    let end = group.close().await;
    assert!(end.status.unwrap().success());
    assert!(folder.path().join("file").exists());
}
