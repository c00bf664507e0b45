//! How many model calls one prompt may take.

/// How many model calls one prompt may take, and what happens when they are used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepLimit {
    /// The most model calls that one prompt may take; `None` sets no limit.
    pub max_steps: Option<u32>,
    /// What happens when a prompt reaches this limit or that of its budget.
    pub when_reached: AtStepLimit,
}

/// What happens when a prompt reaches its limit of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AtStepLimit {
    /// It ends with an error.
    #[default]
    Fail,
    /// It asks for more steps and waits for the decision.
    Ask,
}
