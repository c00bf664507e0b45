//! The handshake: `hello`, `hello_ack`, registrations, `ready`.

use tokio::time::Instant;
use zot_extension_contract::{LaunchError, READY_SILENCE};
use zot_wire::RawJson;
use zot_wire::extension::{ExtensionFrame, Hello, HostFrame, Subscription};

use super::{ExtensionOutput, SendError, Trial};

/// More commands, tools or events than any extension has; the rest is dropped.
const MAX_REGISTRATIONS: usize = 1000;

/// What an extension sent during the handshake.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Introduction {
    pub hello: Hello,
    pub commands: Vec<RegisteredCommand>,
    pub tools: Vec<RegisteredTool>,
    pub subscription: Subscription,
    /// Whether it sent `ready` itself.
    pub ready: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredCommand {
    pub name: String,
    pub description: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RegisteredTool {
    pub name: String,
    pub description: String,
    pub schema: Option<RawJson>,
}

/// Why the handshake with an extension failed.
#[derive(Debug, thiserror::Error)]
pub enum IntroductionError {
    #[error(transparent)]
    Start(#[from] LaunchError),
    #[error("it did not send hello in time")]
    NoHello,
    #[error("it ended before its hello{}", ended(.status))]
    Ended { status: Option<String> },
    #[error("its first line is not hello but {line}")]
    NotHello { line: String },
    #[error("hello_ack cannot be sent: {0}")]
    Send(#[from] SendError),
}

fn ended(status: &Option<String>) -> String {
    let status = status.as_deref();
    status.map_or_else(String::new, |status| format!(" ({status})"))
}

impl Introduction {
    /// Adds a registration; returns any other frame.
    pub fn add(&mut self, frame: ExtensionFrame) -> Option<ExtensionFrame> {
        match frame {
            ExtensionFrame::RegisterCommand { name, description } => {
                add_to(
                    &mut self.commands,
                    [RegisteredCommand { name, description }],
                );
            }
            ExtensionFrame::RegisterTool {
                name,
                description,
                schema,
            } => {
                let tool = RegisteredTool {
                    name,
                    description,
                    schema,
                };
                add_to(&mut self.tools, [tool]);
            }
            ExtensionFrame::Subscribe(subscription) => {
                add_to(&mut self.subscription.events, subscription.events);
                add_to(&mut self.subscription.intercept, subscription.intercept);
                self.subscription.hold_text |= subscription.hold_text;
            }
            ExtensionFrame::Ready => self.ready = true,
            frame => return Some(frame),
        }
        None
    }
}

fn add_to<T>(list: &mut Vec<T>, items: impl IntoIterator<Item = T>) {
    let room = MAX_REGISTRATIONS.saturating_sub(list.len());
    list.extend(items.into_iter().take(room));
}

impl Trial {
    /// Waits for `hello` until `hello_deadline`, answers it, and collects registrations until `ready`,
    /// a silence, or `ready_deadline`. `on_other` gets all other output.
    pub async fn introduce(
        &mut self,
        hello_deadline: Instant,
        ready_deadline: Instant,
        on_other: &mut (dyn FnMut(ExtensionOutput) + Send),
    ) -> Result<Introduction, IntroductionError> {
        let mut introduction = Introduction {
            hello: self.hello(hello_deadline, on_other).await?,
            ..Introduction::default()
        };
        let ack = HostFrame::HelloAck(self.hello_ack.clone());
        self.send(&ack).await?;
        let mut quiet_since = Instant::now();
        while !introduction.ready {
            let deadline = ready_deadline.min(quiet_since + READY_SILENCE);
            match self.receive(deadline).await {
                Some(ExtensionOutput::Frame(frame)) => {
                    quiet_since = Instant::now();
                    if let Some(other) = introduction.add(frame) {
                        on_other(ExtensionOutput::Frame(other));
                    }
                }
                Some(end @ (ExtensionOutput::StdoutClosed | ExtensionOutput::StreamsClosed)) => {
                    on_other(end);
                    break;
                }
                Some(output) => on_other(output),
                None => break,
            }
        }
        Ok(introduction)
    }

    async fn hello(
        &mut self,
        deadline: Instant,
        on_other: &mut (dyn FnMut(ExtensionOutput) + Send),
    ) -> Result<Hello, IntroductionError> {
        loop {
            match self.receive(deadline).await {
                Some(ExtensionOutput::Frame(ExtensionFrame::Hello(hello))) => return Ok(hello),
                Some(ExtensionOutput::Frame(frame)) => {
                    let line = serde_json::to_string(&frame).unwrap_or_default();
                    return Err(IntroductionError::NotHello { line });
                }
                Some(ExtensionOutput::Unusable { line, error }) => {
                    let not_hello = IntroductionError::NotHello { line: line.clone() };
                    on_other(ExtensionOutput::Unusable { line, error });
                    return Err(not_hello);
                }
                Some(ExtensionOutput::StdoutClosed) => {
                    let end = self.drain_output(on_other).await;
                    let status = end.and_then(|end| end.status);
                    let status = status.map(|status| status.to_string());
                    return Err(IntroductionError::Ended { status });
                }
                Some(ExtensionOutput::StreamsClosed) => {
                    return Err(IntroductionError::Ended { status: None });
                }
                Some(output) => on_other(output),
                None => return Err(IntroductionError::NoHello),
            }
        }
    }
}
