//! Reads the output of a child and records both directions.

use std::io::{BufRead, BufReader, Read};
use std::process::{ChildStderr, ChildStdout};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::recording::Transcript;

/// The lines of a failure report that are shown, and how much of each.
const SHOWN_LINES: usize = 60;
const SHOWN_CHARACTERS: usize = 300;

/// How long output may continue after the process has ended: a stray child may hold the pipe.
const DRAIN: Duration = Duration::from_secs(5);

pub(super) struct Pipes {
    shared: Arc<(Mutex<Seen>, Condvar)>,
    readers: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    stdout: Vec<u8>,
    frames: Vec<Value>,
    stderr: Vec<u8>,
    transcript: Transcript,
    /// Readers that are still at work, standard output's and all.
    stdout_open: bool,
    open: usize,
}

impl Pipes {
    pub(super) fn new(stderr: ChildStderr) -> Self {
        let mut pipes = Self {
            shared: Arc::default(),
            readers: Vec::new(),
        };
        pipes.read(
            stderr,
            |seen, line| seen.stderr.extend_from_slice(line),
            |_| (),
        );
        pipes
    }

    pub(super) fn read_stdout(&mut self, stdout: ChildStdout) {
        self.seen().stdout_open = true;
        self.read(stdout, Seen::stdout_line, |seen| seen.stdout_open = false);
    }

    fn read(
        &mut self,
        pipe: impl Read + Send + 'static,
        line: fn(&mut Seen, &[u8]),
        end: fn(&mut Seen),
    ) {
        let shared = Arc::clone(&self.shared);
        self.seen().open += 1;
        self.readers.push(std::thread::spawn(move || {
            let mut reader = BufReader::new(pipe);
            let mut buffer = Vec::new();
            // An error counts as the end.
            while reader.read_until(b'\n', &mut buffer).is_ok_and(|n| n > 0) {
                line(&mut lock(&shared.0), &buffer);
                buffer.clear();
                shared.1.notify_all();
            }
            let mut seen = lock(&shared.0);
            end(&mut seen);
            seen.open -= 1;
            shared.1.notify_all();
        }));
    }

    pub(super) fn note_sent(&self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(bytes);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let mut seen = self.seen();
        for line in text.split('\n') {
            seen.transcript.sent(line);
        }
    }

    /// Waits for the frame with this number.
    pub(super) fn frame(&self, index: usize, deadline: Instant) -> Result<Value, &'static str> {
        let mut seen = self.seen();
        loop {
            if let Some(frame) = seen.frames.get(index) {
                return Ok(frame.clone());
            }
            if !seen.stdout_open {
                return Err("zot closed its standard output");
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err("zot did not send the expected frame");
            }
            let waited = self.shared.1.wait_timeout(seen, left);
            seen = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn frames_from(&self, index: usize) -> Vec<Value> {
        let seen = self.seen();
        seen.frames.get(index..).unwrap_or_default().to_vec()
    }

    pub(super) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.seen().stdout).into_owned()
    }

    pub(super) fn stdout_lines(&self) -> Vec<String> {
        let stdout = self.stdout();
        let whole = stdout.strip_suffix('\n').unwrap_or(&stdout);
        whole.split('\n').map(str::to_owned).collect()
    }

    pub(super) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.seen().stderr).into_owned()
    }

    /// Waits until both pipes have ended.
    pub(super) fn wait_for_end(&mut self) {
        let deadline = Instant::now() + DRAIN;
        let mut seen = self.seen();
        while seen.open > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shared.1.wait_timeout(seen, left);
            seen = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(seen);
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }

    /// Returns the transcript of both directions, with the exit at the end.
    pub(super) fn transcript(&self, code: i32) -> Transcript {
        let stderr = self.stderr();
        let mut transcript = self.seen().transcript.clone();
        transcript.ended(&stderr, code);
        transcript
    }

    /// Describes the end of the transcript, for failure reports.
    pub(super) fn describe(&self) -> String {
        let stderr = self.stderr();
        let seen = self.seen();
        let lines = seen.transcript.lines();
        let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
        let shown = shown.iter().map(|line| {
            let line: String = line.chars().take(SHOWN_CHARACTERS).collect();
            format!("{line}\n")
        });
        format!("{}standard error: {stderr}", shown.collect::<String>())
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.shared.0)
    }
}

impl Seen {
    fn stdout_line(&mut self, line: &[u8]) {
        self.stdout.extend_from_slice(line);
        let text = String::from_utf8_lossy(line);
        match text.strip_suffix('\n') {
            Some(text) => self.frame(text),
            // Marks output without a final line feed.
            None => self.frame(&format!("{text}<no newline>")),
        }
    }

    fn frame(&mut self, text: &str) {
        self.transcript.received(text);
        let frame = serde_json::from_str(text);
        let frame = frame.unwrap_or_else(|_| json!({"type": "?", "raw": text}));
        self.frames.push(frame);
    }
}

fn lock(mutex: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
