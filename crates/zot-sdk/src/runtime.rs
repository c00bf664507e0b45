//! A conversation with a model in a working directory.

mod aside;
mod context;
mod extensions;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_agent::{
    Agent, AgentParts, AgentSettings, ApprovalPolicy, Budget, Decision, Hooks, JournalError,
    NoHooks, NotWaiting, SteerError, Transcript,
};
use zot_context::{SkillGuard, Templates};
use zot_conversation::{
    self as conversation, AgentEvent, BoxFuture, ContentBlock, Image, ReasoningEffort, Tool,
};
use zot_extension_host::ExtensionHost;
use zot_provider::catalog::Catalog;
use zot_session::{SessionError, SessionLog};
use zot_tools::JailError;
use zot_wire::rpc::{
    CumulativeUsage, FullMessage, Message, ModelEntry, ModelUsage, RepairReport, SessionData,
    StateData, ToolEntry, TurnUsage, UsageData,
};

use crate::assembly::{self, Assembled, AssemblyError, Clients, UnknownTool};
use crate::config::{Config, ToolSelection};
use crate::convert;
use crate::full::{self, InvalidMessage};
use crate::hooks::ChainedHooks;
use crate::hosting::ExtensionHooks;
use crate::jail::{Confines, JailReport};
use crate::live_models::LiveModels;
use crate::persistence::SessionInfo;
use crate::rescue::Rescue;
use crate::stream::{EVENT_QUEUE, EventStream, OnRequest, Work};
use crate::surroundings::SkillHooks;
use crate::toolbox::ToolBox;

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
    #[error(transparent)]
    Session(#[from] SessionError),
}

pub use context::ContextPart;
pub use extensions::ReloadFailure;

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
    session: Option<SessionInfo>,
    /// Where it is noted that another model is switched to.
    session_log: Option<Arc<SessionLog>>,
    warnings: Vec<String>,
    toolbox: Arc<ToolBox>,
    jail: Confines,
    extensions: Option<Arc<ExtensionHost>>,
    templates: Templates,
    /// Holds the model to the skills it has loaded, if there are any.
    guard: Option<Arc<SkillGuard>>,
    clients: Clients,
    live_models: Option<LiveModels>,
    rescue: Arc<Rescue>,
    occupation: Arc<Occupation>,
    on_request: Mutex<OnRequest>,
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
    /// Assembles a runtime. No model is contacted before the first prompt; extensions, if the
    /// configuration wants any, are started at once, which takes a tokio runtime.
    pub fn new(config: Config) -> Result<Self, AssemblyError> {
        let selection = config.tools.clone();
        let own_hooks = config.hooks.clone();
        let on_request = Mutex::new(config.on_request);
        let Assembled {
            provider,
            open_models,
            catalog,
            cwd,
            mut settings,
            session,
            warnings,
            own_tools,
            jail,
            prompt,
            skills,
            templates,
            extensions,
            clients,
            budget,
            live_models,
            rescue,
        } = assembly::assemble(config)?;
        let extensions = extensions
            .map(|(config, discovery)| Arc::new(ExtensionHost::start(config, &discovery)));
        let toolbox = Arc::new(ToolBox::new(
            own_tools,
            selection,
            prompt,
            extensions.clone(),
        ));
        toolbox.apply(&mut settings);
        let hooks = extensions.as_ref().map(|host| {
            Arc::new(ExtensionHooks {
                host: Arc::clone(host),
                toolbox: Arc::clone(&toolbox),
                agent: OnceLock::new(),
            })
        });
        let guard = skills.map(|skills| skills.guard);
        // Skills refuse before anybody is asked; the embedding program has the last word.
        let parties = [
            guard
                .clone()
                .map(|guard| Arc::new(SkillHooks(guard)) as Arc<dyn Hooks>),
            hooks.clone().map(|hooks| hooks as Arc<dyn Hooks>),
            own_hooks,
        ];
        let agent = Arc::new(Agent::new(AgentParts {
            settings,
            hooks: parties
                .into_iter()
                .flatten()
                .reduce(|first, last| Arc::new(ChainedHooks { first, last }))
                .unwrap_or_else(|| Arc::new(NoHooks)),
            journal: session.journal,
            transcript: Transcript::from(session.transcript),
            budget,
        }));
        if let Some(hooks) = &hooks {
            // The only place that sets it.
            let _ = hooks.agent.set(Arc::downgrade(&agent));
        }
        Ok(Self {
            agent,
            toolbox,
            jail,
            extensions,
            templates,
            guard,
            clients,
            live_models,
            rescue: Arc::new(rescue),
            provider,
            open_models,
            catalog: Arc::new(catalog),
            cwd,
            session: session.info,
            session_log: session.log,
            warnings,
            occupation: Arc::default(),
            on_request,
        })
    }

    /// Runs the agent on a message; the stream does the work as it is read.
    pub fn prompt(&self, text: &str, images: Vec<Image>) -> Result<EventStream, Busy> {
        self.prompt_within(text, images, Budget::default())
    }

    /// Runs the agent on a message, within a budget of its own.
    pub fn prompt_within(
        &self,
        text: &str,
        images: Vec<Image>,
        budget: Budget,
    ) -> Result<EventStream, Busy> {
        let content = user_content(text, images);
        let extensions = self.extensions.clone();
        let toolbox = Arc::clone(&self.toolbox);
        let guard = self.guard.clone();
        self.start(Work::Prompt, move |agent, events, cancel| {
            if let Some(guard) = guard {
                guard.lift();
            }
            // Whoever has been told that the prompt has started may steer it.
            agent.expect_steering();
            Box::pin(async move {
                if let Some(host) = extensions {
                    tokio::select! {
                        () = host.settled() => toolbox.check_selection(),
                        () = cancel.cancelled() => {}
                    }
                    toolbox.refresh(&agent);
                }
                agent.prompt(content, budget, &events, &cancel).await
            })
        })
    }

    /// Gives the running prompt one more message: it is delivered after the running tool call,
    /// whose later siblings are skipped, or when the model has finished its answer.
    pub fn steer(&self, text: &str, images: Vec<Image>) -> Result<(), SteerError> {
        if !self.occupation.is_busy() {
            return Err(SteerError::NotRunning);
        }
        self.agent.steer(user_content(text, images))
    }

    /// Answers a `tool_confirm` event.
    pub fn confirm(&self, call_id: &str, decision: Decision) -> Result<(), NotWaiting> {
        self.agent.confirm(&call_id.into(), decision)
    }

    /// Changes which calls need a confirmation, from the next call on: also within a running
    /// prompt. Answers that were to be remembered are forgotten.
    pub fn set_approval(&self, policy: ApprovalPolicy) {
        self.agent.set_approval(policy);
    }

    /// Which calls need a confirmation.
    pub fn approval(&self) -> ApprovalPolicy {
        self.agent.settings().approval.clone()
    }

    /// Confines `read`, `write`, `edit` and `bash` to the working directory, from the next call on.
    /// Tools of extensions and of the embedding program are not: they run elsewhere, or as part of it.
    pub fn jail(&self) -> Result<JailReport, JailError> {
        self.jail.close()
    }

    /// Lets them out again, from the next call on.
    pub fn unjail(&self) {
        self.jail.open();
    }

    /// What they are confined to, if they are.
    pub fn jailed(&self) -> Option<JailReport> {
        self.jail.report()
    }

    /// Refuses every call that needs a confirmation, because nobody is left to give it.
    pub fn refuse_confirmations(&self) {
        self.agent.refuse_confirmations();
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
        let (occupation, rescue) = (Arc::clone(&self.occupation), Arc::clone(&self.rescue));
        let events = EventStream::new(work, receiver, occupation, kind, rescue);
        Ok(events.with(
            *self
                .on_request
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        ))
    }

    /// What the events of later prompts tell besides what they always do.
    pub fn set_on_request(&self, wanted: OnRequest) {
        *self
            .on_request
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = wanted;
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
        let live = || {
            let live = self.live_models.as_ref()?;
            live.find(&self.catalog, model)
        };
        let info = assembly::find_model(&self.catalog, &self.provider, model, false)
            .or_else(live)
            .or_else(|| {
                assembly::find_model(&self.catalog, &self.provider, model, self.open_models)
            })
            .ok_or_else(|| ModelChangeError::Unknown {
                model: model.to_owned(),
                provider: self.provider.clone(),
                nearest: assembly::nearest(&self.catalog, &self.provider, model),
            })?;
        if let Some(log) = &self.session_log {
            log.append_model(&self.provider, &info.id)?;
        }
        if let Some(host) = &self.extensions {
            host.set_model(model);
        }
        Ok(self.change(|settings| assembly::apply_model(settings, &info, &self.clients))?)
    }

    /// Sets how hard a reasoning model thinks.
    pub fn set_reasoning(&self, effort: Option<ReasoningEffort>) -> Result<(), Busy> {
        self.change(|settings| settings.reasoning = effort)
    }

    /// Replaces the system prompt; `None` puts back the one the runtime was made with.
    pub fn set_system_prompt(&self, prompt: Option<&str>) -> Result<(), Busy> {
        if self.occupation.is_busy() {
            return Err(Busy);
        }
        self.toolbox.set_system(prompt.map(Arc::from));
        self.change(|settings| self.toolbox.apply(settings))
    }

    /// Gives the model exactly these tools; `None` gives it all there are.
    pub fn set_tools(&self, names: Option<&[String]>) -> Result<(), ToolChangeError> {
        if self.occupation.is_busy() {
            return Err(Busy.into());
        }
        self.toolbox.select(match names {
            None => ToolSelection::All,
            Some(names) => ToolSelection::Only(names.to_vec()),
        })?;
        Ok(self.change(|settings| self.toolbox.apply(settings))?)
    }

    /// The tools there are, and whether the model has them.
    pub fn tools(&self) -> Vec<ToolEntry> {
        // Nothing waits for these while a prompt runs: it looks itself before each model call.
        if !self.occupation.is_busy() {
            self.toolbox.refresh(&self.agent);
        }
        let settings = self.agent.settings();
        let entry = |tool: &Arc<dyn Tool>| {
            let definition = tool.definition();
            ToolEntry {
                name: definition.name.clone(),
                description: definition.description.clone(),
                parameters: definition.parameters.as_ref().into(),
                enabled: settings.tools.get(&definition.name).is_some(),
                extension: tool.origin().map(|origin| origin.extension),
            }
        };
        self.toolbox.all().iter().map(entry).collect()
    }

    /// What was spent, by model and by model call.
    pub fn usage(&self) -> UsageData {
        let ledger = self.agent.ledger();
        UsageData {
            total: self.cost(),
            models: ledger
                .by_model()
                .map(|(model, usage)| ModelUsage {
                    model: model.to_owned(),
                    usage: convert::usage(usage),
                })
                .collect(),
            turns: ledger
                .calls()
                .map(|call| TurnUsage {
                    model: call.model.clone(),
                    time: call.time.to_string(),
                    usage: convert::usage(&call.usage),
                })
                .collect(),
        }
    }

    /// The transcript with everything needed to go on elsewhere.
    pub fn full_messages(&self) -> Vec<FullMessage> {
        full::export(&self.agent.transcript())
    }

    /// Puts a transcript in the place of this one, mended where it is broken.
    pub fn set_messages(
        &self,
        messages: Vec<FullMessage>,
    ) -> Result<RepairReport, SetMessagesError> {
        self.put_messages(Vec::new(), messages)
    }

    /// Adds messages to the transcript, mended where they are broken.
    pub fn append_messages(
        &self,
        messages: Vec<FullMessage>,
    ) -> Result<RepairReport, SetMessagesError> {
        self.put_messages(self.agent.transcript().messages().to_vec(), messages)
    }

    fn put_messages(
        &self,
        mut transcript: Vec<Arc<conversation::Message>>,
        messages: Vec<FullMessage>,
    ) -> Result<RepairReport, SetMessagesError> {
        if self.occupation.is_busy() {
            return Err(Busy.into());
        }
        transcript.extend(full::import(messages)?);
        let repair = self.agent.set_transcript(transcript)?;
        Ok(RepairReport {
            results_added: repair.results_added,
            results_dropped: repair.results_dropped,
            messages_dropped: repair.messages_dropped,
        })
    }

    /// Changes the settings between two prompts.
    fn change(&self, change: impl FnOnce(&mut AgentSettings)) -> Result<(), Busy> {
        if self.occupation.is_busy() {
            return Err(Busy);
        }
        let mut settings = (*self.agent.settings()).clone();
        change(&mut settings);
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
            jailed: self.jail.is_closed(),
            session: self.session.as_ref().map(|session| SessionData {
                id: session.id.clone(),
                path: session.path.display().to_string(),
            }),
        }
    }

    pub fn messages(&self) -> Vec<Message> {
        convert::messages(&self.agent.transcript())
    }

    /// Everything spent since the runtime was made.
    pub fn cost(&self) -> CumulativeUsage {
        convert::usage(&self.agent.usage())
    }

    /// Asks the provider which models it has, if the configuration allows it and what is remembered
    /// is old. To be awaited beside the work; it changes nothing but the file that remembers.
    pub fn refresh_models(&self) -> Option<BoxFuture<'static, ()>> {
        let live = self.live_models.as_ref().filter(|live| live.is_due())?;
        let live = live.clone();
        Some(Box::pin(async move {
            // Nobody asked for it, so nobody is told: the next time may go better.
            let _ = live.renew().await;
        }))
    }

    /// All that is known of models, also what the provider says it has.
    pub fn catalog(&self) -> Arc<Catalog> {
        match &self.live_models {
            Some(live) => live.added_to(&self.catalog),
            None => Arc::clone(&self.catalog),
        }
    }

    /// The models known for this provider.
    pub fn list_models(&self) -> Vec<ModelEntry> {
        self.catalog()
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

    /// The session the conversation is written to, if it is.
    pub fn session(&self) -> Option<&SessionInfo> {
        self.session.as_ref()
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

/// The tools could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum ToolChangeError {
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error(transparent)]
    Unknown(#[from] UnknownTool),
}

/// A transcript could not be put back.
#[derive(Debug, thiserror::Error)]
pub enum SetMessagesError {
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error(transparent)]
    Invalid(#[from] InvalidMessage),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

fn user_content(text: &str, images: Vec<Image>) -> Vec<ContentBlock> {
    let mut content = Vec::with_capacity(images.len() + 1);
    if !text.is_empty() {
        content.push(ContentBlock::Text(text.to_owned()));
    }
    content.extend(images.into_iter().map(ContentBlock::Image));
    content
}
