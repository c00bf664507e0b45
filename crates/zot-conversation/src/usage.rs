//! Token counts and what they cost.

use std::ops::AddAssign;

/// Tokens of one model call, or of several added up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cost_usd: f64,
}

impl Usage {
    /// Everything the model had to look at for this call.
    pub fn prompt_tokens(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }

    /// The same counts with `cost_usd` computed from `prices`.
    pub fn priced(self, prices: &Prices) -> Self {
        let cost = self.input as f64 * prices.input
            + self.output as f64 * prices.output
            + self.cache_read as f64 * prices.cache_read
            + self.cache_write as f64 * prices.cache_write;
        Self {
            cost_usd: cost / 1e6,
            ..self
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost_usd += other.cost_usd;
    }
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}
