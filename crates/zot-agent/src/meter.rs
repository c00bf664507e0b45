//! Holds what a prompt spends against its budgets.

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
}

impl Meter {
    pub(crate) fn new(agent: &Agent, prompt: Budget) -> Self {
        let own = Allowance {
            budget: prompt,
            began: Instant::now(),
            usage: agent.usage(),
            calls: agent.model_calls(),
        };
        let process = Allowance {
            budget: agent.process_budget(),
            began: agent.began(),
            usage: Usage::default(),
            calls: 0,
        };
        Self {
            allowances: [own, process],
        }
    }

    /// The limit that leaves no room for another model call.
    pub(crate) fn reached(&self, agent: &Agent) -> Option<String> {
        let (usage, calls) = (agent.usage(), agent.model_calls());
        self.allowances
            .iter()
            .find_map(|allowance| allowance.budget.reached(&allowance.spent(&usage, calls)))
    }

    /// Whether spending has to be watched while an answer arrives.
    pub(crate) fn limits_spending(&self) -> bool {
        self.allowances
            .iter()
            .any(|allowance| allowance.budget.limits_spending())
    }

    /// The limit that a running call has reached which has used `call` so far.
    pub(crate) fn spending_reached(&self, agent: &Agent, call: &Usage) -> Option<String> {
        let mut usage = agent.usage();
        usage += *call;
        self.allowances.iter().find_map(|allowance| {
            let spent = allowance.spent(&usage, 0);
            allowance.budget.spending_reached(&spent)
        })
    }

    /// Waits until the time is up, and says which limit that was. For ever when there is none.
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
