//! Why the bus cannot be used, and why a call over it failed.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why there is no connection to the bus.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    #[error("this zino was built without NATS: build it with the feature `nats`, or remove [bus]")]
    NotBuilt,
    #[error(
        "[bus] url: {0:?} is not an address: expected nats://HOST:PORT or tls://HOST:PORT, several \
         separated by commas"
    )]
    BadAddress(String),
    #[error(
        "{subject} {name:?} cannot be part of a subject: use letters, digits, '-' and '_', at most \
         {most} of them"
    )]
    BadName {
        subject: &'static str,
        name: String,
        most: usize,
    },
    #[error("[bus] has both nkey and credentials: keep one of them")]
    TwoKeys,
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "{} can be read by others (mode {mode:03o}): run chmod 600 {}",
        .path.display(), .path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error("{} has no nkey seed: expected a line that begins with SU", .0.display())]
    BadSeed(PathBuf),
    #[error("{} has no NATS credentials: expected a user JWT and an nkey seed", .0.display())]
    BadCredentials(PathBuf),
    #[error("[bus] ca: {0}")]
    Authority(String),
    #[error("cannot connect to the bus at {servers}: {reason}")]
    Unreachable { servers: String, reason: String },
    #[error("cannot connect to the bus at {servers}: TLS: {reason}")]
    Tls { servers: String, reason: String },
    #[error("the bus at {servers} refused {key}: its server must list it as a user")]
    Unauthorized { servers: String, key: String },
    #[error("{0}")]
    Forbidden(Forbidden),
    #[error("the bus does not answer: no message to ourselves within {} s", .0.as_secs_f64())]
    Silent(Duration),
}

/// What the permissions of our user do not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    pub action: ForbiddenAction,
    pub subject: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForbiddenAction {
    Publish,
    Subscribe,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match self.action {
            ForbiddenAction::Publish => "publish to",
            ForbiddenAction::Subscribe => "subscribe to",
        };
        write!(
            formatter,
            "the permissions of our user on the bus do not allow it to {action} {:?}",
            self.subject
        )
    }
}

/// What happened to a call over the bus.
#[derive(Debug, thiserror::Error)]
pub struct BusCallError {
    pub service: String,
    /// The instance that had the call, if one did.
    pub instance: Option<String>,
    pub failure: BusFailure,
}

impl fmt::Display for BusCallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.instance {
            Some(instance) => write!(
                formatter,
                "{} on the bus (instance {instance}): {}",
                self.service, self.failure
            ),
            None => write!(formatter, "{} on the bus: {}", self.service, self.failure),
        }
    }
}

/// Why a call over the bus failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BusFailure {
    #[error("we are not connected to the bus")]
    NotConnected,
    #[error("no instance is running")]
    NoInstance,
    #[error("no instance accepted the request within {} s", .0.as_secs_f64())]
    NotAccepted(Duration),
    #[error("refused: {0}")]
    Refused(Refusal),
    #[error("{0}")]
    Forbidden(Forbidden),
    #[error("no sign of life within {} s", .0.as_secs_f64())]
    Silent(Duration),
    #[error("messages were lost")]
    Gap,
    #[error("our connection to the bus was lost")]
    Disconnected,
    #[error("the other side has cancelled the call")]
    Cancelled,
    #[error("a message cannot be read: {0}")]
    Unreadable(String),
}

/// Why an instance does not handle a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    Draining,
    Full,
    /// One of a later version.
    Other(String),
}

#[cfg(feature = "nats")]
impl Refusal {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Draining => "draining",
            Self::Full => "full",
            Self::Other(name) => name,
        }
    }

    pub(crate) fn named(name: &str) -> Self {
        match name {
            "draining" => Self::Draining,
            "full" => Self::Full,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Draining => "it is about to end",
            Self::Full => "it handles as many requests as it can",
            Self::Other(name) => name,
        })
    }
}
