//! The flags that limit what the process may spend.

use std::time::Duration;

use clap::Args;
use zot_sdk::Budget;

use super::{heading, values};

#[derive(Args)]
#[command(next_help_heading = heading::LIMITS)]
pub(crate) struct BudgetArguments {
    /// The most model calls of this process
    #[arg(long, value_name = "N")]
    max_process_steps: Option<u64>,
    /// The most money this process may spend
    #[arg(long, value_name = "USD", value_parser = values::dollars)]
    max_cost_usd: Option<f64>,
    /// The most tokens this process may use
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// The longest time this process may work
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
}

impl From<BudgetArguments> for Budget {
    fn from(arguments: BudgetArguments) -> Self {
        Self {
            max_steps: arguments.max_process_steps,
            max_cost_usd: arguments.max_cost_usd,
            max_tokens: arguments.max_tokens,
            timeout: arguments.timeout_ms.map(Duration::from_millis),
        }
    }
}
