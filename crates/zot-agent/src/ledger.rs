//! What was spent, by model and by model call.

use std::collections::{BTreeMap, VecDeque};

use zot_conversation::{Timestamp, Usage};

use crate::agent::now;

/// How many model calls are remembered one by one. The sums by model keep everything.
///
/// Limit: `get_usage` forgets the oldest calls; the sums keep everything.
const MAX_LEDGER_CALLS: usize = 10_000;

/// The usage of an agent in detail.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    by_model: BTreeMap<String, Usage>,
    calls: VecDeque<CallUsage>,
}

/// What one model call used.
#[derive(Debug, Clone, PartialEq)]
pub struct CallUsage {
    pub model: String,
    pub time: Timestamp,
    pub usage: Usage,
}

impl Ledger {
    pub(crate) fn add(&mut self, model: String, usage: Usage) {
        *self.by_model.entry(model.clone()).or_default() += usage;
        if self.calls.len() == MAX_LEDGER_CALLS {
            self.calls.pop_front();
        }
        self.calls.push_back(CallUsage {
            model,
            time: now(),
            usage,
        });
    }

    pub fn by_model(&self) -> impl Iterator<Item = (&str, &Usage)> {
        self.by_model
            .iter()
            .map(|(model, usage)| (model.as_str(), usage))
    }

    /// Returns the latest calls, oldest first.
    pub fn calls(&self) -> impl Iterator<Item = &CallUsage> {
        self.calls.iter()
    }
}
