//! The handshake: `hello`, `hello_ack`, what is registered, `ready`.

use tokio::time::Instant;
use zot_extension_contract::{LaunchError, READY_SILENCE};
use zot_wire::RawJson;
use zot_wire::extension::{ExtensionFrame, Hello, HostFrame, Subscription};

use super::{Heard, SendError, Trial};

/// More commands, tools or events than any extension has; what goes beyond is dropped.
const MAX_REGISTRATIONS: usize = 1000;

/// What an extension said about itself.
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

/// Why an extension never became part of the agent.
#[derive(Debug, thiserror::Error)]
pub enum IntroductionError {
    #[error(transparent)]
    Start(#[from] LaunchError),
    #[error("it said no hello in time")]
    NoHello,
    #[error("it ended before its hello{}", ended(.status))]
    Ended { status: Option<String> },
    #[error("its first line is no hello but {line}")]
    NotHello { line: String },
    #[error("hello_ack cannot be sent: {0}")]
    Send(#[from] SendError),
}

fn ended(status: &Option<String>) -> String {
    let status = status.as_deref();
    status.map_or_else(String::new, |status| format!(" ({status})"))
}

impl Introduction {
    /// Takes in a registration; hands back any other frame.
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
    /// Waits for `hello` until one deadline, answers it, and collects what is registered until
    /// `ready`, a silence, or the other deadline. `aside` gets everything else.
    pub async fn introduce(
        &mut self,
        hello_deadline: Instant,
        ready_deadline: Instant,
        aside: &mut (dyn FnMut(Heard) + Send),
    ) -> Result<Introduction, IntroductionError> {
        let mut introduction = Introduction {
            hello: self.hello(hello_deadline, aside).await?,
            ..Introduction::default()
        };
        let ack = HostFrame::HelloAck(self.hello_ack.clone());
        self.send(&ack).await?;
        let mut quiet_since = Instant::now();
        while !introduction.ready {
            let deadline = ready_deadline.min(quiet_since + READY_SILENCE);
            match self.hear(deadline).await {
                Some(Heard::Frame(frame)) => {
                    quiet_since = Instant::now();
                    if let Some(other) = introduction.add(frame) {
                        aside(Heard::Frame(other));
                    }
                }
                Some(end @ (Heard::StdoutClosed | Heard::Silence)) => {
                    aside(end);
                    break;
                }
                Some(heard) => aside(heard),
                None => break,
            }
        }
        Ok(introduction)
    }

    async fn hello(
        &mut self,
        deadline: Instant,
        aside: &mut (dyn FnMut(Heard) + Send),
    ) -> Result<Hello, IntroductionError> {
        loop {
            match self.hear(deadline).await {
                Some(Heard::Frame(ExtensionFrame::Hello(hello))) => return Ok(hello),
                Some(Heard::Frame(frame)) => {
                    let line = serde_json::to_string(&frame).unwrap_or_default();
                    return Err(IntroductionError::NotHello { line });
                }
                Some(Heard::Unusable { line, error }) => {
                    let not_hello = IntroductionError::NotHello { line: line.clone() };
                    aside(Heard::Unusable { line, error });
                    return Err(not_hello);
                }
                Some(Heard::StdoutClosed) => {
                    let end = self.hear_out(aside).await;
                    let status = end.and_then(|end| end.status);
                    let status = status.map(|status| status.to_string());
                    return Err(IntroductionError::Ended { status });
                }
                Some(Heard::Silence) => return Err(IntroductionError::Ended { status: None }),
                Some(heard) => aside(heard),
                None => return Err(IntroductionError::NoHello),
            }
        }
    }
}
