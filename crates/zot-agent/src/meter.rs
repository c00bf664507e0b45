//! Compares what a prompt spends with its budgets.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::time::Instant;
use zot_conversation::Usage;

use crate::Agent;
use crate::budget::{Budget, Spent, timeout_reached};

/// The budgets of one prompt: its own and that of the process.
pub(crate) struct Meter {
    allowances: [Allowance; 2],
}

/// A budget and what had been spent when it began.
struct Allowance {
    budget: Budget,
    began: Instant,
    usage: Usage,
    calls: u64,
    /// Model calls that were allowed beyond the limit.
    more_steps: AtomicU64,
}

impl Meter {
    pub(crate) fn new(agent: &Agent, prompt: Budget) -> Self {
        let own = Allowance {
            budget: prompt,
            began: Instant::now(),
            usage: agent.usage(),
            calls: agent.model_calls(),
            more_steps: AtomicU64::new(0),
        };
        let process = Allowance {
            budget: agent.process_budget(),
            began: agent.began(),
            usage: Usage::default(),
            calls: 0,
            more_steps: AtomicU64::new(agent.granted_steps()),
        };
        Self {
            allowances: [own, process],
        }
    }

    /// Returns the limit that leaves no room for another model call.
    pub(crate) fn reached(&self, agent: &Agent) -> Option<String> {
        let (usage, calls) = (agent.usage(), agent.model_calls());
        self.allowances.iter().find_map(|allowance| {
            let spent = allowance.spent(&usage, calls);
            allowance.extended().reached(&spent)
        })
    }

    /// Returns the step limit that leaves no room for another step, as it was set.
    pub(crate) fn step_limit(&self, agent: &Agent) -> Option<u64> {
        let calls = agent.model_calls();
        let full = self.allowances.iter().find(|allowance| {
            let limit = allowance.extended().max_steps;
            limit.is_some_and(|limit| calls.saturating_sub(allowance.calls) >= limit)
        });
        full?.budget.max_steps
    }

    /// Raises the limits on steps that are reached.
    pub(crate) fn allow_steps(&self, agent: &Agent, more: u64) {
        let calls = agent.model_calls();
        let [own, process] = &self.allowances;
        for allowance in [own, process] {
            let limit = allowance.extended().max_steps;
            if limit.is_some_and(|limit| calls.saturating_sub(allowance.calls) >= limit) {
                allowance.more_steps.fetch_add(more, Ordering::Relaxed);
            }
        }
        // They apply to later prompts of the process as well.
        agent.grant_steps(process.more_steps.load(Ordering::Relaxed));
    }

    /// Returns whether spending has to be checked while a response arrives.
    pub(crate) fn limits_spending(&self) -> bool {
        self.allowances
            .iter()
            .any(|allowance| allowance.budget.limits_spending())
    }

    /// Returns the limit that a running call has reached after using `call` so far.
    pub(crate) fn spending_reached(&self, agent: &Agent, call: &Usage) -> Option<String> {
        let mut usage = agent.usage();
        usage += *call;
        self.allowances.iter().find_map(|allowance| {
            let spent = allowance.spent(&usage, 0);
            allowance.budget.spending_reached(&spent)
        })
    }

    /// Waits until the time is up and returns the limit; waits forever if there is none.
    pub(crate) async fn time_is_up(&self) -> String {
        let first = self
            .allowances
            .iter()
            .filter_map(|allowance| Some((allowance.began, allowance.budget.timeout?)))
            .min_by_key(|(began, timeout)| *began + *timeout);
        match first {
            Some((began, timeout)) => {
                tokio::time::sleep_until(began + timeout).await;
                timeout_reached(timeout)
            }
            None => std::future::pending().await,
        }
    }
}

impl Allowance {
    /// Returns the budget plus the steps that were allowed beyond it.
    fn extended(&self) -> Budget {
        let more = self.more_steps.load(Ordering::Relaxed);
        Budget {
            max_steps: self
                .budget
                .max_steps
                .map(|limit| limit.saturating_add(more)),
            ..self.budget
        }
    }

    fn spent(&self, usage: &Usage, calls: u64) -> Spent {
        let tokens = |usage: &Usage| usage.prompt_tokens() + usage.output;
        Spent {
            steps: calls.saturating_sub(self.calls),
            cost_usd: usage.cost_usd - self.usage.cost_usd,
            tokens: tokens(usage).saturating_sub(tokens(&self.usage)),
            elapsed: self.began.elapsed(),
        }
    }
}
