//! Many concurrent clients on one thread.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;

use super::super::report::Quantity;
use super::super::samples::Samples;
use super::client::{HEADER_BYTES, announced, refuse_errors};

const READ_BYTES: usize = 16 * 1024;
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// How long a client waits after it was refused because there were too many.
const REFUSAL_PAUSE: Duration = Duration::from_millis(1);

/// The server under test.
#[derive(Clone)]
pub(super) enum Server {
    /// A service or the echo server, with one connection per request.
    Service(PathBuf),
    /// The model server itself, over connections that stay open.
    Model(u16),
}

/// The result of a crowd.
pub(super) struct Outcome {
    pub(super) elapsed: Duration,
    pub(super) samples: Samples,
}

impl Outcome {
    pub(super) fn rate(&self) -> Quantity {
        Quantity::Rate(self.samples.len() as f64 / self.elapsed.as_secs_f64())
    }
}

/// Makes `clients` send the same request, `requests` times in total.
pub(super) fn crowd(
    server: &Server,
    clients: usize,
    requests: usize,
    question: &[u8],
) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let question: Arc<[u8]> = question.into();
    let left = Arc::new(AtomicUsize::new(requests));
    let start = Instant::now();
    let samples = runtime.block_on(async {
        let mut tasks = JoinSet::new();
        for _ in 0..clients {
            let (question, left) = (Arc::clone(&question), Arc::clone(&left));
            match server.clone() {
                Server::Service(path) => tasks.spawn(ask_service(path, question, left)),
                Server::Model(port) => tasks.spawn(ask_model(port, question, left)),
            };
        }
        let mut samples = Samples::default();
        while let Some(client) = tasks.join_next().await {
            samples.extend(client??);
        }
        anyhow::Ok(samples)
    })?;
    Ok(Outcome {
        elapsed: start.elapsed(),
        samples,
    })
}

/// Claims one of the remaining requests, if there is one.
fn take(left: &AtomicUsize) -> bool {
    let one_less = |left: usize| left.checked_sub(1);
    left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
        .is_ok()
}

async fn ask_service(
    path: PathBuf,
    question: Arc<[u8]>,
    left: Arc<AtomicUsize>,
) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut answer = Vec::with_capacity(READ_BYTES);
    while take(&left) {
        let start = Instant::now();
        let mut stream = connect(&path).await?;
        stream.write_all(&question).await?;
        answer.clear();
        while announced(&answer).is_none_or(|length| length > answer.len()) {
            let count = stream.read_buf(&mut answer).await?;
            ensure!(count > 0, "the answer ended early");
        }
        times.push(start.elapsed());
        refuse_errors(&answer[HEADER_BYTES..])?;
    }
    Ok(times)
}

async fn connect(path: &PathBuf) -> anyhow::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                tokio::time::sleep(REFUSAL_PAUSE).await;
            }
            other => return other.with_context(|| format!("cannot connect to {}", path.display())),
        }
    }
}

async fn ask_model(
    port: u16,
    question: Arc<[u8]>,
    left: Arc<AtomicUsize>,
) -> anyhow::Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    let mut times = Vec::new();
    let mut answer = Vec::with_capacity(READ_BYTES);
    while take(&left) {
        let start = Instant::now();
        stream.write_all(&question).await?;
        answer.clear();
        while !answer.ends_with(LAST_CHUNK) {
            let count = stream.read_buf(&mut answer).await?;
            ensure!(count > 0, "the model's answer ended early");
        }
        times.push(start.elapsed());
        ensure!(
            answer.starts_with(b"HTTP/1.1 200"),
            "the model refused: {}",
            String::from_utf8_lossy(&answer)
        );
    }
    Ok(times)
}
