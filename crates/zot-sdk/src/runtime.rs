//! A conversation with a model in a working directory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_agent::{Agent, AgentParts, JournalError, NoHooks, Transcript};
use zot_conversation::{AgentEvent, BoxFuture, ContentBlock, Image};
use zot_provider::catalog::Catalog;
use zot_wire::rpc::{CumulativeUsage, Message, ModelEntry, StateData};

use crate::assembly::{self, Assembled, AssemblyError};
use crate::config::Config;
use crate::convert;
use crate::stream::{EVENT_QUEUE, EventStream, Work};

/// The version every part of zot reports.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Another prompt or compaction is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("busy")]
pub struct Busy;

/// A model could not be switched to.
#[derive(Debug, thiserror::Error)]
pub enum ModelChangeError {
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error("unknown model {model:?} (provider={provider:?}){}", did_you_mean(.nearest))]
    Unknown {
        model: String,
        provider: String,
        nearest: Vec<String>,
    },
}

pub(crate) fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", nearest.join(", "))
    }
}

/// An agent that can be prompted.
///
/// Any number of runtimes may live in one process; each does one prompt or compaction at a time.
pub struct Runtime {
    agent: Arc<Agent>,
    provider: String,
    /// Whether a model outside the catalog may be switched to.
    open_models: bool,
    catalog: Arc<Catalog>,
    cwd: PathBuf,
    warnings: Vec<String>,
    occupation: Arc<Occupation>,
}

/// Whether a prompt or compaction is under way, and what stops it.
#[derive(Default)]
pub(crate) struct Occupation(Mutex<Option<CancellationToken>>);

impl Occupation {
    fn begin(&self) -> Result<CancellationToken, Busy> {
        let mut current = self.lock();
        if current.is_some() {
            return Err(Busy);
        }
        let cancel = CancellationToken::new();
        *current = Some(cancel.clone());
        Ok(cancel)
    }

    pub(crate) fn end(&self) {
        *self.lock() = None;
    }

    fn cancel(&self) {
        if let Some(cancel) = self.lock().as_ref() {
            cancel.cancel();
        }
    }

    fn is_busy(&self) -> bool {
        self.lock().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runtime {
    /// Assembles a runtime. Nothing is contacted before the first prompt.
    pub fn new(config: Config) -> Result<Self, AssemblyError> {
        let Assembled {
            provider,
            open_models,
            catalog,
            cwd,
            settings,
            journal,
            warnings,
        } = assembly::assemble(config)?;
        Ok(Self {
            agent: Arc::new(Agent::new(AgentParts {
                settings,
                hooks: Arc::new(NoHooks),
                journal,
                transcript: Transcript::default(),
            })),
            provider,
            open_models,
            catalog: Arc::new(catalog),
            cwd,
            warnings,
            occupation: Arc::default(),
        })
    }

    /// Runs the agent on a message; the stream does the work as it is read.
    pub fn prompt(&self, text: &str, images: Vec<Image>) -> Result<EventStream, Busy> {
        let mut content = Vec::with_capacity(images.len() + 1);
        if !text.is_empty() {
            content.push(ContentBlock::Text(text.to_owned()));
        }
        content.extend(images.into_iter().map(ContentBlock::Image));
        self.start(Work::Prompt, |agent, events, cancel| {
            Box::pin(async move { agent.prompt(content, &events, &cancel).await })
        })
    }

    /// Summarises the transcript into one message.
    pub fn compact(&self) -> Result<EventStream, Busy> {
        self.start(Work::Compaction, |agent, events, cancel| {
            Box::pin(async move { agent.compact(&events, &cancel).await })
        })
    }

    fn start(
        &self,
        kind: Work,
        work: impl FnOnce(
            Arc<Agent>,
            mpsc::Sender<AgentEvent>,
            CancellationToken,
        ) -> BoxFuture<'static, ()>,
    ) -> Result<EventStream, Busy> {
        let cancel = self.occupation.begin()?;
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE);
        let work = work(Arc::clone(&self.agent), sender, cancel);
        Ok(EventStream::new(
            work,
            receiver,
            Arc::clone(&self.occupation),
            kind,
        ))
    }

    /// Stops the running prompt or compaction in good order. Harmless when there is none.
    pub fn cancel(&self) {
        self.occupation.cancel();
    }

    /// Drops the transcript. Usage stays.
    pub fn clear(&self) -> Result<(), ClearError> {
        if self.occupation.is_busy() {
            return Err(Busy.into());
        }
        Ok(self.agent.clear()?)
    }

    /// Switches to another model of the same provider.
    pub fn set_model(&self, model: &str) -> Result<(), ModelChangeError> {
        if self.occupation.is_busy() {
            return Err(Busy.into());
        }
        let info = assembly::find_model(&self.catalog, &self.provider, model, self.open_models)
            .ok_or_else(|| ModelChangeError::Unknown {
                model: model.to_owned(),
                provider: self.provider.clone(),
                nearest: assembly::nearest(&self.catalog, &self.provider, model),
            })?;
        let mut settings = (*self.agent.settings()).clone();
        assembly::apply_model(&mut settings, &info);
        self.agent.set_settings(settings);
        Ok(())
    }

    /// A snapshot, available at any moment.
    pub fn state(&self) -> StateData {
        StateData {
            provider: self.provider.clone(),
            model: self.model(),
            cwd: self.cwd.display().to_string(),
            message_count: self.agent.transcript().len(),
            busy: self.occupation.is_busy(),
            usage: self.cost(),
        }
    }

    pub fn messages(&self) -> Vec<Message> {
        convert::messages(&self.agent.transcript())
    }

    /// Everything spent since the runtime was made.
    pub fn cost(&self) -> CumulativeUsage {
        convert::usage(&self.agent.usage())
    }

    /// The models known for this provider.
    pub fn list_models(&self) -> Vec<ModelEntry> {
        self.catalog
            .models(&self.provider)
            .map(|model| ModelEntry {
                id: model.id.to_string(),
                provider: model.provider.to_string(),
                context_window: model.context_window,
                max_output: model.max_output,
                reasoning: model.reasoning,
            })
            .collect()
    }

    pub fn provider(&self) -> &str {
        &self.provider
    }

    pub fn model(&self) -> String {
        self.agent.settings().model_id.clone()
    }

    /// What the user should know about how the runtime was assembled.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub fn cwd(&self) -> &Path {
        &self.cwd
    }
}

/// The transcript could not be dropped.
#[derive(Debug, thiserror::Error)]
pub enum ClearError {
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error(transparent)]
    Journal(#[from] JournalError),
}
