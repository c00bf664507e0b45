//! The clients of `zot rpc` in other languages, with `zino attach` as their program.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::fleet::Fleet;
use crate::installation::BINARY;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a program that uses a client, which finds `zino` under two names.
fn run(fleet: &Fleet, mut command: Command) {
    let directory = fleet.installation.path("bin");
    fs::create_dir_all(&directory).unwrap();
    let program = directory.join("zino-attach");
    if !program.exists() {
        symlink(BINARY, &program).unwrap();
    }
    command
        .env("ZINO_CONFIG", fleet.installation.path("ZINO.toml"))
        .env("ZINO", BINARY)
        .env("ZINO_ATTACH", &program);
    for (name, value) in fleet.variables() {
        command.env(name, value);
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
}

const PYTHON: &str = r#"
import os, zot
zino = os.environ["ZINO"]
with zot.Client(program=zino, args=["--profile", "coder"]) as client:
    answer = client.ask('write "from Python" to made', timeout=60)
    kept = client.state().session.id
with zot.Client(program=zino, resume=kept) as client:
    assert len(client.messages()) == 4, client.messages()
    assert [event for event in client.prompt("read made")]
"#;

const TYPESCRIPT: &str = r#"
import { Client } from "CLIENT";
const program = process.env.ZINO_ATTACH;
const first = await Client.start({ program });
await first.ask('write "from TypeScript" to made');
const { session } = await first.getState();
await first.close();
const second = await Client.start({ program, resume: session.id });
const messages = await second.getMessages();
if (messages.length !== 4) throw new Error(JSON.stringify(messages));
for await (const event of second.prompt("read made")) if (event.type === "error") throw new Error(event.message);
await second.close();
"#;

#[test]
fn the_python_client_drives_a_session() {
    let fleet = Fleet::start("");
    let _worker = fleet.worker("one");
    let mut command = Command::new("python3");
    command
        .args(["-c", PYTHON])
        .env("PYTHONPATH", root().join("sdk/python"));
    run(&fleet, command);
    assert_eq!(fleet.read("made").as_deref(), Some("from Python"));
}

#[test]
fn the_typescript_client_drives_a_session() {
    let fleet = Fleet::start("");
    let _worker = fleet.worker("one");
    let client = root().join("sdk/typescript/client/src/main.js");
    let file = fleet.installation.path("client.mjs");
    let client = client.canonicalize().unwrap();
    fs::write(
        &file,
        TYPESCRIPT.replace("CLIENT", client.to_str().unwrap()),
    )
    .unwrap();
    let mut command = Command::new("node");
    command.arg(file);
    run(&fleet, command);
    assert_eq!(fleet.read("made").as_deref(), Some("from TypeScript"));
}
