//! What all prompts of the server together have spent.

#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use zot_sdk::Budget;
use zot_sdk::conversation::Usage;

/// The budget of the process, and what is spent of it.
#[derive(Debug)]
pub(crate) struct Spending {
    budget: Budget,
    spent: Mutex<Spent>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Spent {
    steps: u64,
    cost_usd: f64,
    tokens: u64,
}

impl Spending {
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            budget,
            spent: Mutex::default(),
        }
    }

    /// Adds one model call.
    pub(crate) fn add(&self, turn: &Usage) {
        let mut spent = self.lock();
        spent.steps += 1;
        spent.cost_usd += turn.cost_usd;
        spent.tokens += turn.prompt_tokens() + turn.output;
    }

    /// Returns what is left for the next prompt. The time counts for each prompt on its own.
    pub(crate) fn left(&self) -> Budget {
        let spent = *self.lock();
        Budget {
            max_steps: self
                .budget
                .max_steps
                .map(|limit| limit.saturating_sub(spent.steps)),
            max_cost_usd: self
                .budget
                .max_cost_usd
                .map(|limit| (limit - spent.cost_usd).max(0.0)),
            max_tokens: self
                .budget
                .max_tokens
                .map(|limit| limit.saturating_sub(spent.tokens)),
            timeout: self.budget.timeout,
        }
    }

    /// Returns why nothing more may be spent. Prompts that run side by side reach it together.
    pub(crate) fn exhausted(&self) -> Option<String> {
        let (budget, spent) = (&self.budget, *self.lock());
        let reason = if budget.max_steps.is_some_and(|limit| spent.steps > limit) {
            "max_process_steps"
        } else if budget
            .max_cost_usd
            .is_some_and(|limit| spent.cost_usd > limit)
        {
            "max_cost_usd"
        } else if budget.max_tokens.is_some_and(|limit| spent.tokens > limit) {
            "max_tokens"
        } else {
            return None;
        };
        Some(format!("the server's budget is used up ({reason})"))
    }

    fn lock(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
