//! The life of a server: it is started, restarted with growing pauses, and ended when nobody uses it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use zot_extension_contract::{ProgramLaunch, program_data_dir};

use super::Server;
use crate::authorization::AuthorizationError;
use crate::catalog::{Catalog, cut, cut_with_note, fetch_prompts, fetch_resources, fetch_tools};
use crate::connection::{BeginError, Client, Connection, Exchange, Failure, Opening};
use crate::entry::Address;
use crate::oauth::{LoginStore, StoredLogin};
use crate::status::ServerState;
use crate::transport::http::{HttpSettings, HttpTransport};
use crate::transport::sse::SseTransport;
use crate::transport::stdio::StdioTransport;
use crate::transport::{CallError, Transport};
use crate::version::Era;

/// How long a server is kept that no set uses, because the next session may want it.
///
/// Limit: the server is ended.
const LINGER_TIME: Duration = Duration::from_secs(5);

/// The pauses before a server that has gone is started again.
///
/// Limit: after the last one the server has failed.
const MCP_RESTART_DELAYS: [Duration; 6] = [
    Duration::from_millis(500),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(15),
    Duration::from_secs(30),
    Duration::from_secs(60),
];

/// How long a server has to run to get all its restarts back.
///
/// Limit: all restarts are available again.
const MCP_RESTART_RESET_TIME: Duration = Duration::from_secs(300);

/// Servers have a say in why they failed.
///
/// Limit: the reason is cut.
const MAX_MCP_REASON_BYTES: usize = 1024;

/// Why a server does not run any more, or does not run yet.
enum End {
    /// The pool is shut down, or nobody uses the server.
    Over,
    /// Someone wants it anew.
    Restart,
    NeedsLogin,
    /// Trying again does not help.
    Failed(String),
    /// It may work the next time.
    Lost(String),
    /// The server forgot us, and nothing else is wrong.
    SessionLost,
}

/// Runs the server until `stop` fires or nobody has used it for a while.
pub(crate) async fn live(server: Arc<Server>, stop: CancellationToken) {
    let _ending = Ending(Arc::clone(&server));
    let mut delays = MCP_RESTART_DELAYS.into_iter();
    loop {
        // A start that takes long is not a run.
        let mut ready_since = None;
        let end = server.run_once(&stop, &mut ready_since).await;
        if ready_since.is_some_and(|since| since.elapsed() > MCP_RESTART_RESET_TIME) {
            delays = MCP_RESTART_DELAYS.into_iter();
        }
        match end {
            End::Over => return,
            End::SessionLost => {}
            End::Restart => {
                delays = MCP_RESTART_DELAYS.into_iter();
                server.set_state(ServerState::Starting);
            }
            End::NeedsLogin => {
                server.log.note("it asks for a login");
                server.set_state(ServerState::NeedsLogin);
                if server.is_over_before_restart(&stop).await {
                    return;
                }
                server.set_state(ServerState::Starting);
            }
            End::Failed(reason) => {
                let reason = cut(&reason, MAX_MCP_REASON_BYTES);
                server.log.note(&reason);
                server.set_state(ServerState::Failed { reason });
                if server.is_over_before_restart(&stop).await {
                    return;
                }
                delays = MCP_RESTART_DELAYS.into_iter();
                server.set_state(ServerState::Starting);
            }
            End::Lost(reason) => {
                let reason = cut(&reason, MAX_MCP_REASON_BYTES);
                server.log.note(&reason);
                let Some(delay) = delays.next() else {
                    let attempts = MCP_RESTART_DELAYS.len();
                    let reason = format!("{reason}; given up after {attempts} restarts");
                    server.set_state(ServerState::Failed { reason });
                    if server.is_over_before_restart(&stop).await {
                        return;
                    }
                    delays = MCP_RESTART_DELAYS.into_iter();
                    server.set_state(ServerState::Starting);
                    continue;
                };
                server.set_state(ServerState::Restarting { reason });
                tokio::select! {
                    () = sleep(delay) => {}
                    () = server.restart.notified() => delays = MCP_RESTART_DELAYS.into_iter(),
                    () = server.over(&stop) => return,
                }
            }
        }
    }
}

/// Marks a server as gone when its task ends, even if that was dropped with its executor.
struct Ending(Arc<Server>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Server {
    /// `ready_since` is set when the server becomes ready.
    async fn run_once(
        self: &Arc<Self>,
        stop: &CancellationToken,
        ready_since: &mut Option<Instant>,
    ) -> End {
        let opened = Opened::default();
        let begun = tokio::select! {
            begun = self.begin(&opened) => begun.map_err(|end| (end, None)),
            () = self.over(stop) => Err((End::Over, opened.take())),
            () = self.restart.notified() => Err((End::Restart, opened.take())),
        };
        let connection = match begun {
            Ok(connection) => connection,
            Err((end, unfinished)) => {
                if let Some(transport) = unfinished {
                    // Its server is asked to leave, like one that was ready.
                    transport.close().await;
                }
                return end;
            }
        };
        *ready_since = Some(Instant::now());
        let reason = tokio::select! {
            reason = connection.closed() => Some(reason),
            () = self.over(stop) => None,
            () = self.restart.notified() => {
                self.disconnect();
                connection.close().await;
                return End::Restart;
            }
            never = connection.forward_cancellations() => match never {},
            never = self.keep_catalog(&connection) => match never {},
            never = self.keep_listening(&connection) => match never {},
        };
        self.disconnect();
        connection.close().await;
        match reason {
            None => End::Over,
            Some(reason) if reason == SESSION_LOST => End::SessionLost,
            Some(reason) => End::Lost(reason),
        }
    }

    /// Starts or reaches the server, and fetches its lists.
    async fn begin(self: &Arc<Self>, opened: &Opened) -> Result<Arc<Connection>, End> {
        let exchange = Exchange::new(&self.entry.name, Arc::clone(&self.log), self.root());
        let transport = self.open(&exchange).await?;
        opened.keep(&transport);
        let eras = &self.shelf.eras;
        let opening = Opening {
            client: Client {
                version: self.shelf.settings.version.clone(),
                has_roots: self.root().is_some(),
            },
            first: eras.first(&self.entry),
            forced: self.entry.protocol.clone(),
        };
        let begun = Connection::begin(Arc::clone(&transport), exchange, &opening).await;
        let connection = match begun {
            Ok(connection) => connection,
            Err(error) => {
                transport.close().await;
                match self.begin_older(&error, &opening, opened).await {
                    Some(connection) => connection,
                    None => return Err(self.explain(error)),
                }
            }
        };
        let connection = Arc::new(connection);
        if self.entry.protocol.is_none() {
            eras.remember(&self.entry, connection.era());
        }
        match self.fetch_all(&connection).await {
            Ok(catalog) => self.become_ready(&connection, catalog),
            Err(end) => {
                connection.close().await;
                return Err(end);
            }
        }
        Ok(connection)
    }

    /// Begins over the older HTTP+SSE if the server is one that speaks nothing else: it has no place for a POST
    /// at its address, but a stream of events.
    async fn begin_older(
        &self,
        error: &BeginError,
        opening: &Opening,
        opened: &Opened,
    ) -> Option<Connection> {
        let Address::Http { url, headers } = &self.entry.address else {
            return None;
        };
        let BeginError::Refused {
            source:
                CallError::Status {
                    status: 400 | 404 | 405,
                    ..
                },
            ..
        } = error
        else {
            return None;
        };
        let exchange = Exchange::new(&self.entry.name, Arc::clone(&self.log), self.root());
        let settings = self.http_settings(url, headers, Arc::clone(&exchange));
        let transport: Arc<dyn Transport> = Arc::new(SseTransport::connect(settings).await.ok()?);
        opened.keep(&transport);
        let opening = Opening {
            client: opening.client.clone(),
            first: Era::Legacy,
            forced: opening.forced.clone(),
        };
        match Connection::begin(Arc::clone(&transport), exchange, &opening).await {
            Ok(connection) => {
                self.log.note(
                    "it speaks the older HTTP+SSE: \"type\": \"sse\" in its entry saves a request",
                );
                Some(connection)
            }
            Err(_) => {
                transport.close().await;
                None
            }
        }
    }

    fn explain(&self, error: BeginError) -> End {
        let is_program = matches!(self.entry.address, Address::Stdio { .. });
        let (is_transient, reason) = match &error {
            BeginError::NeedsLogin => return End::NeedsLogin,
            BeginError::Refused {
                source: CallError::Disconnected(reason),
                ..
            } => (true, reason.clone()),
            BeginError::Refused { source, .. } => (is_transient(source), error.to_string()),
            BeginError::Silent(_) => (true, error.to_string()),
            error => (false, error.to_string()),
        };
        // A program that does not even start will not do so the next time either.
        let has_never_started = is_program && self.lock().version.is_none();
        match is_transient && !has_never_started {
            true => End::Lost(reason),
            false => End::Failed(reason),
        }
    }

    async fn open(&self, exchange: &Arc<Exchange>) -> Result<Arc<dyn Transport>, End> {
        let settings = &self.shelf.settings;
        let inbox: Arc<Exchange> = Arc::clone(exchange);
        match &self.entry.address {
            Address::Stdio {
                command, args, env, ..
            } => {
                let program = ProgramLaunch {
                    name: format!("MCP server {}", self.entry.name),
                    program: command,
                    args,
                    env,
                    cwd: &self.cwd,
                    workspaces: &self.shelf.workspaces(),
                    data_dir: &program_data_dir(&settings.home, "mcp", &self.entry.name),
                    sandbox: self.entry.sandbox,
                    permissions: self.entry.permissions.as_ref(),
                    project: self.entry.project.as_deref(),
                    rules: &settings.rules,
                };
                StdioTransport::start(&program, inbox, Arc::clone(&self.log))
                    .map(|transport| Arc::new(transport) as Arc<dyn Transport>)
                    .map_err(|error| End::Failed(error.to_string()))
            }
            Address::Http { url, headers } => {
                HttpTransport::new(self.http_settings(url, headers, inbox))
                    .map(|transport| Arc::new(transport) as Arc<dyn Transport>)
                    .map_err(|error| End::Failed(error.to_string()))
            }
            Address::Sse { url, headers } => {
                let settings = self.http_settings(url, headers, inbox);
                match SseTransport::connect(settings).await {
                    Ok(transport) => Ok(Arc::new(transport)),
                    Err(CallError::Unauthorized { .. }) => Err(End::NeedsLogin),
                    Err(error) if is_transient(&error) => Err(End::Lost(error.to_string())),
                    Err(error) => Err(End::Failed(error.to_string())),
                }
            }
        }
    }

    fn http_settings<'a>(
        &self,
        url: &'a str,
        headers: &'a std::collections::BTreeMap<String, String>,
        inbox: Arc<Exchange>,
    ) -> HttpSettings<'a> {
        let settings = &self.shelf.settings;
        let login = StoredLogin::new(
            settings.http.clone(),
            LoginStore::new(&settings.home),
            url,
            self.entry.oauth.clone().unwrap_or_default(),
        );
        HttpSettings {
            http: settings.http.clone(),
            url,
            headers,
            authorization: Some(Arc::new(login)),
            inbox,
        }
    }

    /// Returns our directory for a server on this machine.
    fn root(&self) -> Option<String> {
        match &self.entry.address {
            Address::Stdio { .. } => Some(file_uri(&self.cwd)),
            Address::Http { .. } | Address::Sse { .. } => None,
        }
    }

    async fn fetch_all(&self, connection: &Connection) -> Result<Catalog, End> {
        let mut catalog = Catalog::default();
        let mut others = Catalog::default();
        // At once: each is a round trip, and some servers take their time.
        let (tools, (), ()) = tokio::join!(
            fetch_tools(connection),
            fetch_prompts(connection, &mut catalog),
            fetch_resources(connection, &mut others),
        );
        catalog.resources = others.resources;
        catalog.templates = others.templates;
        match tools {
            Ok(tools) => catalog.tools = tools.into(),
            // A server without the tools it has would look as if nothing was wrong.
            Err(failure) => {
                let is_transient = match &failure {
                    Failure::Call(error) => is_transient(error),
                    Failure::TimedOut(_) => true,
                    Failure::TooManyRounds(_) | Failure::Cancelled => false,
                };
                return Err(match failure.of(&self.entry.name) {
                    crate::McpError::NeedsLogin { .. } => End::NeedsLogin,
                    error if is_transient => End::Lost(error.to_string()),
                    error => End::Failed(error.to_string()),
                });
            }
        }
        Ok(catalog)
    }

    fn become_ready(&self, connection: &Arc<Connection>, catalog: Catalog) {
        let tools = catalog.tools.items.len();
        self.log.note(&format!(
            "ready: MCP {}, {tools} tools, {}",
            connection.version,
            connection.product.as_deref().unwrap_or("no name")
        ));
        for note in catalog.notes() {
            self.log.note(&note);
        }
        self.change(|shared| {
            shared.state = ServerState::Ready;
            shared.replace(catalog);
            shared.connection = Some(Arc::clone(connection));
            shared.version = Some(connection.version.clone());
            shared.product.clone_from(&connection.product);
            let instructions = connection.instructions.as_deref().map(cut_with_note);
            shared.instructions = instructions.filter(|text| !text.is_empty());
        });
    }

    /// Forgets the connection, so that nobody uses it any more.
    fn disconnect(&self) {
        self.lock().connection = None;
    }

    /// Marks the server as gone for ever.
    fn end(&self) {
        self.change(|shared| {
            shared.has_ended = true;
            shared.connection = None;
            shared.state = ServerState::Failed {
                reason: "it was ended".to_owned(),
            };
        });
    }

    /// Waits for someone to want it anew; returns whether it is over before.
    async fn is_over_before_restart(&self, stop: &CancellationToken) -> bool {
        tokio::select! {
            () = self.restart.notified() => false,
            () = self.over(stop) => true,
        }
    }

    /// Returns when `stop` fires, or when nobody has used the server for a while.
    async fn over(&self, stop: &CancellationToken) {
        let unused = async {
            loop {
                if self.lock().users > 0 {
                    self.left.notified().await;
                    continue;
                }
                sleep(LINGER_TIME).await;
                let mut shared = self.lock();
                if shared.users == 0 {
                    // Decided here, so that no set can lease it any more.
                    shared.has_ended = true;
                    return;
                }
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = unused => {}
        }
    }
}

/// What was opened for a start that may be interrupted.
#[derive(Default)]
struct Opened(Mutex<Option<Arc<dyn Transport>>>);

impl Opened {
    fn keep(&self, transport: &Arc<dyn Transport>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = Some(Arc::clone(transport));
    }

    fn take(&self) -> Option<Arc<dyn Transport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Returns whether the same request may work a little later.
fn is_transient(error: &CallError) -> bool {
    match error {
        CallError::Disconnected(_) | CallError::SessionLost => true,
        CallError::Status { status, .. } => *status == 429 || *status >= 500,
        CallError::Authorization(error) => matches!(error, AuthorizationError::Unreachable(_)),
        CallError::Refused(_) | CallError::Unauthorized { .. } | CallError::Invalid(_) => false,
    }
}

/// The reason of a connection that only has to be begun anew.
pub(super) const SESSION_LOST: &str = "the server has forgotten the session";

/// Returns the address of a directory.
fn file_uri(path: &std::path::Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}
