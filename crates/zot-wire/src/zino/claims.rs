//! Claims on the running of code: the holder of a claim runs the code, and nobody else ever does.
//!
//! `mem` serves them, together with its own requests and, on the bus, under a name of their own, so that
//! `exc` needs no right to read memories.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::executor::ExecutionResult;
use super::memory::required_name;
use super::response::{failure_variant, write_fields};
use super::{Failure, Frame, RequestError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Asks to be the one that runs the code of a call.
    Take { call: String, owner: String },
    /// Says that the code is still running.
    Renew { call: String, owner: String },
    /// Stores the result; without one, the code was interrupted.
    Finish {
        call: String,
        owner: String,
        result: Option<ExecutionResult>,
    },
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The asker has to run the code now.
    Taken,
    /// Another one is running it.
    Running,
    Finished(ExecutionResult),
    /// Its runner is gone: what it did is unknown.
    Interrupted,
    /// The store has no claims: whether anyone has run the code before is unknown.
    Unshared,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    Claim(Claim),
    Done,
    Error(Failure),
    Other(Value),
}

impl Request {
    /// Whether a request of this name is one of these.
    pub fn is_named(name: &str) -> bool {
        ["claim", "renew_claim", "finish_claim"].contains(&name)
    }

    pub fn call(&self) -> &str {
        let (Self::Take { call, .. } | Self::Renew { call, .. } | Self::Finish { call, .. }) = self;
        call
    }

    pub fn owner(&self) -> &str {
        let (Self::Take { owner, .. } | Self::Renew { owner, .. } | Self::Finish { owner, .. }) =
            self;
        owner
    }
}

impl super::Request for Request {
    type Response = Response;

    const SERVICE: &'static str = "mem";

    fn read(mut frame: Frame) -> Result<Self, RequestError> {
        let name = frame.type_name().filter(|name| Self::is_named(name));
        let Some(name) = name.map(str::to_owned) else {
            return Err(frame.unknown_type());
        };
        let call = required_name(&frame, "call")?;
        let owner = required_name(&frame, "owner")?;
        Ok(match name.as_str() {
            "claim" => Self::Take { call, owner },
            "renew_claim" => Self::Renew { call, owner },
            _ => Self::Finish {
                call,
                owner,
                result: frame.take("result").and_then(ExecutionResult::read),
            },
        })
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Take { .. } => "claim",
            Self::Renew { .. } => "renew_claim",
            Self::Finish { .. } => "finish_claim",
        }
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = super::Request::type_name(self);
        match self {
            Self::Finish {
                call,
                owner,
                result: Some(result),
            } => write_fields!(
                serializer, "call": call, "owner": owner, "result": result, "type": name,
            ),
            Self::Take { call, owner }
            | Self::Renew { call, owner }
            | Self::Finish { call, owner, .. } => {
                write_fields!(serializer, "call": call, "owner": owner, "type": name)
            }
        }
    }
}

impl Claim {
    /// Decodes a claim of a response; `None` for one of a later version.
    pub(super) fn read(frame: &mut Frame) -> Option<Self> {
        match frame.text("state")? {
            "taken" => Some(Self::Taken),
            "running" => Some(Self::Running),
            "finished" => ExecutionResult::read(frame.take("result")?).map(Self::Finished),
            "interrupted" => Some(Self::Interrupted),
            "unshared" => Some(Self::Unshared),
            _ => None,
        }
    }

    fn state(&self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Running => "running",
            Self::Finished(_) => "finished",
            Self::Interrupted => "interrupted",
            Self::Unshared => "unshared",
        }
    }
}

impl Serialize for Claim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let state = self.state();
        match self {
            Self::Finished(result) => write_fields!(
                serializer, "result": result, "state": state, "type": "claim",
            ),
            _ => write_fields!(serializer, "state": state, "type": "claim"),
        }
    }
}

impl super::Response for Response {
    fn read(mut frame: Frame) -> Self {
        match frame.type_name() {
            Some("ok") => Self::Done,
            Some("claim") => match Claim::read(&mut frame) {
                Some(claim) => Self::Claim(claim),
                None => Self::Other(frame.into()),
            },
            Some("error") => Self::Error(Failure::read(frame)),
            _ => Self::Other(frame.into()),
        }
    }

    failure_variant!();
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Claim(claim) => claim.serialize(serializer),
            Self::Done => write_fields!(serializer, "type": "ok"),
            Self::Error(failure) => failure.serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}
