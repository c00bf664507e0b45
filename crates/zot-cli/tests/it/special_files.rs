//! Pipes, devices, sockets and directories in place of files that zot opens by path, and leftovers
//! of a killed run.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Workdir, ZotCommand, poll_until};

use crate::support::binary;

fn zot(workdir: &Workdir) -> ZotCommand {
    ZotCommand::new(binary(), workdir)
}

/// Creates something that is not a regular file.
type Make = fn(&Path);

/// What can be in place of a file, and its name in errors.
const KINDS: [(&str, Make); 4] = [
    ("a named pipe", |path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    }),
    ("a device", |path| symlink("/dev/zero", path).unwrap()),
    ("a socket", |path| drop(UnixListener::bind(path).unwrap())),
    ("a directory", |path| fs::create_dir(path).unwrap()),
];

fn remove(path: &Path) {
    match path.is_dir() && !path.is_symlink() {
        true => fs::remove_dir(path).unwrap(),
        false => fs::remove_file(path).unwrap(),
    }
}

/// Runs `arguments` with everything but a regular file at `path`; each error names the kind.
fn check(workdir: &Workdir, path: &Path, arguments: &[&str]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    for (kind, make) in KINDS {
        make(path);
        let ended = zot(workdir).arguments(arguments).run("");
        let printed = format!("{}{}", ended.stdout, ended.stderr);
        assert!(
            printed.contains(kind) && printed.contains(name),
            "{path:?} as {kind}: {printed}"
        );
        assert!(printed.contains("expected a regular file"), "{printed}");
        remove(path);
    }
}

const OFFLINE: [&str; 4] = ["-p", "--provider", "offline", "hello"];

#[test]
fn settings_that_are_not_regular_files_are_reported() {
    let workdir = Workdir::new("work");
    let home = workdir.zot_home();
    fs::create_dir_all(&home).unwrap();
    for name in ["models.json", "providers.json", "config.json", "SYSTEM.md"] {
        check(&workdir, &home.join(name), &OFFLINE);
    }
    let key = ["-p", "--provider", "openai", "hello"];
    check(&workdir, &home.join("auth.json"), &key);
}

#[test]
fn sessions_that_are_not_regular_files_are_reported() {
    let workdir = Workdir::new("work");
    let path = workdir.path().join("s.jsonl");
    let session = path.to_str().unwrap();
    for arguments in [
        &["--session", session][..],
        &["--resume", session],
        &["--continue", "--session", session],
    ] {
        let arguments = [arguments, &OFFLINE].concat();
        check(&workdir, &path, &arguments);
    }
    for command in ["show", "import"] {
        check(&workdir, &path, &["sessions", command, session]);
    }
    let index = workdir.zot_home().join("sessions/index.jsonl");
    check(&workdir, &index, &["sessions", "list", "--all"]);
}

#[test]
fn cassettes_and_manifests_that_are_not_regular_files_are_reported() {
    let workdir = Workdir::new("work");
    let path = workdir.path().join("tape");
    let tape = path.to_str().unwrap();
    check(&workdir, &path, &["-p", "--cassette", tape, "hello"]);
    check(
        &workdir,
        &path,
        &[&["--record", tape], &OFFLINE[..]].concat(),
    );
    check(&workdir, &path, &["cassette", "show", tape]);
    let extension = workdir.path().join("extension");
    let arguments = [&["--ext", extension.to_str().unwrap()], &OFFLINE[..]].concat();
    check(&workdir, &extension.join("extension.json"), &arguments);
}

#[test]
fn a_session_without_an_end_is_refused() {
    let workdir = Workdir::new("work");
    let path = workdir.path().join("s.jsonl");
    let file = fs::File::create(&path).unwrap();
    // Sparse: it takes no space.
    file.set_len(1 << 40).unwrap();
    let session = path.to_str().unwrap();
    let ended = zot(&workdir)
        .arguments(["sessions", "show", session])
        .run("");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("larger than"), "{}", ended.stderr);
}

/// Returns the scratch directories in `temporary`.
fn scratch(temporary: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(temporary).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| !path.is_symlink() && path.to_str().unwrap().contains("/zot-jail-"))
        .collect()
}

#[test]
fn only_the_scratch_directory_of_a_killed_run_is_removed() {
    let workdir = Workdir::new("work");
    let temporary = workdir.parent().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let temporary = temporary.canonicalize().unwrap();
    let start = || {
        let mut rpc = zot(&workdir)
            .arguments(["rpc", "--jail", "--provider", "offline"])
            .env("TMPDIR", &temporary)
            .spawn();
        rpc.send(json!({"id": "1", "type": "prompt", "message": "run: sleep 100"}));
        rpc.event("tool_call");
        rpc
    };
    let running = start();
    poll_until("a scratch directory", || scratch(&temporary).len() == 1);
    let in_use = scratch(&temporary);
    let killed = start();
    poll_until("another", || scratch(&temporary).len() == 2);
    killed.signal(testkit::Signal::KILL);
    killed.finish();
    assert_eq!(scratch(&temporary).len(), 2);
    // A link with such a name leads elsewhere.
    let outside = workdir.parent().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "x").unwrap();
    symlink(&outside, temporary.join("zot-jail-planted")).unwrap();

    let next = zot(&workdir).arguments(OFFLINE).env("TMPDIR", &temporary);
    assert_eq!(next.run("").code, Some(0));
    assert_eq!(scratch(&temporary), in_use);
    assert!(outside.join("precious").exists());
    drop(running);
}

/// The one test that has to wait for the limit itself.
#[test]
fn rpc_ends_with_closed_input_and_unread_output() {
    let workdir = Workdir::new("work");
    let (mut rpc, unread) = zot(&workdir)
        .arguments(["rpc", "--provider", "offline"])
        .spawn_unread();
    // More responses than a pipe holds, but not enough to pause reading.
    let id = "x".repeat(1000);
    for _ in 0..300 {
        rpc.send(json!({"id": id, "type": "ping"}));
    }
    rpc.close_stdin();
    let began = Instant::now();
    let ended = rpc.wait(Duration::from_secs(90));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("nobody has read standard output"),
        "{}",
        ended.stderr
    );
    assert!(
        began.elapsed() >= Duration::from_secs(25),
        "a pause is not the end"
    );
    drop(unread);
}
