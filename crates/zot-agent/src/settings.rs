//! The model, tools and rules of a conversation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zot_conversation::{ErrorReport, Model, ModelError, Prices, ReasoningEffort, ToolSet};

use crate::approval::ApprovalPolicy;
use crate::step_limit::StepLimit;

/// The model, tools and rules of a conversation. Replaced as a whole between prompts.
#[derive(Clone)]
pub struct AgentSettings {
    pub model: ConnectedModel,
    pub system: Arc<str>,
    pub tools: Arc<ToolSet>,
    pub reasoning: Option<ReasoningEffort>,
    pub steps: StepLimit,
    pub approval: ApprovalPolicy,
    /// Models that take over when the one before fails, in this order, until the prompt ends.
    pub fallbacks: Arc<[ConnectedModel]>,
}

/// A model with the client that reaches it.
#[derive(Clone)]
pub struct ConnectedModel {
    pub client: Arc<dyn Model>,
    /// The provider's name, for people.
    pub provider: String,
    /// The model's id as its provider knows it.
    pub id: String,
    pub prices: Prices,
    /// In tokens; 0 when unknown.
    pub context_window: u64,
    /// In tokens.
    pub max_output: u64,
}

impl ConnectedModel {
    pub(crate) fn report(&self, error: &ModelError) -> ErrorReport {
        ErrorReport::of_provider(error, &self.provider)
    }

    /// Returns provider and model in one name, for example `openai/gpt-5`.
    pub(crate) fn qualified_name(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

/// The current settings, shared by the agent with hooks, which may change them between two model
/// calls.
pub struct SharedSettings(Mutex<Arc<AgentSettings>>);

impl SharedSettings {
    pub fn new(settings: AgentSettings) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Arc::new(settings))))
    }

    pub fn get(&self) -> Arc<AgentSettings> {
        Arc::clone(&self.lock())
    }

    pub fn set(&self, settings: AgentSettings) {
        *self.lock() = Arc::new(settings);
    }

    /// Changes the settings atomically.
    pub fn change(&self, change: impl FnOnce(&mut AgentSettings)) {
        let mut current = self.lock();
        let mut settings = (**current).clone();
        change(&mut settings);
        *current = Arc::new(settings);
    }

    fn lock(&self) -> MutexGuard<'_, Arc<AgentSettings>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
