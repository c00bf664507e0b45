//! `zot ext`, with the real binary, real extensions and a real git remote.

mod dev;
mod install;
mod list;
mod logs;
mod new;
mod test_command;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use testkit::{Finished, Workdir, ZotCommand};

use crate::support::binary;

/// An extension in plain sh with a command, a tool and an interceptor, and no faults.
pub(crate) const GOOD: &str = r#"#!/bin/sh
echo '{"type":"hello","name":"good","version":"1.0.0","capabilities":["commands","tools"]}'
echo '{"type":"register_command","name":"greet","description":"say hi"}'
echo '{"type":"register_tool","name":"add","description":"adds","schema":{"type":"object","properties":{"a":{"type":"integer","minimum":3}},"required":["a"]}}'
echo '{"type":"subscribe","events":["session_start"],"intercept":["tool_call"]}'
echo '{"type":"ready"}'
while IFS= read -r line; do
    id=${line#*\"id\":\"}
    id=${id%%\"*}
    case $line in
    *'"type":"command_invoked"'*) echo '{"type":"command_response","id":"'"$id"'","action":"display","display":"hi there"}' ;;
    *'"type":"tool_call"'*) echo '{"type":"tool_result","id":"'"$id"'","content":[{"type":"text","text":"sum"}]}' ;;
    *'"type":"event_intercept"'*) echo '{"type":"event_intercept_response","id":"'"$id"'"}' ;;
    *'"type":"shutdown"'*) echo '{"type":"shutdown_ack"}'; exit 0 ;;
    esac
done
"#;

/// A home, a project and extensions.
pub(crate) struct Bench(pub(crate) Workdir);

impl Bench {
    pub(crate) fn new() -> Self {
        Self(Workdir::new("bench"))
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> ZotCommand {
        let command = ZotCommand::new(binary(), &self.0);
        command.argument("ext").arguments(arguments)
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
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stdout);
        ended.stderr
    }

    pub(crate) fn installed(&self) -> PathBuf {
        self.0.zot_home().join("extensions")
    }

    /// Returns the names in the directory of installed extensions, including hidden files.
    pub(crate) fn store(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.installed()) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// An extension in the working directory.
    pub(crate) fn extension(&self, directory: &str, manifest: &str, script: &str) -> PathBuf {
        let path = self.0.path().join(directory);
        write_extension(&path, manifest, script);
        path
    }

    pub(crate) fn good(&self) -> PathBuf {
        self.extension("good", &manifest("good"), GOOD)
    }
}

pub(crate) fn manifest(name: &str) -> String {
    format!(r#"{{"name": "{name}", "version": "1.0.0", "exec": "./run.sh"}}"#)
}

pub(crate) fn write_extension(directory: &Path, manifest: &str, script: &str) {
    fs::create_dir_all(directory).unwrap();
    fs::write(directory.join("extension.json"), manifest).unwrap();
    write_program(&directory.join("run.sh"), script);
}

pub(crate) fn write_program(path: &Path, script: &str) {
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn wrong_use_exits_with_2() {
    let bench = Bench::new();
    for arguments in [
        &["lst"][..],
        &["upgrade"],
        &["install"],
        &["remove"],
        &["new", "x"],
        &["new", "x", "--lang", "cobol"],
        &["test"],
        &["logs", "x", "-n", "many"],
    ] {
        assert!(!bench.fail(2, arguments).is_empty());
    }
    let help = bench.succeed(&["--help"]);
    for word in [
        "list", "install", "remove", "enable", "disable", "logs", "new", "test", "dev",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(bench.succeed(&["install", "--help"]).contains("--force"));
}
