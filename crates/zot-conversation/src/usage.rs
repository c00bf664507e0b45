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
    /// Returns all prompt tokens of this call, cached ones included.
    pub fn prompt_tokens(&self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }

    /// Returns the same counts with `cost_usd` computed from `prices`, at the rates for a prompt of
    /// this size.
    ///
    /// Meant for one model call: the sum of several would be taken for one long prompt.
    pub fn priced(self, prices: &Prices) -> Self {
        let rates = prices.rates(self.prompt_tokens());
        let cost = self.input as f64 * rates.input
            + self.output as f64 * rates.output
            + self.cache_read as f64 * rates.cache_read
            + self.cache_write as f64 * rates.cache_write;
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
pub struct Rates {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

/// What a model costs: its usual rates, and those of long prompts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices {
    pub base: Rates,
    /// Rates for long prompts, in ascending order of `above`.
    pub tiers: Vec<PriceTier>,
}

/// Rates that apply to the whole request when its prompt is longer than `above`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PriceTier {
    /// Prompt tokens, cached ones included.
    pub above: u64,
    pub rates: Rates,
}

impl Prices {
    /// Returns the rates for a prompt of `prompt_tokens`, cached tokens included.
    ///
    /// Every provider with such tiers (Anthropic, Google, OpenAI, xAI) charges all tokens of the
    /// request, output too, at the rates of the tier that the prompt falls into.
    pub fn rates(&self, prompt_tokens: u64) -> &Rates {
        self.tiers
            .iter()
            .rev()
            .find(|tier| prompt_tokens > tier.above)
            .map_or(&self.base, |tier| &tier.rates)
    }
}

impl From<Rates> for Prices {
    fn from(base: Rates) -> Self {
        Self {
            base,
            tiers: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
