use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::unix::pipe;
use tokio::sync::Notify;
use tokio::time::timeout;
use zot_conversation::BoxFuture;
use zot_sdk::{Config, ModelChoice};

use super::{OpenError, Worker, WorkerOptions};
use crate::{Opening, Session, SessionEnd, SessionLease, SessionStore, StoreError, TakenSession};

/// Long enough for a busy machine; nothing here takes a second on an idle one.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store in memory, which can fail and give sessions to others.
#[derive(Default)]
struct MemoryStore {
    sessions: Mutex<HashMap<String, Stored>>,
    fails: Mutex<Option<StoreError>>,
    appends: AtomicU64,
}

#[derive(Default, Clone)]
struct Stored {
    profile: String,
    bytes: Vec<u8>,
    fence: u64,
    owner: Option<String>,
    lost: Arc<Notify>,
}

/// The store as one worker uses it.
struct WorkerStore(Arc<MemoryStore>, &'static str);

impl SessionStore for WorkerStore {
    fn take<'a>(
        &'a self,
        session: &'a str,
        profile: &'a str,
        opening: Opening,
    ) -> BoxFuture<'a, Result<TakenSession, StoreError>> {
        Box::pin(async move {
            if let Some(error) = self.0.fails.lock().unwrap().clone() {
                return Err(error);
            }
            let mut sessions = self.0.sessions.lock().unwrap();
            let stored = match opening {
                Opening::New => sessions.entry(session.to_owned()).or_default(),
                Opening::Existing => sessions
                    .get_mut(session)
                    .filter(|stored| stored.profile == profile)
                    .ok_or(StoreError::NoSession)?,
            };
            if let Some(owner) = &stored.owner {
                return Err(StoreError::Busy {
                    owner: owner.clone(),
                });
            }
            profile.clone_into(&mut stored.profile);
            stored.owner = Some(self.1.to_owned());
            stored.fence += 1;
            let lease = Arc::new(MemoryLease {
                store: Arc::clone(&self.0),
                session: session.to_owned(),
                fence: stored.fence,
                lost: Arc::clone(&stored.lost),
            });
            Ok(TakenSession {
                records: stored.bytes.clone(),
                lease,
            })
        })
    }
}

struct MemoryLease {
    store: Arc<MemoryStore>,
    session: String,
    fence: u64,
    lost: Arc<Notify>,
}

impl SessionLease for MemoryLease {
    fn append(&self, position: u64, bytes: Bytes) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if let Some(error) = self.store.fails.lock().unwrap().clone() {
                return Err(error);
            }
            let mut sessions = self.store.sessions.lock().unwrap();
            let stored = sessions.get_mut(&self.session).unwrap();
            if stored.fence != self.fence {
                return Err(StoreError::Moved);
            }
            assert_eq!(position, stored.bytes.len() as u64);
            stored.bytes.extend_from_slice(&bytes);
            self.store.appends.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut sessions = self.store.sessions.lock().unwrap();
            let stored = sessions.get_mut(&self.session).unwrap();
            if stored.fence == self.fence {
                stored.owner = None;
            }
        })
    }

    fn lost(&self) -> BoxFuture<'_, StoreError> {
        Box::pin(async move {
            self.lost.notified().await;
            StoreError::Moved
        })
    }
}

impl MemoryStore {
    /// Lets others take the session, as if its lease had expired.
    fn expire(&self, session: &str) {
        let mut sessions = self.sessions.lock().unwrap();
        let stored = sessions.get_mut(session).unwrap();
        stored.owner = None;
        stored.fence += 1;
        stored.lost.notify_one();
    }

    fn text(&self, session: &str) -> String {
        let bytes = self.sessions.lock().unwrap()[session].bytes.clone();
        String::from_utf8(bytes).unwrap()
    }

    fn is_free(&self, session: &str) -> bool {
        self.sessions.lock().unwrap()[session].owner.is_none()
    }
}

struct Fixture {
    directory: TempDir,
    store: Arc<MemoryStore>,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("home")).unwrap();
        fs::create_dir(directory.path().join("work")).unwrap();
        Self {
            directory,
            store: Arc::default(),
        }
    }

    fn work(&self) -> std::path::PathBuf {
        self.directory.path().join("work")
    }

    fn worker(&self, name: &'static str) -> Worker {
        self.worker_of(name, "p", 1000)
    }

    fn worker_of(&self, name: &'static str, profile: &str, max_sessions: usize) -> Worker {
        let options = WorkerOptions {
            profile: profile.to_owned(),
            config: Config {
                model: ModelChoice::provider("offline"),
                cwd: Some(self.work()),
                home: Some(self.directory.path().join("home")),
                ..Config::default()
            },
            max_sessions,
        };
        let store = WorkerStore(Arc::clone(&self.store), name);
        Worker::new(options, Arc::new(store)).unwrap()
    }
}

/// A client of a session.
struct Client {
    id: String,
    input: pipe::Sender,
    output: Lines<BufReader<pipe::Receiver>>,
    end: tokio::sync::oneshot::Receiver<SessionEnd>,
}

impl Client {
    async fn open(worker: &Worker, wanted: Option<&str>) -> Self {
        Self::of(worker.open(wanted).await.unwrap())
    }

    fn of(session: Session) -> Self {
        Self {
            id: session.id,
            input: session.input,
            output: BufReader::new(session.output).lines(),
            end: session.end,
        }
    }

    async fn send(&mut self, line: &str) {
        self.input.write_all(line.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    async fn prompt(&mut self, message: &str) {
        let line = serde_json::json!({"type": "prompt", "message": message});
        self.send(&line.to_string()).await;
    }

    async fn next(&mut self) -> Option<Value> {
        let line = timeout(PATIENCE, self.output.next_line()).await.unwrap();
        line.unwrap()
            .map(|line| serde_json::from_str(&line).unwrap())
    }

    /// Reads until a frame of this type, and returns all frames.
    async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let frame = self.next().await.expect("the session ended");
            frames.push(frame.clone());
            if frame["type"] == kind {
                return frames;
            }
        }
    }

    async fn end(self) -> SessionEnd {
        drop(self.input);
        timeout(PATIENCE, self.end).await.unwrap().unwrap()
    }
}

fn user_texts(record: &str) -> Vec<String> {
    record
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|record| record["message"]["role"] == "user")
        .map(|record| {
            record["message"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

#[tokio::test]
async fn a_session_is_continued_by_another_worker() {
    let fixture = Fixture::new();
    let first = fixture.worker("first");
    let mut client = Client::open(&first, None).await;
    let id = client.id.clone();
    client.prompt("hello").await;
    let frames = client.until("done").await;
    assert!(frames.iter().any(|frame| frame["type"] == "text_delta"));
    assert_eq!(client.end().await, SessionEnd::Finished);
    assert!(fixture.store.is_free(&id));
    assert_eq!(first.sessions(), 0);

    let second = fixture.worker("second");
    let session = second.open(Some(&id)).await.unwrap();
    assert_eq!(session.resumed_messages, 2);
    let mut client = Client::of(session);
    client.send(r#"{"type":"get_state"}"#).await;
    let state = client.next().await.unwrap();
    assert_eq!(state["data"]["session"]["id"], id.as_str());
    client.prompt("again").await;
    client.until("done").await;
    assert_eq!(client.end().await, SessionEnd::Finished);
    assert_eq!(user_texts(&fixture.store.text(&id)), ["hello", "again"]);
}

#[tokio::test]
async fn a_session_is_open_only_once() {
    let fixture = Fixture::new();
    let (first, second) = (fixture.worker("first"), fixture.worker("second"));
    let client = Client::open(&first, None).await;
    let here = first.open(Some(&client.id)).await.err().unwrap();
    let there = second.open(Some(&client.id)).await.err().unwrap();
    assert_eq!(here.code(), "session_busy");
    assert!(there.to_string().contains("first"), "{there}");
    client.end().await;
}

#[tokio::test]
async fn what_cannot_be_opened_is_refused_and_leaves_nothing_behind() {
    let fixture = Fixture::new();
    let worker = fixture.worker_of("first", "p", 1);
    for id in ["nothing", "../../etc/passwd", ""] {
        let error = worker.open(Some(id)).await.err().unwrap();
        assert_eq!(error.code(), "no_session", "{id:?}: {error}");
    }
    let client = Client::open(&worker, None).await;
    let id = client.id.clone();
    assert!(matches!(worker.open(None).await, Err(OpenError::Full(1))));
    client.end().await;
    let other = fixture.worker_of("second", "q", 1);
    let error = other.open(Some(&id)).await.err().unwrap();
    assert_eq!(error.code(), "no_session", "another profile: {error}");
    *fixture.store.fails.lock().unwrap() = Some(StoreError::Unavailable {
        reason: "cut".to_owned(),
    });
    let error = worker.open(Some(&id)).await.err().unwrap();
    assert_eq!(error.code(), "store_unavailable", "{error}");
    assert_eq!(worker.sessions(), 0);
}

#[tokio::test]
async fn a_session_that_cannot_start_is_released() {
    let fixture = Fixture::new();
    let mut options = WorkerOptions {
        profile: "p".to_owned(),
        config: Config {
            model: ModelChoice::provider("no such provider"),
            home: Some(fixture.directory.path().join("home")),
            ..Config::default()
        },
        max_sessions: 8,
    };
    options.config.cwd = Some(fixture.work());
    let store = WorkerStore(Arc::clone(&fixture.store), "first");
    let worker = Worker::new(options, Arc::new(store)).unwrap();
    let error = worker.open(None).await.err().unwrap();
    assert_eq!(error.code(), "failed");
    assert!(error.to_string().contains("no such provider"), "{error}");
    assert_eq!(worker.sessions(), 0);
    let sessions = fixture.store.sessions.lock().unwrap();
    assert!(sessions.values().all(|stored| stored.owner.is_none()));
}

#[tokio::test]
async fn nothing_is_reported_that_the_store_does_not_have() {
    let fixture = Fixture::new();
    let worker = fixture.worker("first");
    let mut client = Client::open(&worker, None).await;
    client.prompt("hello").await;
    client.until("done").await;
    let before = fixture.store.text(&client.id);
    *fixture.store.fails.lock().unwrap() = Some(StoreError::Unavailable {
        reason: "the cable is cut".to_owned(),
    });
    client.prompt("lost").await;
    let frames = client.until("done").await;
    let error = &frames[frames.len() - 2];
    assert_eq!(error["code"], "session", "{frames:?}");
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("the cable is cut")
    );
    assert!(!frames.iter().any(|frame| frame["type"] == "user_message"));
    // It is unknown what the store has, so the session ends and is to be opened again.
    assert_eq!(client.next().await, None);
    let id = client.id.clone();
    assert_eq!(client.end().await, SessionEnd::Finished);
    assert_eq!(fixture.store.text(&id), before);
    *fixture.store.fails.lock().unwrap() = None;
    assert_eq!(worker.open(Some(&id)).await.unwrap().resumed_messages, 2);
}

/// The command of a tool loop that appends to a file each time.
fn appending(work: &Path) -> String {
    format!("run: echo ran >> {}; sleep 30", work.join("ran").display())
}

async fn wait_for_line(path: &Path) {
    let wait = async {
        while fs::read(path).is_ok_and(|text| text.is_empty()) || !path.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, wait).await.unwrap();
}

#[tokio::test]
async fn a_lost_lease_ends_the_work_and_another_worker_goes_on() {
    let fixture = Fixture::new();
    let (first, second) = (fixture.worker("first"), fixture.worker("second"));
    let mut client = Client::open(&first, None).await;
    let id = client.id.clone();
    client.prompt(&appending(&fixture.work())).await;
    let ran = fixture.work().join("ran");
    wait_for_line(&ran).await;
    fixture.store.expire(&id);
    let mut other = Client::open(&second, Some(&id)).await;
    other.prompt("hello").await;
    other.until("done").await;
    assert_eq!(client.end().await, SessionEnd::Moved);
    assert_eq!(fs::read_to_string(&ran).unwrap(), "ran\n");
    other.send(r#"{"type":"get_messages"}"#).await;
    let messages = other.next().await.unwrap();
    assert!(messages.to_string().contains("interrupted"), "{messages}");
    other.end().await;
    assert_eq!(user_texts(&fixture.store.text(&id)).len(), 2);
}

#[tokio::test]
async fn a_client_that_is_gone_ends_the_work() {
    let fixture = Fixture::new();
    let worker = fixture.worker("first");
    let mut client = Client::open(&worker, None).await;
    client.prompt(&appending(&fixture.work())).await;
    wait_for_line(&fixture.work().join("ran")).await;
    let Client {
        id,
        input,
        output,
        end,
    } = client;
    drop((input, output));
    let end = timeout(PATIENCE, end).await.unwrap().unwrap();
    assert_eq!(end, SessionEnd::Stopped);
    assert!(fixture.store.is_free(&id));
}

#[tokio::test]
async fn draining_ends_idle_sessions_and_lets_work_finish() {
    let fixture = Fixture::new();
    let worker = fixture.worker("first");
    let idle = Client::open(&worker, None).await;
    let mut working = Client::open(&worker, None).await;
    let slow = format!(
        "run: echo ran >> {}; sleep 1",
        fixture.work().join("ran").display()
    );
    working.prompt(&slow).await;
    wait_for_line(&fixture.work().join("ran")).await;
    worker.drain();
    assert_eq!(
        timeout(PATIENCE, idle.end).await.unwrap().unwrap(),
        SessionEnd::Finished
    );
    assert!(matches!(worker.open(None).await, Err(OpenError::Draining)));
    let frames = working.until("done").await;
    let result = frames
        .iter()
        .find(|frame| frame["type"] == "tool_result")
        .unwrap();
    assert_eq!(result["is_error"], false, "{result}");
    assert_eq!(working.next().await, None);
    timeout(PATIENCE, worker.closed()).await.unwrap();
    assert_eq!(worker.sessions(), 0);
    drop(idle.input);
}

#[tokio::test]
async fn stopping_aborts_what_runs_and_releases_everything() {
    let fixture = Fixture::new();
    let worker = fixture.worker("first");
    let mut client = Client::open(&worker, None).await;
    client.prompt(&appending(&fixture.work())).await;
    wait_for_line(&fixture.work().join("ran")).await;
    worker.stop();
    timeout(PATIENCE, worker.closed()).await.unwrap();
    assert!(fixture.store.is_free(&client.id));
    assert_eq!(client.end().await, SessionEnd::Stopped);
}

fn count(path: &str) -> usize {
    fs::read_dir(path).unwrap().count()
}

#[tokio::test]
async fn a_hundred_sessions_leave_no_threads_descriptors_or_files() {
    let fixture = Fixture::new();
    let worker = fixture.worker("first");
    // The first session opens what all share.
    Client::open(&worker, None).await.end().await;
    let (threads, descriptors) = (count("/proc/self/task"), count("/proc/self/fd"));
    let mut clients = Vec::new();
    for _ in 0..100 {
        let mut client = Client::open(&worker, None).await;
        client.prompt("hello").await;
        clients.push(client);
    }
    assert_eq!(worker.sessions(), 100);
    for client in &mut clients {
        client.until("done").await;
    }
    for client in clients {
        assert_eq!(client.end().await, SessionEnd::Finished);
    }
    timeout(PATIENCE, worker.closed()).await.unwrap();
    assert_eq!(count("/proc/self/task"), threads);
    assert_eq!(count("/proc/self/fd"), descriptors);
    assert_eq!(fs::read_dir(worker.0.files.path()).unwrap().count(), 0);
}
