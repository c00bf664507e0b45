//! Permissions of stored files and sockets, special files, and silent clients.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::{ModelServer, Wire, poll_until};
use zino::kind::ServiceKind::{self, Executor, Memory, SystemPrompt};

use crate::installation::{BINARY, Installation, text};

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// Everything below a directory, and the directory itself.
fn below(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned()];
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            all.extend(below(&entry.unwrap().path()));
        }
    }
    all
}

fn pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

fn fill(installation: &Installation) {
    let messages = json!([{ "role": "user", "content": "private" }]);
    for request in [
        json!({ "type": "append_history", "channel_id": "a/b", "messages": messages }),
        json!({ "type": "append_history", "channel_id": "a_b", "messages": messages }),
        json!({ "type": "set_soft", "content": "private" }),
        json!({ "type": "store_hard", "messages": messages, "tag": "t" }),
    ] {
        installation.ask(Memory, &request);
    }
}

#[test]
fn stored_files_are_private_and_sockets_exclude_other_users_whatever_the_umask() {
    for mask in ["000", "022", "077"] {
        let installation = Installation::new("http://127.0.0.1:9", "");
        let script = format!("umask {mask}; exec \"$0\" up");
        let command = installation.program(Path::new("/bin/sh"), &["-c", &script, BINARY]);
        let process = installation.spawn(command, "up");
        for kind in ServiceKind::ALL {
            installation.wait_for(kind, &process);
            // It may have fewer permissions for a moment, because of the umask.
            let socket = installation.socket(kind);
            assert_eq!(mode(&socket) & !0o660, 0, "{mask}");
            poll_until("the mode of a socket", || mode(&socket) == 0o660);
        }
        assert_eq!(mode(&installation.path("run")), 0o750, "{mask}");
        fill(&installation);
        let stored = below(&installation.path("data"));
        assert!(stored.len() > 5, "{stored:?}");
        for path in stored {
            let expected = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(&path), expected, "{mask}: {path:?}");
        }
    }
}

#[test]
fn files_of_the_original_are_made_private() {
    let installation = Installation::new("http://127.0.0.1:9", "");
    let path = installation.path("data/mem/channels/c.json");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "[]").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let _process = installation.start(Memory);
    let messages = json!([{ "role": "user", "content": "private" }]);
    let request = json!({ "type": "append_history", "channel_id": "c", "messages": messages });
    installation.ask(Memory, &request);
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn special_files_are_rejected_by_name() {
    let installation = Installation::new("http://127.0.0.1:9", "");
    let config = installation.path("ZINO.toml");
    fs::rename(&config, installation.path("kept")).unwrap();
    pipe(&config);
    let refused = installation.run(&["check"]);
    let message = format!("{}{}", text(&refused.stdout), text(&refused.stderr));
    assert!(
        message.contains("ZINO.toml") && message.contains("a named pipe"),
        "{message}"
    );
    fs::remove_file(&config).unwrap();
    fs::rename(installation.path("kept"), &config).unwrap();

    for (name, kind) in [
        ("SYSTEM.md", "a named pipe"),
        ("tools/bash.json", "a device"),
        (".env", "a named pipe"),
    ] {
        let path = installation.path(name);
        let _ = fs::remove_file(&path);
        match kind {
            "a device" => symlink("/dev/zero", &path).unwrap(),
            _ => pipe(&path),
        }
        let checked = installation.run(&["check"]);
        let message = format!("{}{}", text(&checked.stdout), text(&checked.stderr));
        assert!(
            message.contains(name) && message.contains(kind),
            "{name}: {message}"
        );
    }

    let data = installation.path("data/mem");
    fs::create_dir_all(data.join("channels")).unwrap();
    pipe(&data.join("soft_memory.txt"));
    pipe(&data.join("channels/c.json"));
    let _process = installation.start(Memory);
    for request in [
        json!({ "type": "get_soft" }),
        json!({ "type": "get_history", "channel_id": "c" }),
    ] {
        let response = installation.ask_one(Memory, &request).to_string();
        assert!(response.contains("a named pipe"), "{request}: {response}");
    }
}

#[test]
fn silent_clients_do_not_block_others() {
    let installation = Installation::new("http://127.0.0.1:9", "");
    let _process = installation.start(SystemPrompt);
    let mut silent = Vec::new();
    for number in 0..300 {
        let mut stream = installation.connect(SystemPrompt);
        if number % 2 == 0 {
            stream.write_all(&[0, 0]).unwrap();
        }
        silent.push(stream);
    }
    let response = installation.ask_one(SystemPrompt, &json!({ "type": "get" }));
    assert!(response["content"].is_string(), "{response}");
}

#[test]
fn the_code_of_a_killed_executor_is_swept() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let temporary = installation.path("tmp");
    fs::create_dir(&temporary).unwrap();
    let left = || below(&temporary).len() - 1;
    let start = || {
        let mut command = installation.command(&["exc"]);
        command.env("TMPDIR", &temporary);
        let process = installation.spawn(command, "exc");
        installation.wait_for(Executor, &process);
        process
    };
    let mut killed = start();
    let code = json!({ "type": "execute", "executor": "bash", "code": "sleep 30" });
    let _running = installation.begin(Executor, &code);
    crate::installation::eventually("code in a file", || left() > 0);
    killed.signal(rustix::process::Signal::KILL);
    killed.wait();
    assert!(left() > 0);
    // A child that has not started its program yet shares the lock of the directory, and the
    // executor sweeps only once, before it listens.
    crate::installation::eventually("the lock is free", || {
        fs::read_dir(&temporary).unwrap().all(|entry| {
            fs::File::open(entry.unwrap().path()).is_ok_and(|it| it.try_lock().is_ok())
        })
    });
    let _next = start();
    assert_eq!(left(), 0);
}
