//! Tokens and cost.

use serde::{Deserialize, Serialize};

/// The usage of an agent since it started.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// 0 if the cost is unknown, which then has no `cost_basis`.
    pub cost_usd: f64,
    /// Where the cost comes from; `None` if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_basis: Option<CostBasis>,
}

/// Where the cost of an agent comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostBasis {
    /// Reported by the agent.
    #[serde(rename = "told")]
    Reported,
    /// Reported by the agent as an estimate from list prices.
    Estimated,
}

impl Usage {
    /// Adds the usage of another call.
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
        self.cost_basis = weaker(self.cost_basis, more.cost_basis);
    }

    /// Raises each figure to that of `other`: usage never decreases.
    pub fn raise_to(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.max(other.input_tokens);
        self.output_tokens = self.output_tokens.max(other.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.max(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.max(other.cache_write_tokens);
        if other.cost_usd >= self.cost_usd {
            self.cost_usd = other.cost_usd;
            self.cost_basis = other.cost_basis.or(self.cost_basis);
        }
    }

    /// Sets the cost in US dollars that an agent reports. Many report 0 for models whose price they do not know,
    /// so 0 counts as unknown.
    #[must_use]
    pub fn with_cost(self, dollars: f64, basis: CostBasis) -> Self {
        Self {
            cost_usd: dollars,
            cost_basis: (dollars > 0.0).then_some(basis),
            ..self
        }
    }

    /// All tokens the model read or wrote.
    pub fn tokens(&self) -> u64 {
        self.prompt_tokens().saturating_add(self.output_tokens)
    }

    /// All tokens the model read, cached or not.
    pub fn prompt_tokens(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_read_tokens)
            .saturating_add(self.cache_write_tokens)
    }

    /// For people: `$0.0123`, `~$0.0123` if it is an estimate, or `–` if it is unknown.
    pub fn cost_words(&self) -> String {
        // Logs of older versions have a cost without a basis.
        match self.cost_basis {
            Some(CostBasis::Estimated) => format!("~${:.4}", self.cost_usd),
            None if self.cost_usd <= 0.0 => "–".to_owned(),
            _ => format!("${:.4}", self.cost_usd),
        }
    }

    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// A sum with an estimate in it is an estimate.
fn weaker(one: Option<CostBasis>, other: Option<CostBasis>) -> Option<CostBasis> {
    match (one, other) {
        (Some(CostBasis::Estimated), _) | (_, Some(CostBasis::Estimated)) => {
            Some(CostBasis::Estimated)
        }
        (one, other) => one.or(other),
    }
}
