//! `zot mcp`, with the real binary.

mod adding;
mod approving;
mod importing;
mod listing;
mod logins;
mod running;

use std::fs;

use serde_json::Value;
use testkit::{Finished, Workdir, ZotCommand};

use crate::support::binary;

/// A home and a project.
pub(crate) struct Bench(pub(crate) Workdir);

impl Bench {
    pub(crate) fn new() -> Self {
        Self(Workdir::new("bench"))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> ZotCommand {
        let command = ZotCommand::new(binary(), &self.0);
        command.argument("mcp").arguments(arguments)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        self.command(arguments).run("")
    }

    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        let printed = format!("{arguments:?}: {}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(0), "{printed}");
        ended.stdout
    }

    /// Fails with `code`; returns standard error.
    pub(crate) fn fail(&self, code: i32, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        let printed = format!("{arguments:?}: {}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.code, Some(code), "{printed}");
        ended.stderr
    }

    /// Returns the user's file.
    pub(crate) fn user(&self) -> Value {
        let path = self.0.zot_home().join("mcp.json");
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }

    /// Returns the project's file.
    pub(crate) fn project(&self) -> Value {
        serde_json::from_str(&self.0.read(".mcp.json").unwrap()).unwrap()
    }

    pub(crate) fn write_home(&self, path: &str, text: &str) {
        let path = self.0.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn wrong_use_exits_with_2() {
    let bench = Bench::new();
    for arguments in [
        &["lst"][..],
        &["add"],
        &["add", "x"],
        &["add", "a b", "x"],
        &["add", "-s", "local", "x", "y"],
        &["add", "-t", "ws", "x", "https://y"],
        &["add", "x", "npx", "-y", "server"],
        &["add", "x", "https://y", "-e", "A=1"],
        &["add", "x", "https://y", "more"],
        &["add", "x", "y", "-H", "A: b"],
        &["add", "x", "y", "--client-id", "me"],
        &["add", "x", "y", "-e", "=secret"],
        &["add", "-t", "http", "x", "y"],
        &["add", "x", "https://y", "--client-secret"],
        &["add-json", "x", "{"],
        &["add-json", "x", "{\"command\": 5}"],
        &["add-json", "x", "[]"],
        &["remove"],
        &["import", "cursor"],
        &["logs", "x", "-n", "many"],
    ] {
        let stderr = bench.fail(2, arguments);
        assert!(
            !stderr.is_empty() && !stderr.contains("secret,"),
            "{stderr}"
        );
    }
    assert!(!bench.0.zot_home().join("mcp.json").exists());
    let help = bench.succeed(&["--help"]);
    for word in [
        "add", "add-json", "list", "get", "remove", "enable", "disable", "approve", "import",
        "logs",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
}

#[test]
fn unknown_servers_exit_with_1_and_name_the_known_ones() {
    let bench = Bench::new();
    assert!(bench.fail(1, &["get", "x"]).contains("zot mcp add"));
    bench.succeed(&["add", "known", "true"]);
    for command in [
        "get", "remove", "enable", "disable", "logs", "test", "login", "logout",
    ] {
        let stderr = bench.fail(1, &[command, "x"]);
        assert!(
            stderr.contains("unknown MCP server \"x\"; known: known"),
            "{stderr}"
        );
    }
}

#[test]
fn a_log_is_shown_whole_or_its_end() {
    let bench = Bench::new();
    bench.succeed(&["add", "x", "true"]);
    let ended = bench.run(&["logs", "x"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    assert!(
        ended.stderr.contains("not written anything"),
        "{}",
        ended.stderr
    );
    let logs = bench.0.zot_home().join("logs");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("mcp-x.log"), "one\ntwo\nthree\n").unwrap();
    assert_eq!(bench.succeed(&["logs", "x"]), "one\ntwo\nthree\n");
    assert_eq!(bench.succeed(&["logs", "x", "-n", "1"]), "three\n");
    assert_eq!(bench.succeed(&["logs", "x", "-n", "0"]), "");
    bench.fail(1, &["logs", "../mcp-x"]);
}
