//! A host for tests: runs an extension in the test's own process and sends it what zot would.
//!
//! The extension runs on a thread with its own runtime, isolated as in its own process.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;
use zot_wire::extension::{
    ExtensionFrame, FrameError, HelloAck, HostFrame, LifecycleEvent, PROTOCOL_VERSION, Subscription,
};
use zot_wire::{Line, LineDecoder, RawJson, write_line};

use crate::{Error, Extension, Panel, PanelInput, Response, ToolResult, Verdict};

/// How long to wait for a response; more than the slowest machine needs.
const TEST_HOST_PATIENCE: Duration = Duration::from_secs(20);

/// Frames queued for the extension, and bytes in either pipe.
const TEST_QUEUE_FRAMES: usize = 64;
const PIPE_BYTES: usize = 64 * 1024;

/// What went wrong between a test and its extension.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestError {
    #[error("the extension failed")]
    Failed(#[source] Error),
    #[error("the extension ended before it sent {0}")]
    Ended(String),
    #[error("the extension did not send {what} within {} s", TEST_HOST_PATIENCE.as_secs())]
    Silent { what: String },
    #[error("the extension wrote a line that is not a frame")]
    Broken(#[source] FrameError),
    #[error("cannot run the extension")]
    Thread(#[source] io::Error),
}

/// Everything the extension has sent so far.
#[derive(Default)]
struct Record {
    frames: Vec<ExtensionFrame>,
    broken: Option<FrameError>,
    ended: bool,
}

/// A tool as the extension registered it.
#[derive(Debug, Clone, PartialEq)]
pub struct RegisteredTool {
    pub name: String,
    pub description: String,
    pub schema: Value,
}

/// A notification as the user would see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    pub level: String,
    pub message: String,
}

/// Runs an [`Extension`] in place of zot.
///
/// All methods can be awaited concurrently. Dropping it ends the extension as the death of zot would.
pub struct TestHost {
    input: mpsc::Sender<Vec<u8>>,
    record: watch::Receiver<Record>,
    outcome: oneshot::Receiver<crate::Result>,
    ids: AtomicU64,
}

impl TestHost {
    /// Starts `extension` and waits until it is ready.
    pub async fn start(extension: Extension) -> Result<Self, TestError> {
        let host = HelloAck {
            protocol_version: PROTOCOL_VERSION,
            zot_version: "test".to_owned(),
            provider: "test-provider".to_owned(),
            model: "test-model".to_owned(),
            ..HelloAck::default()
        };
        Self::start_as(extension, host).await
    }

    /// Like [`start`](Self::start), with the value of [`Context::host`](crate::Context::host).
    pub async fn start_as(extension: Extension, introduction: HelloAck) -> Result<Self, TestError> {
        let (input, to_extension) = mpsc::channel(TEST_QUEUE_FRAMES);
        let (report, record) = watch::channel(Record::default());
        let (finished, outcome) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(TestError::Thread)?;
        thread::Builder::new()
            .name("extension".to_owned())
            .spawn(move || {
                let ended = runtime.block_on(run(extension, to_extension, &report));
                runtime.shutdown_background();
                // The host may have been dropped.
                let _ = finished.send(ended);
                report.send_modify(|record| record.ended = true);
            })
            .map_err(TestError::Thread)?;
        let mut host = Self {
            input,
            record,
            outcome,
            ids: AtomicU64::default(),
        };
        host.send(&HostFrame::HelloAck(introduction)).await;
        let ready = host
            .wait_for("ready", |frame| matches!(frame, ExtensionFrame::Ready))
            .await;
        match ready {
            Ok(_) => Ok(host),
            // If the extension did not start, its error is more useful.
            Err(error) => match host.outcome.try_recv() {
                Ok(Err(failure)) => Err(TestError::Failed(failure)),
                _ => Err(error),
            },
        }
    }

    /// Runs a slash command.
    pub async fn invoke(&self, name: &str, args: &str) -> Result<Response, TestError> {
        let id = self.next_id();
        let frame = HostFrame::CommandInvoked {
            id: id.clone(),
            name: name.to_owned(),
            args: args.to_owned(),
        };
        self.send(&frame).await;
        let what = format!("the response to /{name}");
        self.wait_map(&what, |frame| match frame {
            ExtensionFrame::CommandResponse(response) if response.id == id => {
                Some(Response::from_wire(response.clone()))
            }
            _ => None,
        })
        .await
    }

    /// Calls a tool as a model would.
    pub async fn call_tool(&self, name: &str, args: Value) -> Result<ToolResult, TestError> {
        let id = self.next_id();
        let frame = HostFrame::ToolCall {
            id: id.clone(),
            name: name.to_owned(),
            args: RawJson::try_from(args.to_string()).unwrap_or_else(|_| RawJson::empty_object()),
        };
        self.send(&frame).await;
        let what = format!("the result of {name}");
        self.wait_map(&what, |frame| match frame {
            ExtensionFrame::ToolResult(result) if result.id == id => {
                Some(ToolResult::from_wire(result.clone()))
            }
            _ => None,
        })
        .await
    }

    /// Asks whether an event may happen.
    pub async fn intercept(&self, event: impl Into<LifecycleEvent>) -> Result<Verdict, TestError> {
        let id = self.next_id();
        let frame = HostFrame::EventIntercept {
            id: id.clone(),
            event: event.into(),
        };
        self.send(&frame).await;
        self.wait_map("a verdict", |frame| match frame {
            ExtensionFrame::EventInterceptResponse(response) if response.id == id => {
                Some(Verdict::from_wire(response.clone()))
            }
            _ => None,
        })
        .await
    }

    /// Sends an event. It has no response: wait for what the handler does.
    pub async fn emit(&self, event: impl Into<LifecycleEvent>) {
        self.send(&HostFrame::Event(event.into())).await;
    }

    /// Presses a key in a panel; `text` is what the key writes.
    pub async fn panel_key(&self, panel: &str, key: &str, text: &str) {
        let key = PanelInput::Key {
            key: key.to_owned(),
            text: text.to_owned(),
        };
        self.panel_input(panel, key).await;
    }

    /// Sends any input to a panel.
    pub async fn panel_input(&self, panel: &str, input: PanelInput) {
        let panel_id = panel.to_owned();
        let frame = match input {
            PanelInput::Key { key, text } => HostFrame::PanelKey {
                panel_id,
                key,
                text,
            },
            PanelInput::Resize { width, height } => HostFrame::PanelResize {
                panel_id,
                width,
                height,
            },
            PanelInput::Close => HostFrame::PanelClose { panel_id },
        };
        self.send(&frame).await;
    }

    /// Waits until a panel has been drawn `count` times after it was opened, and returns what it
    /// shows then.
    pub async fn panel_drawn(&self, panel: &str, count: usize) -> Result<Panel, TestError> {
        let what = format!("panel_render number {count} of {panel}");
        self.wait_until(&what, |frames| {
            let drawn = frames.iter().filter_map(|frame| match frame {
                ExtensionFrame::PanelRender { panel_id, content } if panel_id == panel => {
                    Some(content)
                }
                _ => None,
            });
            let content = drawn.take(count).enumerate().last();
            content
                .filter(|(index, _)| index + 1 == count)
                .map(|(_, content)| Panel::from_wire(panel.to_owned(), content.clone()))
        })
        .await
    }

    /// Waits until the extension has closed a panel.
    pub async fn panel_closed(&self, panel: &str) -> Result<(), TestError> {
        let what = format!("panel_close of {panel}");
        let closed = |frame: &ExtensionFrame| matches!(frame, ExtensionFrame::PanelClose { panel_id } if panel_id == panel);
        self.wait_for(&what, closed).await.map(|_| ())
    }

    /// Returns the notifications so far. Those of a handler come before its response.
    pub fn notifications(&self) -> Vec<Notification> {
        notifications_in(&self.record.borrow().frames)
    }

    /// Waits until there have been `count` notifications.
    pub async fn notified(&self, count: usize) -> Result<Vec<Notification>, TestError> {
        let what = format!("notification number {count}");
        self.wait_until(&what, |frames| {
            let notifications = notifications_in(frames);
            (notifications.len() >= count).then_some(notifications)
        })
        .await
    }

    /// Returns the names and descriptions of the commands.
    pub fn commands(&self) -> Vec<(String, String)> {
        self.collect(|frame| match frame {
            ExtensionFrame::RegisterCommand { name, description } => {
                Some((name.clone(), description.clone()))
            }
            _ => None,
        })
    }

    pub fn tools(&self) -> Vec<RegisteredTool> {
        self.collect(|frame| match frame {
            ExtensionFrame::RegisterTool {
                name,
                description,
                schema,
            } => Some(RegisteredTool {
                name: name.clone(),
                description: description.clone(),
                schema: schema
                    .as_ref()
                    .and_then(|schema| serde_json::from_str(schema.get()).ok())
                    .unwrap_or_default(),
            }),
            _ => None,
        })
    }

    /// Returns what the extension watches and intercepts, if anything.
    pub fn subscription(&self) -> Option<Subscription> {
        self.collect(|frame| match frame {
            ExtensionFrame::Subscribe(subscription) => Some(subscription.clone()),
            _ => None,
        })
        .pop()
    }

    /// Returns everything the extension has sent so far.
    pub fn frames(&self) -> Vec<ExtensionFrame> {
        self.record.borrow().frames.clone()
    }

    /// Ends the extension, and waits until it has acknowledged that and has ended.
    pub async fn shutdown(self) -> Result<(), TestError> {
        self.send(&HostFrame::Shutdown).await;
        self.wait_for("shutdown_ack", |frame| {
            matches!(frame, ExtensionFrame::ShutdownAck)
        })
        .await?;
        self.end().await
    }

    /// Closes the extension's input without `shutdown`, and waits until it has ended.
    pub async fn hang_up(self) -> Result<(), TestError> {
        self.end().await
    }

    /// Sends any frame.
    pub async fn send(&self, frame: &HostFrame) {
        let mut line = Vec::new();
        // A frame can always be written, and waiting for a response reports an ended extension.
        if write_line(&mut line, frame).is_ok() {
            self.send_line(line).await;
        }
    }

    /// Sends raw bytes, valid or not.
    pub async fn send_line(&self, line: impl Into<Vec<u8>>) {
        let _ = self.input.send(line.into()).await;
    }

    /// Waits for a frame, or finds it among those already received. `what` is for the error.
    pub async fn wait_for(
        &self,
        what: &str,
        wanted: impl Fn(&ExtensionFrame) -> bool,
    ) -> Result<ExtensionFrame, TestError> {
        self.wait_map(what, |frame| wanted(frame).then(|| frame.clone()))
            .await
    }

    async fn end(self) -> Result<(), TestError> {
        drop(self.input);
        match timeout(TEST_HOST_PATIENCE, self.outcome).await {
            Ok(Ok(outcome)) => outcome.map_err(TestError::Failed),
            Ok(Err(_)) => Err(TestError::Ended("its outcome".to_owned())),
            Err(_) => Err(TestError::Silent {
                what: "the end of its output".to_owned(),
            }),
        }
    }

    async fn wait_map<T>(
        &self,
        what: &str,
        wanted: impl Fn(&ExtensionFrame) -> Option<T>,
    ) -> Result<T, TestError> {
        self.wait_until(what, |frames| frames.iter().find_map(&wanted))
            .await
    }

    async fn wait_until<T>(
        &self,
        what: &str,
        wanted: impl Fn(&[ExtensionFrame]) -> Option<T>,
    ) -> Result<T, TestError> {
        let mut record = self.record.clone();
        let mut found = None;
        let waiting = record.wait_for(|record| {
            found = wanted(&record.frames);
            found.is_some() || record.ended || record.broken.is_some()
        });
        let broken = match timeout(TEST_HOST_PATIENCE, waiting).await {
            Ok(Ok(record)) => record.broken.clone(),
            Ok(Err(_)) => None,
            Err(_) => {
                let what = what.to_owned();
                return Err(TestError::Silent { what });
            }
        };
        match (found, broken) {
            (Some(found), _) => Ok(found),
            (None, Some(error)) => Err(TestError::Broken(error)),
            (None, None) => Err(TestError::Ended(what.to_owned())),
        }
    }

    fn collect<T>(&self, wanted: impl Fn(&ExtensionFrame) -> Option<T>) -> Vec<T> {
        self.record
            .borrow()
            .frames
            .iter()
            .filter_map(wanted)
            .collect()
    }

    fn next_id(&self) -> String {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        format!("test-{id}")
    }
}

fn notifications_in(frames: &[ExtensionFrame]) -> Vec<Notification> {
    let notifications = frames.iter().filter_map(|frame| match frame {
        ExtensionFrame::Notify { level, message } => Some(Notification {
            level: level.clone(),
            message: message.clone(),
        }),
        _ => None,
    });
    notifications.collect()
}

async fn run(
    extension: Extension,
    input: mpsc::Receiver<Vec<u8>>,
    report: &watch::Sender<Record>,
) -> crate::Result {
    let (host_input, extension_input) = duplex(PIPE_BYTES);
    let (extension_output, host_output) = duplex(PIPE_BYTES);
    let serving = extension.serve_on(extension_input, extension_output);
    let fed = async {
        tokio::select! {
            outcome = serving => outcome,
            never = feed(host_input, input) => match never {},
        }
    };
    tokio::join!(fed, record_frames(host_output, report)).0
}

/// Passes input on, and never returns.
async fn feed(mut pipe: DuplexStream, mut input: mpsc::Receiver<Vec<u8>>) -> Infallible {
    while let Some(line) = input.recv().await {
        if pipe.write_all(&line).await.is_err() {
            break;
        }
    }
    drop(pipe);
    std::future::pending().await
}

async fn record_frames(mut output: impl AsyncRead + Unpin, report: &watch::Sender<Record>) {
    let mut decoder = LineDecoder::default();
    let mut buffer = vec![0; PIPE_BYTES];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        decoder.feed(&buffer[..count]);
        while let Some(line) = decoder.next_line() {
            let parsed = match line {
                Line::Complete(line) => ExtensionFrame::parse(line),
                Line::TooLong => Err(FrameError::Malformed("the line is too long".to_owned())),
            };
            report.send_modify(|record| match parsed {
                Ok(frame) => record.frames.push(frame),
                Err(error) => record.broken = Some(error),
            });
        }
    }
}
