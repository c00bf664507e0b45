//! The MCP servers of a runtime, and what the model has of them.

mod entries;
mod hooks;
mod offer;
mod opening;
mod ranking;
pub(crate) mod search;
mod section;
mod state;
mod transcript;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use zot_conversation::{Message, Tool, ToolOutput, ToolSet};
use zot_mcp::configuration::ProjectFile;
use zot_mcp::entry::ServerEntry;
use zot_mcp::name::{SEPARATOR, server_prefixes};
use zot_mcp::{McpTool, Pool, ServerSet, ServerState};
use zot_process::sandbox::Level;
use zot_provider::HttpClient;

use crate::config::ToolSelection;
use offer::{Offer, Offered};
use ranking::Document;
use search::ToolSearch;
use section::Section;
use state::{PoolUse, State, missing_notice};

pub(crate) use hooks::ServerHooks;
pub(crate) use opening::{Found, find};

/// How long the first request of a conversation waits for servers that are starting. With what the wait
/// itself costs, that is less than 100 ms.
///
/// Limit: the request is sent without them. They are named, and their tools follow.
pub(crate) const FIRST_REQUEST_WAIT: Duration = Duration::from_millis(90);

/// How long a search, or a call of a tool that is not known yet, waits for servers that are starting. Some
/// need 8 seconds.
///
/// Limit: it goes on without servers that have not started by then.
const SERVER_START_WAIT: Duration = Duration::from_secs(20);

/// The servers of a runtime. There may be none, until some are [opened](Self::open).
pub(crate) struct Servers {
    home: PathBuf,
    cwd: PathBuf,
    http: Option<HttpClient>,
    /// The least that programs are confined to.
    minimum: Level,
    /// The level of the agent's commands.
    commands: Level,
    search: Arc<dyn Tool>,
    state: Mutex<State>,
    /// Grows with every change that is not a server's own.
    revision: watch::Sender<u64>,
}

/// Where servers are opened.
pub(crate) struct Surroundings {
    pub(crate) home: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) http: Option<HttpClient>,
    pub(crate) pool: Option<Arc<Pool>>,
    pub(crate) minimum: Level,
    pub(crate) commands: Level,
}

impl Servers {
    pub(crate) fn new(surroundings: Surroundings) -> Arc<Self> {
        Arc::new_cyclic(|servers| Self {
            home: surroundings.home,
            cwd: surroundings.cwd,
            http: surroundings.http,
            minimum: surroundings.minimum,
            commands: surroundings.commands,
            search: Arc::new(ToolSearch::new(servers.clone())),
            state: Mutex::new(State {
                pool: match surroundings.pool {
                    Some(pool) => PoolUse::Shared(pool),
                    None => PoolUse::Own(None),
                },
                set: None,
                entries: Vec::new(),
                project: None,
                selection: ToolSelection::All,
                taken: HashSet::new(),
                offer: Offer::default(),
                section: None,
                instructed: HashSet::new(),
                told: HashMap::new(),
                notices: Vec::new(),
                reported: HashMap::new(),
            }),
            revision: watch::Sender::new(0),
        })
    }

    /// Uses these servers from now on. Those that run already, here or in another runtime that shares the
    /// pool, are not started again. Needs an executor, unless there are none.
    pub(crate) fn open(&self, entries: Vec<ServerEntry>) {
        let mut state = self.lock();
        if entries.is_empty() && state.set.is_none() {
            return;
        }
        let pool = self.pool(&mut state.pool);
        state.entries.clone_from(&entries);
        // The old set is dropped after the new one was opened, so that servers in both go on.
        state.set = Some(pool.open(entries, &self.cwd));
        drop(state);
        self.touch();
    }

    pub(crate) fn set(&self) -> Option<Arc<ServerSet>> {
        self.lock().set.clone()
    }

    /// Returns the description of a server.
    pub(crate) fn described(&self, name: &str) -> Option<ServerEntry> {
        let state = self.lock();
        let found = state.entries.iter().find(|entry| entry.name == name);
        found.cloned()
    }

    pub(crate) fn http(&self) -> HttpClient {
        self.http.clone().unwrap_or_default()
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn set_project(&self, project: Option<ProjectFile>) {
        self.lock().project = project;
    }

    pub(crate) fn project(&self) -> Option<ProjectFile> {
        self.lock().project.clone()
    }

    pub(crate) fn select(&self, selection: ToolSelection) {
        self.lock().selection = selection;
        self.touch();
    }

    /// Returns a value that changes with every server, tool and choice.
    pub(crate) fn generation(&self) -> (u64, u64) {
        let set = self.set().map_or(0, |set| set.generation());
        (*self.revision.borrow(), set)
    }

    /// Returns when every server is ready, has failed, or waits for something only people can do.
    pub(crate) async fn settled(&self) {
        if let Some(set) = self.set() {
            set.settled().await;
        }
    }

    /// Gives servers that are starting a moment, and then decides what the conversation's first request
    /// says about them. Does nothing for later requests.
    pub(crate) async fn prepare_first_request(&self, cancel: &CancellationToken) {
        if self.lock().section.is_some() {
            return;
        }
        if self.set().is_none() {
            // Servers that are opened later do not change the system prompt.
            let mut state = self.lock();
            state.section = Some(Section::default());
            state.offer.fix();
            return;
        }
        tokio::select! {
            biased;
            () = self.settled() => {}
            () = tokio::time::sleep(FIRST_REQUEST_WAIT) => {}
            () = cancel.cancelled() => return,
        }
        let mut state = self.lock();
        let section = state.compose(&self.search);
        state.instructed = section.instructed.iter().cloned().collect();
        state.section = Some(section);
        state.offer.fix();
        state.notice_missing();
        drop(state);
        self.touch();
    }

    /// Notes what has become of servers since, for the user.
    pub(crate) fn notice_missing(&self) {
        let mut state = self.lock();
        if state.section.is_some() {
            state.notice_missing();
        }
    }

    pub(crate) fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().notices)
    }

    /// Forgets what the conversation has found: another one begins, with `messages`.
    pub(crate) fn begin_conversation(&self, messages: &[Arc<Message>]) {
        let mut state = self.lock();
        state.offer = Offer::default();
        state.section = None;
        state.instructed.clear();
        state.told.clear();
        for name in transcript::found_tools(messages) {
            state.offer.want(&name);
        }
        drop(state);
        self.touch();
    }

    /// Declares what `messages` have found in addition: they were added to the conversation.
    pub(crate) fn adopt(&self, messages: &[Arc<Message>]) {
        let mut state = self.lock();
        for name in transcript::found_tools(messages) {
            state.offer.want(&name);
        }
        drop(state);
        self.touch();
    }

    /// Declares a tool that was called although it is not declared.
    pub(crate) fn note_call(&self, name: &str) {
        let mut state = self.lock();
        if state.set.is_some()
            && state
                .candidates()
                .iter()
                .any(|tool| tool.definition().name == name)
            && state.offer.want(name)
        {
            drop(state);
            self.touch();
        }
    }

    /// Returns all tools of servers that the configuration does not hide, and `tool_search` if it is used.
    pub(crate) fn all(&self) -> Vec<Arc<dyn Tool>> {
        let state = self.lock();
        let search = state.offer.has_declared(search::TOOL_SEARCH);
        let search = search.then(|| Arc::clone(&self.search));
        let tools = state.exposed().map(|tool| tool as Arc<dyn Tool>);
        tools.chain(search).collect()
    }

    /// Returns what the model has, beside `base`, the tools that are no server's.
    pub(crate) fn offer(&self, base: &ToolSet) -> Option<(Offered, String)> {
        let mut state = self.lock();
        state.set.as_ref()?;
        let names = base.definitions().iter().map(|tool| tool.name.clone());
        state.taken = names.collect();
        let offered = state.offered(&self.search);
        let section = match &state.section {
            Some(section) => section.text.clone(),
            None => state.compose(&self.search).text,
        };
        Some((offered, section))
    }

    /// Returns whether a name or pattern may mean tools that are not known yet: all of a server, or one of a
    /// server that is not ready.
    pub(crate) fn may_have(&self, name: &str) -> bool {
        let statuses = self.lock().statuses();
        let servers: Vec<&str> = statuses.iter().map(|server| server.name.as_str()).collect();
        let prefixes = server_prefixes(&servers);
        name == search::TOOL_SEARCH && !statuses.is_empty()
            || statuses.iter().any(|server| {
                let prefix = prefixes.get(server.name.as_str());
                let rest = prefix.and_then(|prefix| name.strip_prefix(prefix.as_str()));
                match rest.and_then(|rest| rest.strip_prefix(SEPARATOR)) {
                    Some("*") => true,
                    Some(_) => server.state != ServerState::Ready,
                    None => false,
                }
            })
    }

    /// Says which servers are missing, and why.
    pub(crate) fn missing(&self) -> Vec<String> {
        let statuses = self.lock().statuses();
        statuses.iter().filter_map(missing_notice).collect()
    }

    /// Returns the servers that are starting, in words.
    pub(crate) fn starting(&self) -> Option<String> {
        let statuses = self.set()?.servers();
        let starting = statuses.iter().filter(|server| !server.state.is_settled());
        let names: Vec<&str> = starting.map(|server| server.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Finds tools, and declares them from the next request on.
    pub(crate) fn search(&self, query: &str, limit: usize) -> ToolOutput {
        let mut state = self.lock();
        let candidates = state.candidates();
        let documents: Vec<Document<'_>> = candidates
            .iter()
            .map(|tool| Document {
                name: &tool.definition().name,
                server: tool.server(),
                description: &tool.definition().description,
            })
            .collect();
        let found: Vec<&Arc<McpTool>> = ranking::rank(query, &documents)
            .into_iter()
            .take(limit)
            .map(|index| &candidates[index])
            .collect();
        for tool in &found {
            state.offer.want(&tool.definition().name);
        }
        let text = state.describe(query, &found, candidates.len());
        drop(state);
        self.touch();
        ToolOutput::text(text)
    }

    /// Ends the servers that belong to this runtime.
    pub(crate) async fn close(&self) {
        let pool = {
            let mut state = self.lock();
            state.set = None;
            match &mut state.pool {
                PoolUse::Own(pool) => pool.take(),
                PoolUse::Shared(_) => None,
            }
        };
        if let Some(pool) = pool {
            pool.shut_down().await;
        }
    }

    fn touch(&self) {
        self.revision.send_modify(|revision| *revision += 1);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
