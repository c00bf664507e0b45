//! The messages of a call: what their headers say.
//!
//! Unknown headers and kinds are ignored, so that old and new versions work side by side.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use async_nats::header::{HeaderMap, HeaderName};

use crate::unique_name::unique_name;

/// The version of the protocol. It grows when a message can no longer be understood by an older version.
const PROTOCOL: &str = "1";

/// The most attempts that are looked for.
const ATTEMPTS_LOOKED_FOR: u32 = 16;

const PROTO: HeaderName = HeaderName::from_static("Zino-Proto");
const CALL: HeaderName = HeaderName::from_static("Zino-Call");
const ATTEMPT: HeaderName = HeaderName::from_static("Zino-Attempt");
const WINDOW: HeaderName = HeaderName::from_static("Zino-Window");
const KIND: HeaderName = HeaderName::from_static("Zino-Kind");
const SEQ: HeaderName = HeaderName::from_static("Zino-Seq");
const FRAMES: HeaderName = HeaderName::from_static("Zino-Frames");
const END: HeaderName = HeaderName::from_static("Zino-End");
const CONTROL: HeaderName = HeaderName::from_static("Zino-Ctl");
const BODY: HeaderName = HeaderName::from_static("Zino-Body");
const PART: HeaderName = HeaderName::from_static("Zino-Part");
const TOTAL: HeaderName = HeaderName::from_static("Zino-Total");
const DIGEST: HeaderName = HeaderName::from_static("Zino-Sha256");
const REASON: HeaderName = HeaderName::from_static("Zino-Reason");

/// One attempt of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) call: u128,
    pub(super) attempt: u32,
}

impl Key {
    /// The first attempt of a call that no other process makes.
    pub(super) fn new() -> Self {
        Self {
            call: u128::from_str_radix(&unique_name(), 16).unwrap_or_default(),
            attempt: 1,
        }
    }

    pub(super) fn next_attempt(self) -> Self {
        Self {
            attempt: self.attempt + 1,
            ..self
        }
    }

    /// This attempt and those before it, the latest first.
    pub(super) fn attempts_so_far(self) -> impl Iterator<Item = Self> {
        let attempts = (1..=self.attempt.min(ATTEMPTS_LOOKED_FOR)).rev();
        attempts.map(move |attempt| Self { attempt, ..self })
    }
}

/// The last two tokens of a subject.
impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}.{}", self.call, self.attempt)
    }
}

/// The text is not a key.
#[derive(Debug)]
pub(super) struct NotAKey;

impl FromStr for Key {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        let (call, attempt) = text.split_once('.').ok_or(NotAKey)?;
        Ok(Self {
            call: u128::from_str_radix(call, 16).map_err(|_| NotAKey)?,
            attempt: attempt.parse().map_err(|_| NotAKey)?,
        })
    }
}

/// How a request arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestHead {
    pub(super) key: Key,
    /// How many units of the response may be sent at once. Without any, the instance must not begin.
    pub(super) window: u64,
    pub(super) body: Body,
}

/// Where the request itself is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// In the same message.
    Here,
    /// It is the first frame that the caller sends once an instance has accepted.
    Later { total: usize },
}

impl RequestHead {
    pub(super) fn write(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(PROTO, PROTOCOL);
        headers.insert(CALL, format!("{:032x}", self.key.call));
        headers.insert(ATTEMPT, self.key.attempt.to_string());
        headers.insert(WINDOW, self.window.to_string());
        if let Body::Later { total } = self.body {
            headers.insert(BODY, "later");
            headers.insert(TOTAL, total.to_string());
        }
        headers
    }

    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        let call = u128::from_str_radix(headers.get(CALL)?.as_str(), 16).ok()?;
        let attempt = number(headers, ATTEMPT)?;
        let body = match headers.get(BODY) {
            Some(_) => Body::Later {
                total: number(headers, TOTAL)?,
            },
            None => Body::Here,
        };
        Some(Self {
            key: Key { call, attempt },
            window: number(headers, WINDOW)?,
            body,
        })
    }
}

/// What a message of a running call says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// The instance has the request.
    Accept,
    /// One frame, or several.
    Data(Data),
    /// A piece of a frame.
    Part(Part),
    /// No frame follows `units`.
    End { units: u64 },
    /// The instance does not handle the request.
    Refuse { reason: String },
    /// The other end may have sent this many units.
    Credit { limit: u64 },
    /// The other end is gone.
    Cancel,
}

/// Frames in one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Data {
    /// How many units came before.
    pub(super) first: u64,
    /// How many frames there are, each after its length; `None` for one that is the whole payload.
    pub(super) frames: Option<u64>,
    pub(super) ends: bool,
}

/// A piece of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// How many units came before.
    pub(super) first: u64,
    pub(super) index: u64,
    pub(super) count: u64,
    /// The length of the whole frame; only the first piece says it.
    pub(super) total: Option<usize>,
    /// The checksum of the whole frame; only the last piece says it.
    pub(super) digest: Option<String>,
    pub(super) ends: bool,
}

/// The headers of a message of a running call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Envelope {
    pub(super) kind: Kind,
    /// The control subject of the instance, in its first message.
    pub(super) control: Option<String>,
}

impl Envelope {
    pub(super) fn write(&self) -> HeaderMap {
        let mut headers = self.kind.write();
        if let Some(control) = &self.control {
            headers.insert(CONTROL, control.as_str());
        }
        headers
    }

    /// Reads the headers; `None` for a message of a later version.
    pub(super) fn read(headers: &HeaderMap) -> Option<Self> {
        Some(Self {
            kind: Kind::read(headers)?,
            control: headers.get(CONTROL).map(|value| value.as_str().to_owned()),
        })
    }
}

impl Kind {
    pub(super) fn write(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(KIND, self.name());
        match self {
            Self::Accept | Self::Cancel => {}
            Self::Data(data) => {
                headers.insert(SEQ, data.first.to_string());
                if let Some(frames) = data.frames {
                    headers.insert(FRAMES, frames.to_string());
                }
                if data.ends {
                    headers.insert(END, "1");
                }
            }
            Self::Part(part) => {
                headers.insert(SEQ, part.first.to_string());
                headers.insert(PART, format!("{}/{}", part.index, part.count));
                if let Some(total) = part.total {
                    headers.insert(TOTAL, total.to_string());
                }
                if let Some(digest) = &part.digest {
                    headers.insert(DIGEST, digest.as_str());
                }
                if part.ends {
                    headers.insert(END, "1");
                }
            }
            Self::End { units: number } | Self::Credit { limit: number } => {
                headers.insert(SEQ, number.to_string());
            }
            Self::Refuse { reason } => headers.insert(REASON, reason.as_str()),
        }
        headers
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Data(_) => "data",
            Self::Part(_) => "part",
            Self::End { .. } => "end",
            Self::Refuse { .. } => "refuse",
            Self::Credit { .. } => "credit",
            Self::Cancel => "cancel",
        }
    }

    fn read(headers: &HeaderMap) -> Option<Self> {
        let ends = || headers.get(END).is_some();
        Some(match headers.get(KIND)?.as_str() {
            "accept" => Self::Accept,
            "data" => Self::Data(Data {
                first: number(headers, SEQ)?,
                frames: number(headers, FRAMES),
                ends: ends(),
            }),
            "part" => {
                let (index, count) = headers.get(PART)?.as_str().split_once('/')?;
                Self::Part(Part {
                    first: number(headers, SEQ)?,
                    index: index.parse().ok()?,
                    count: count.parse().ok()?,
                    total: number(headers, TOTAL),
                    digest: headers.get(DIGEST).map(|digest| digest.as_str().to_owned()),
                    ends: ends(),
                })
            }
            "end" => Self::End {
                units: number(headers, SEQ)?,
            },
            "refuse" => Self::Refuse {
                reason: headers.get(REASON)?.as_str().to_owned(),
            },
            "credit" => Self::Credit {
                limit: number(headers, SEQ)?,
            },
            "cancel" => Self::Cancel,
            _ => return None,
        })
    }
}

fn number<T: FromStr>(headers: &HeaderMap, name: HeaderName) -> Option<T> {
    headers.get(name)?.as_str().parse().ok()
}

/// One line of a sign of life, which one process sends another for all of their calls at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sign {
    pub(super) key: Key,
    /// How many units were sent.
    pub(super) sent: u64,
    /// How many units the other end may have sent.
    pub(super) granted: u64,
}

impl fmt::Display for Sign {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} {} {}", self.key, self.sent, self.granted)
    }
}

impl Sign {
    /// Reads a line; what follows the numbers belongs to a later version.
    pub(super) fn read(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        Some(Self {
            key: words.next()?.parse().ok()?,
            sent: words.next()?.parse().ok()?,
            granted: words.next()?.parse().ok()?,
        })
    }
}
