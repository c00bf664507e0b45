//! Session files: resumed, shared, listed, and damaged by crashes.

mod commands;
mod crashes;
mod resuming;
mod undo;
mod undo_links;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use testkit::{Finished, ModelServer, Wire, Workdir, ZotCommand};

use crate::support::binary;

/// A home, a working directory and a model, for several successive runs.
struct Project {
    server: ModelServer,
    workdir: Workdir,
}

impl Project {
    fn new() -> Self {
        Self {
            server: ModelServer::start(),
            workdir: Workdir::with_files("work"),
        }
    }

    fn zot(&self) -> ZotCommand {
        ZotCommand::new(binary(), &self.workdir)
    }

    fn prompting(&self) -> ZotCommand {
        self.zot().argument("-p").model(&self.server, Wire::OpenAi)
    }

    /// Runs a prompt, in a new session unless the flags say otherwise.
    fn prompt(&self, arguments: &[&str]) -> Finished {
        let ended = self.prompting().arguments(arguments).run("");
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended
    }

    /// `zot sessions`.
    fn sessions(&self, arguments: &[&str]) -> Finished {
        let ended = self.zot().argument("sessions").arguments(arguments).run("");
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        ended
    }

    fn sessions_json(&self, arguments: &[&str]) -> Value {
        let ended = self.sessions(&[arguments, &["--json"]].concat());
        serde_json::from_str(&ended.stdout).expect("a JSON value")
    }

    /// Returns the session files.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let directories = fs::read_dir(self.workdir.zot_home().join("sessions"));
        for directory in directories.into_iter().flatten() {
            let directory = directory.unwrap().path();
            for file in fs::read_dir(directory).into_iter().flatten() {
                let file = file.unwrap().path();
                if file
                    .extension()
                    .is_some_and(|extension| extension == "jsonl")
                {
                    files.push(file);
                }
            }
        }
        files.sort();
        files
    }

    fn only_file(&self) -> PathBuf {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }

    /// Returns the number of messages in the last request.
    fn messages_sent(&self) -> usize {
        let request = self.server.requests().pop().expect("a request");
        let messages = request.body["messages"].as_array().unwrap();
        messages.iter().filter(|m| m["role"] != "system").count()
    }
}

/// Returns the records of a session file; every line must be one.
fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "{text}");
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}
