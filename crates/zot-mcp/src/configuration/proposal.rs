//! A project's servers as its user has to see them before approving them.

use std::collections::BTreeMap;

use super::ProjectFile;
use super::redaction::quoted;
use crate::entry::{Address, ServerEntry};

/// A server that a project wants to start. Unlike elsewhere nothing is hidden, as hiding a part of a command
/// could hide what it does; variables are shown by name, so their values stay out of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    pub name: String,
    /// The whole command line, or the URL.
    pub target: String,
    /// What else decides what the server does and gets, a line each.
    pub details: Vec<String>,
}

impl ProjectFile {
    /// Returns the servers of the file, for a question about them.
    pub fn proposals(&self) -> Vec<Proposal> {
        self.servers.iter().map(proposal).collect()
    }
}

fn proposal(server: &ServerEntry) -> Proposal {
    let (target, label, pairs): (String, &str, &BTreeMap<String, String>) = match &server.address {
        Address::Stdio {
            command, args, env, ..
        } => {
            let words = std::iter::once(command).chain(args);
            let words: Vec<String> = words.map(|word| quoted(word)).collect();
            (words.join(" "), "variable", env)
        }
        Address::Http { url, headers } | Address::Sse { url, headers } => {
            (url.clone(), "header", headers)
        }
    };
    let pairs = pairs.iter();
    let mut details: Vec<String> = pairs
        .map(|(name, value)| format!("{label} {name}: {value}"))
        .collect();
    if !server.enabled {
        details.push("disabled".to_owned());
    }
    Proposal {
        name: server.name.clone(),
        target,
        details,
    }
}
