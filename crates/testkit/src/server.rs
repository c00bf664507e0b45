//! A model server that follows directives in the prompt, on every wire of [`Wire`].
//!
//! The last real user message is the directive (see [`directive`]); a server created by
//! [`ModelServer::with_script`] responds from a list instead. HTTP is handwritten, because a proper
//! server library cannot misbehave.

mod anthropic;
mod connection;
mod conversation;
mod delivery;
mod directive;
mod gemini;
mod http;
mod openai;
mod reply;
mod responses;
mod rules;
#[cfg(test)]
mod tests;
mod thinking;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;
use tokio::task::JoinSet;

pub use reply::{RecordedRequest, Reply, Wire};
pub use rules::refusal;

/// How many requests are kept for assertions, the oldest being dropped first.
const KEPT_REQUESTS: usize = 4096;

/// A running server; dropping it closes every connection and ends its thread.
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The wire, the model and the number of words.
type BlobKey = (Wire, String, usize);

/// The state that the connections of a server share.
#[derive(Default)]
struct Shared {
    requests: Mutex<VecDeque<RecordedRequest>>,
    /// How often each directive that counts attempts was requested.
    attempts: Mutex<HashMap<String, u32>>,
    script: Option<Mutex<VecDeque<Reply>>>,
    /// Whether to refuse requests that a real provider refuses.
    strict: bool,
    /// Prebuilt `say:N` bodies.
    blobs: Mutex<HashMap<BlobKey, Arc<[u8]>>>,
    /// The only path below which routes exist; `None` accepts every path.
    root: Option<String>,
    in_progress: AtomicUsize,
    answered: AtomicU64,
}

impl ModelServer {
    /// Starts a server that follows directives, on a free port.
    pub fn start() -> Self {
        Self::start_on(0).expect("bind a loopback port for the model server")
    }

    /// Starts a server that follows directives; port 0 picks a free one.
    pub fn start_on(port: u16) -> io::Result<Self> {
        Self::run(port, Shared::default())
    }

    /// Starts a server that responds to model requests with `script`, in order. A request beyond its end
    /// gets status 500.
    pub fn with_script(script: impl IntoIterator<Item = Reply>) -> Self {
        let shared = Shared {
            script: Some(Mutex::new(script.into_iter().collect())),
            ..Shared::default()
        };
        Self::run(0, shared).expect("bind a loopback port for the model server")
    }

    /// Starts a server that follows directives below the path `root` (for example `/v1`) and responds
    /// with 404 everywhere else, like real ones.
    pub fn below(root: &str) -> Self {
        let shared = Shared {
            root: Some(root.to_owned()),
            ..Shared::default()
        };
        Self::run(0, shared).expect("bind a loopback port for the model server")
    }

    /// Starts a server that follows directives, but responds with status 400 to what [`refusal`] finds.
    pub fn strict() -> Self {
        let shared = Shared {
            strict: true,
            ..Shared::default()
        };
        Self::run(0, shared).expect("bind a loopback port for the model server")
    }

    /// Returns scheme, host and port, without a path.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    fn run(port: u16, shared: Shared) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let shared = Arc::new(shared);
        let (stop, stopped) = oneshot::channel();
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("model-server".to_owned())
            .spawn(move || runtime.block_on(accept(listener, for_thread, stopped)))?;
        Ok(Self {
            address,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Returns the base URL for clients of `wire`.
    pub fn url(&self, wire: Wire) -> String {
        match wire {
            Wire::OpenAi | Wire::OpenAiResponses => format!("http://{}/v1", self.address),
            Wire::Anthropic | Wire::Gemini => format!("http://{}", self.address),
        }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the model requests so far, in order.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.shared.requests).iter().cloned().collect()
    }

    /// Returns the number of unfinished responses. A client that cancels a request closes its connection,
    /// which decreases this.
    pub fn responses_in_progress(&self) -> usize {
        self.shared.in_progress.load(Ordering::SeqCst)
    }

    /// Clears recorded requests and counted attempts.
    pub fn reset(&self) {
        self.shared.reset();
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in the server's thread has already been printed there.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Returns whether the server has no route for `path`.
    fn is_unknown(&self, path: &str) -> bool {
        let Some(root) = &self.root else {
            return false;
        };
        let operation = path.strip_prefix(root.as_str()).unwrap_or_default();
        let known =
            ["/chat/completions", "/messages", "/responses", "/models"].contains(&operation);
        let is_gemini = operation
            .strip_prefix("/models/")
            .is_some_and(|model| !model.contains('/'));
        !known && !is_gemini
    }

    fn reset(&self) {
        lock(&self.requests).clear();
        lock(&self.attempts).clear();
    }

    fn record(&self, request: RecordedRequest) {
        let mut requests = lock(&self.requests);
        if requests.len() == KEPT_REQUESTS {
            requests.pop_front();
        }
        requests.push_back(request);
    }

    /// Counts an attempt of `directive` and returns its number, from 1.
    fn attempt(&self, directive: &str) -> u32 {
        let mut attempts = lock(&self.attempts);
        let count = attempts.entry(directive.to_owned()).or_default();
        *count += 1;
        *count
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("register the listener");
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // Both a message and a dropped sender mean stop.
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(connection::serve(stream, Arc::clone(&shared)));
            },
        }
    }
    connections.shutdown().await;
}

/// Locks `mutex`, even if another test thread panicked while holding it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
