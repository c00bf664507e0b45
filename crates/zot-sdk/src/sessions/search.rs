//! Searches messages.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use zot_session::{Hit, Summary};

use super::{Scope, list};
use crate::workspace::Workspace;

/// The matching messages of one session.
#[derive(Debug, Clone)]
pub struct SessionMatches {
    /// The session.
    pub session: Summary,
    /// The matches, in the order of the conversation; at least one.
    pub hits: Vec<Hit>,
}

/// Finds the messages that contain all words of `query`, in the sessions of `scope`.
pub fn search(workspace: &Workspace, query: &str, scope: Scope) -> io::Result<Vec<SessionMatches>> {
    let summaries = list(workspace, scope)?;
    let files: Vec<PathBuf> = summaries
        .iter()
        .map(|summary| summary.path.clone())
        .collect();
    let mut by_file: HashMap<PathBuf, Vec<Hit>> = HashMap::new();
    for hit in zot_session::search(&files, query) {
        by_file.entry(hit.path.clone()).or_default().push(hit);
    }
    let found = summaries.into_iter().filter_map(|session| {
        let hits = by_file.remove(&session.path)?;
        Some(SessionMatches { session, hits })
    });
    Ok(found.collect())
}
