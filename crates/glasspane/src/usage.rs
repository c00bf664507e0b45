//! Tokens and cost.

use serde::{Deserialize, Serialize};

/// What an agent has used since it began.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// 0 where the agent does not tell.
    pub cost_usd: f64,
}

impl Usage {
    /// Adds what one more call used.
    pub fn add(&mut self, more: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.cache_read_tokens = self
            .cache_read_tokens
            .saturating_add(more.cache_read_tokens);
        self.cache_write_tokens = self
            .cache_write_tokens
            .saturating_add(more.cache_write_tokens);
        self.cost_usd += more.cost_usd;
    }

    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}
