//! The extensions of the bench.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;
use serde_json::json;

use super::super::peer::Peer;
use super::super::programs::clean_command;

/// An extension without an SDK: the minimum.
const PYTHON_CHILD: &str = include_str!("child.py");
const PYTHON_FLAGS: [&str; 3] = ["-S", "-E", "-u"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Rust,
}

impl Language {
    pub(super) const ALL: [Self; 2] = [Self::Python, Self::Rust];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Rust => "Rust",
        }
    }
}

/// What an extension does besides tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behaviour {
    /// Nothing.
    Answers,
    /// Subscribes to messages and records their delays.
    Watches,
    /// Subscribes to messages and never reads.
    NeverReads,
}

impl Behaviour {
    fn argument(self) -> Option<&'static str> {
        match self {
            Self::Answers => None,
            Self::Watches => Some("watch"),
            Self::NeverReads => Some("stuck"),
        }
    }
}

/// An installed extension. Its tool and its command have its name.
pub(super) struct Installed {
    pub(super) name: String,
    pub(super) directory: PathBuf,
    program: PathBuf,
    arguments: Vec<String>,
}

impl Installed {
    /// Installs the extension with this number below `parent`.
    pub(super) fn new(
        parent: &Path,
        number: usize,
        language: Language,
        rust_child: &Path,
        behaviour: Behaviour,
    ) -> anyhow::Result<Self> {
        ensure!(
            language == Language::Rust || behaviour == Behaviour::Answers,
            "only the child in Rust has other roles"
        );
        let name = format!("probe{number}");
        let directory = parent.join(&name);
        fs::create_dir_all(&directory)?;
        let (program, mut arguments) = match language {
            Language::Rust => (rust_child.to_owned(), vec![name.clone()]),
            Language::Python => {
                fs::write(directory.join("child.py"), PYTHON_CHILD)?;
                let flags = PYTHON_FLAGS.into_iter().chain(["child.py", &name]);
                (PathBuf::from("python3"), flags.map(str::to_owned).collect())
            }
        };
        arguments.extend(behaviour.argument().map(str::to_owned));
        let manifest = json!({"name": name, "version": "1", "exec": program, "args": arguments});
        fs::write(directory.join("extension.json"), manifest.to_string())?;
        Ok(Self {
            name,
            directory,
            program,
            arguments,
        })
    }

    /// Installs `count` extensions of the same kind.
    pub(super) fn several(
        parent: &Path,
        count: usize,
        language: Language,
        rust_child: &Path,
    ) -> anyhow::Result<Vec<Self>> {
        (0..count)
            .map(|number| Self::new(parent, number, language, rust_child, Behaviour::Answers))
            .collect()
    }

    /// Starts the program without zot.
    pub(super) fn start_bare(&self) -> anyhow::Result<Peer> {
        let mut command: Command = clean_command(&self.program);
        command.args(&self.arguments).current_dir(&self.directory);
        Peer::start(command)
    }
}
