//! Limits on what a prompt, or a whole process, may spend.

#[cfg(test)]
mod tests;

use std::time::Duration;

/// The most that may be spent. An unset field sets no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Budget {
    /// Model calls.
    pub max_steps: Option<u64>,
    pub max_cost_usd: Option<f64>,
    /// Tokens of every kind, read from a cache or not.
    pub max_tokens: Option<u64>,
    pub timeout: Option<Duration>,
}

/// What has been spent so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Spent {
    pub(crate) steps: u64,
    pub(crate) cost_usd: f64,
    pub(crate) tokens: u64,
    pub(crate) elapsed: Duration,
}

impl Budget {
    /// Returns whether any limit has to be checked while a response arrives.
    pub(crate) fn limits_spending(&self) -> bool {
        self.max_cost_usd.is_some() || self.max_tokens.is_some()
    }

    /// Returns the limit that leaves no room for another model call.
    pub(crate) fn reached(&self, spent: &Spent) -> Option<String> {
        if let Some(limit) = self.max_steps
            && spent.steps >= limit
        {
            return Some(format!("budget: max_steps {limit} reached"));
        }
        self.spending_reached(spent)
    }

    /// Returns the limit that a running model call has reached.
    pub(crate) fn spending_reached(&self, spent: &Spent) -> Option<String> {
        if let Some(limit) = self.max_cost_usd
            && spent.cost_usd >= limit
        {
            let spent = spent.cost_usd;
            return Some(format!(
                "budget: max_cost_usd {limit} reached ({spent:.6} spent)"
            ));
        }
        if let Some(limit) = self.max_tokens
            && spent.tokens >= limit
        {
            let spent = spent.tokens;
            return Some(format!("budget: max_tokens {limit} reached ({spent} used)"));
        }
        let limit = self.timeout?;
        (spent.elapsed >= limit).then(|| timeout_reached(limit))
    }
}

pub(crate) fn timeout_reached(limit: Duration) -> String {
    format!("budget: timeout_ms {} reached", limit.as_millis())
}
