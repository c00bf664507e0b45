//! Adds up sessions.

use std::collections::BTreeMap;
use std::io;

use zot_session::Summary;

use super::{Scope, list};
use crate::workspace::Workspace;

/// The sums over some sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// How many sessions there are.
    pub sessions: u64,
    /// How many prompts they have.
    pub prompts: u64,
    /// How many messages they have.
    pub messages: u64,
    /// Tokens sent, including cached ones.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// The cost in US dollars.
    pub cost_usd: f64,
    /// The size of the files.
    pub bytes: u64,
}

/// The sums over all sessions of a scope, in total and by model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statistics {
    /// All sessions.
    pub total: Totals,
    /// By provider and model, separated by a space.
    pub by_model: BTreeMap<String, Totals>,
}

/// Adds up the sessions in `scope`. A session counts for the model it used last.
pub fn statistics(workspace: &Workspace, scope: Scope) -> io::Result<Statistics> {
    let mut statistics = Statistics::default();
    for summary in list(workspace, scope)? {
        statistics.total.add(&summary);
        let model = format!("{} {}", summary.provider, summary.model);
        let of_model = statistics.by_model.entry(model).or_default();
        of_model.add(&summary);
    }
    Ok(statistics)
}

impl Totals {
    fn add(&mut self, summary: &Summary) {
        self.sessions += 1;
        self.prompts += summary.prompts;
        self.messages += summary.messages;
        self.prompt_tokens +=
            summary.input_tokens + summary.cache_read_tokens + summary.cache_write_tokens;
        self.output_tokens += summary.output_tokens;
        self.cost_usd += summary.cost_usd;
        self.bytes += summary.bytes;
    }
}
