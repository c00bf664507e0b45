//! A model server that does what the prompt tells it to, on every wire of [`Wire`].
//!
//! The last real user message is the directive (see [`directive`]); a server made by
//! [`ModelServer::with_script`] answers from a list instead. HTTP is written by hand, because a
//! proper server library cannot misbehave.

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

/// Requests kept for assertions; the oldest go first. Enough for any test, too few to hurt a bench.
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

/// What the connections of one server have in common.
#[derive(Default)]
struct Shared {
    requests: Mutex<VecDeque<RecordedRequest>>,
    /// How often each directive that counts its attempts was asked for.
    attempts: Mutex<HashMap<String, u32>>,
    script: Option<Mutex<VecDeque<Reply>>>,
    /// Whether requests that a real provider refuses are refused.
    strict: bool,
    /// Prebuilt `say:N` bodies.
    blobs: Mutex<HashMap<BlobKey, Arc<[u8]>>>,
    /// The only path below which anything is known; without it every path is.
    root: Option<String>,
    in_progress: AtomicUsize,
    answered: AtomicU64,
}

impl ModelServer {
    /// Starts a server that obeys directives, on a free port.
    pub fn start() -> Self {
        Self::start_on(0).expect("bind a loopback port for the model server")
    }

    /// Starts a server that obeys directives; port 0 picks a free one.
    pub fn start_on(port: u16) -> io::Result<Self> {
        Self::run(port, Shared::default())
    }

    /// Starts a server that answers the model requests it gets with `script`, in order. A request
    /// beyond its end is answered with status 500.
    pub fn with_script(script: impl IntoIterator<Item = Reply>) -> Self {
        let shared = Shared {
            script: Some(Mutex::new(script.into_iter().collect())),
            ..Shared::default()
        };
        Self::run(0, shared).expect("bind a loopback port for the model server")
    }

    /// Starts a server that obeys directives below the path `root` (for example `/v1`) and answers
    /// 404 everywhere else, as real ones do.
    pub fn below(root: &str) -> Self {
        let shared = Shared {
            root: Some(root.to_owned()),
            ..Shared::default()
        };
        Self::run(0, shared).expect("bind a loopback port for the model server")
    }

    /// Starts a server that obeys directives, but refuses with status 400 what [`refusal`] finds.
    pub fn strict() -> Self {
        let shared = Shared {
            strict: true,
            ..Shared::default()
        };
        Self::run(0, shared).expect("bind a loopback port for the model server")
    }

    /// Scheme, host and port, without a path.
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

    /// The base URL a client of `wire` is configured with.
    pub fn url(&self, wire: Wire) -> String {
        match wire {
            Wire::OpenAi | Wire::OpenAiResponses => format!("http://{}/v1", self.address),
            Wire::Anthropic | Wire::Gemini => format!("http://{}", self.address),
        }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The model requests so far, in the order they arrived.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        lock(&self.shared.requests).iter().cloned().collect()
    }

    /// Answers that are being sent or withheld right now. A client that cancels a request closes
    /// its connection, which brings this down.
    pub fn answers_in_progress(&self) -> usize {
        self.shared.in_progress.load(Ordering::SeqCst)
    }

    /// Forgets recorded requests and counted attempts.
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
    /// Whether a strict server knows nothing at `path`.
    fn is_elsewhere(&self, path: &str) -> bool {
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

    /// Counts one more attempt of `directive` and returns which one it is, from 1.
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

/// Locks `mutex`; its data stays usable when another test thread panicked while holding it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
