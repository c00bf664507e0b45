//! A conversation with a model in a working directory.

mod aside;
mod context;
mod error;
mod extensions;
mod mcp;
mod mcp_control;
mod mentions;
mod models;
mod occupation;
mod sandboxing;
mod server_prompts;
mod settings;
mod state;
mod transcript;

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_agent::{
    Agent, AgentParts, AgentSettings, Budget, Decision, Hooks, NoHooks, NotAsked, NotWaiting,
    SharedSettings, SteerError,
};
use zot_context::{SkillGuard, Templates};
use zot_conversation::{
    AgentEvent, Answer, BoxFuture, ContentBlock, ErrorCode, ErrorReport, Image, Timestamp,
    Transcript,
};
use zot_extension_host::ExtensionHost;
use zot_session::SessionLog;

use crate::alternatives::ProviderAlternatives;
use crate::assembly::{Assembled, AssemblyError};
use crate::config::{Config, McpChoice};
use crate::hooks::ChainedHooks;
use crate::hosting::ExtensionHooks;
use crate::persistence::SessionInfo;
use crate::sandbox::Confines;
use crate::servers;
use crate::servers::{ServerHooks, Servers};
use crate::stream::{EVENT_QUEUE_LENGTH, EventStream, Work};
use crate::surroundings::SkillHooks;
use crate::toolbox::ToolBox;
use crate::workspace::Workspace;

pub use context::ContextPart;
pub(crate) use error::did_you_mean;
pub use error::{Busy, ClearError, ModelChangeError, SetMessagesError, ToolChangeError};
pub use extensions::ReloadFailure;
pub use mcp_control::{McpLoginError, McpReloadError};
pub use mentions::Mentioning;
use models::Models;
pub(crate) use occupation::Occupation;

/// The version every part of zot reports.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// An agent that can be prompted.
///
/// Any number of runtimes may live in one process; each does one prompt or compaction at a time.
pub struct Runtime {
    agent: Arc<Agent>,
    settings: Arc<SharedSettings>,
    models: Models,
    workspace: Workspace,
    session: Option<SessionInfo>,
    /// Records switches to another model.
    session_log: Option<Arc<SessionLog>>,
    warnings: Vec<String>,
    toolbox: Arc<ToolBox>,
    confines: Confines,
    extensions: Option<Arc<ExtensionHost>>,
    pub(crate) servers: Arc<Servers>,
    /// Which files of servers are read again.
    mcp_choice: McpChoice,
    templates: Templates,
    /// Enforces the tool restrictions of loaded skills.
    guard: Option<Arc<SkillGuard>>,
    alternatives: Arc<ProviderAlternatives>,
    occupation: Arc<Occupation>,
}

impl Runtime {
    /// Creates a runtime. No model is contacted before the first prompt; extensions and MCP servers, if
    /// configured, are started immediately, which requires a tokio runtime.
    pub fn new(config: Config) -> Result<Self, AssemblyError> {
        // Removes leftovers of earlier runs that were killed.
        zot_files::sweep_scratch();
        let parts = Assembled::new(&config)?;
        Ok(Self::from_parts(config, parts))
    }

    /// Starts the extensions and creates the agent.
    fn from_parts(config: Config, mut parts: Assembled) -> Self {
        let warnings = parts.take_warnings();
        let Assembled {
            workspace,
            chosen,
            session,
            equipped,
            connected,
        } = parts;
        let extensions = equipped
            .extensions
            .map(|(config, discovery)| Arc::new(ExtensionHost::start(config, &discovery)));
        let servers = open_servers(&config, &workspace, equipped.servers);
        servers.begin_conversation(&session.transcript);
        let toolbox = Arc::new(ToolBox::new(
            equipped.own_tools,
            config.tools.selection,
            equipped.prompt,
            session.began.unwrap_or_else(Timestamp::now),
            extensions.clone(),
            Arc::clone(&servers),
        ));
        let mut settings = AgentSettings {
            model: connected.model,
            system: Arc::from(""),
            tools: Arc::default(),
            reasoning: config.reasoning,
            steps: config.steps,
            approval: config.tools.approval,
            fallbacks: connected.fallbacks,
        };
        toolbox.apply(&mut settings);
        let settings = SharedSettings::new(settings);
        let extension_hooks = extensions.as_ref().map(|host| ExtensionHooks {
            host: Arc::clone(host),
            toolbox: Arc::clone(&toolbox),
            settings: Arc::clone(&settings),
        });
        let server_hooks = ServerHooks {
            servers: Arc::clone(&servers),
            toolbox: Arc::clone(&toolbox),
            settings: Arc::clone(&settings),
        };
        let guard = equipped.skills.map(|skills| skills.guard);
        let agent = Arc::new(Agent::new(AgentParts {
            settings: Arc::clone(&settings),
            hooks: chained_hooks(guard.clone(), server_hooks, extension_hooks, config.hooks),
            journal: session.journal,
            transcript: Transcript::from(session.transcript),
            budget: config.budget,
        }));
        let alternatives = Arc::new(ProviderAlternatives {
            providers: chosen.providers.clone(),
            auth_file: chosen.auth_file.clone(),
        });
        Self {
            agent,
            settings,
            models: Models::new(chosen, connected.clients, connected.live_models),
            workspace,
            session: session.info,
            session_log: session.log,
            warnings,
            toolbox,
            confines: equipped.confines,
            extensions,
            servers,
            mcp_choice: config.mcp,
            templates: equipped.templates,
            guard,
            alternatives,
            occupation: Arc::default(),
        }
    }

    /// Runs the agent on a message; the stream does the work as it is read.
    pub fn prompt(&self, text: &str, images: Vec<Image>) -> Result<EventStream, Busy> {
        self.prompt_within(text, images, Budget::default())
    }

    /// Runs the agent on a message, with a budget for this prompt.
    pub fn prompt_within(
        &self,
        text: &str,
        images: Vec<Image>,
        budget: Budget,
    ) -> Result<EventStream, Busy> {
        let message = Mentioning {
            text: text.to_owned(),
            images,
            resources: Vec::new(),
        };
        self.prompt_mentioning(message, budget)
    }

    /// Runs the agent on a message after reading the resources that it mentions, with a budget for this
    /// prompt.
    pub fn prompt_mentioning(
        &self,
        message: Mentioning,
        budget: Budget,
    ) -> Result<EventStream, Busy> {
        let extensions = self.extensions.clone();
        let servers = Arc::clone(&self.servers);
        let toolbox = Arc::clone(&self.toolbox);
        let settings = Arc::clone(&self.settings);
        let guard = self.guard.clone();
        self.start(Work::Prompt, move |agent, events, cancel| {
            if let Some(guard) = guard {
                guard.lift();
            }
            // A caller that has the stream may steer immediately.
            agent.expect_steering();
            Box::pin(async move {
                if let Some(host) = extensions {
                    tokio::select! {
                        () = host.settled() => toolbox.check_selection(),
                        () = cancel.cancelled() => {}
                    }
                    if let Some(obstacle) = host.obstacle()
                        && !cancel.is_cancelled()
                    {
                        let report = ErrorReport::new(ErrorCode::Extension, obstacle);
                        return agent.refuse_prompt(report, &events, &cancel).await;
                    }
                }
                servers.prepare_first_request(&cancel).await;
                toolbox.refresh(&settings);
                let unread = message.clone();
                let (text, images) = tokio::select! {
                    complete = mentions::with_resources(servers.set(), message) => complete,
                    () = cancel.cancelled() => (unread.text, unread.images),
                };
                let content = user_content(&text, images);
                agent.prompt(content, budget, &events, &cancel).await
            })
        })
    }

    /// Adds a message to the running prompt: it is delivered after the running tool call, skipping
    /// the calls that follow, or when the model has finished its response.
    pub fn steer(&self, text: &str, images: Vec<Image>) -> Result<(), SteerError> {
        if !self.occupation.is_busy() {
            return Err(SteerError::NotRunning);
        }
        self.agent.steer(user_content(text, images))
    }

    /// Answers an [`AgentEvent::ConfirmationRequested`].
    pub fn confirm(&self, call_id: &str, decision: Decision) -> Result<(), NotWaiting> {
        self.agent.confirm(&call_id.into(), decision)
    }

    /// Answers an [`AgentEvent::StepLimitReached`]: allows this many more model calls, or none.
    pub fn allow_steps(&self, more: u64) {
        self.agent.allow_steps(more);
    }

    /// Refuses every call that needs a confirmation.
    pub fn refuse_confirmations(&self) {
        self.agent.refuse_confirmations();
    }

    /// Refuses every call that needs a confirmation; the model reads `reason`.
    pub fn refuse_confirmations_because(&self, reason: impl Into<String>) {
        self.agent.refuse_confirmations_because(reason);
    }

    /// Asks questions of tools from now on, with [`AgentEvent::QuestionAsked`]. Until this is called
    /// they are declined.
    pub fn accept_questions(&self) {
        self.agent.accept_questions();
    }

    /// Declines all questions of tools, waiting and later ones.
    pub fn decline_questions(&self) {
        self.agent.decline_questions();
    }

    /// Answers an [`AgentEvent::QuestionAsked`].
    pub fn answer_question(&self, id: &str, answer: Answer) -> Result<(), NotAsked> {
        self.agent.answer(&id.into(), answer)
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
        let (sender, receiver) = mpsc::channel(EVENT_QUEUE_LENGTH);
        let work = work(Arc::clone(&self.agent), sender, cancel);
        let occupation = Arc::clone(&self.occupation);
        let alternatives = Arc::clone(&self.alternatives);
        Ok(EventStream::new(
            work,
            receiver,
            occupation,
            kind,
            alternatives,
        ))
    }

    /// Stops the running prompt or compaction in an orderly way, if there is one.
    pub fn cancel(&self) {
        self.occupation.cancel();
    }

    /// Returns the name of the provider.
    pub fn provider(&self) -> &str {
        &self.models.provider
    }

    /// Returns the id of the model that answers the next prompt.
    pub fn model(&self) -> String {
        self.agent.settings().model.id.clone()
    }

    /// Returns warnings about the configuration, for the user.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the directories of the agent, for operations such as those in
    /// [`sessions`](crate::sessions).
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Returns the agent's working directory.
    pub fn cwd(&self) -> &Path {
        &self.workspace.cwd
    }

    /// Returns the session that the conversation is written to, if any.
    pub fn session(&self) -> Option<&SessionInfo> {
        self.session.as_ref()
    }
}

/// Starts the MCP servers in the background.
fn open_servers(config: &Config, workspace: &Workspace, found: servers::Found) -> Arc<Servers> {
    let servers = Servers::new(servers::Surroundings {
        home: workspace.zot_home.clone(),
        cwd: workspace.cwd.clone(),
        http: config.http.clone(),
        pool: config.mcp.pool.clone(),
        minimum: config.mcp.sandbox,
        commands: config.tools.policy().level,
    });
    servers.set_project(found.project);
    servers.open(found.entries);
    servers
}

/// Chains all hooks: skills first, then servers and extensions, and the embedding program last.
fn chained_hooks(
    guard: Option<Arc<SkillGuard>>,
    servers: ServerHooks,
    extensions: Option<ExtensionHooks>,
    own: Option<Arc<dyn Hooks>>,
) -> Arc<dyn Hooks> {
    [
        guard.map(|guard| Arc::new(SkillHooks(guard)) as Arc<dyn Hooks>),
        Some(Arc::new(servers) as Arc<dyn Hooks>),
        extensions.map(|hooks| Arc::new(hooks) as Arc<dyn Hooks>),
        own,
    ]
    .into_iter()
    .flatten()
    .reduce(|first, last| Arc::new(ChainedHooks { first, last }))
    .unwrap_or_else(|| Arc::new(NoHooks))
}

fn user_content(text: &str, images: Vec<Image>) -> Vec<ContentBlock> {
    let mut content = Vec::with_capacity(images.len() + 1);
    if !text.is_empty() {
        content.push(ContentBlock::Text(text.to_owned()));
    }
    content.extend(images.into_iter().map(ContentBlock::Image));
    content
}
