//! `exc`: runs code.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::lenient::Plain;
use super::memory::{CALL_NAME, call};
use super::response::{failure_variant, write_fields};
use super::{Failure, Frame, RequestError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Execute(Code),
    /// Ours: asks again for the result of an execution with a name, whose answer was lost. The code runs
    /// only if it certainly has not.
    Outcome(Code),
    /// Checks the code with the executor's validator, without running it.
    Validate(Code),
    Capabilities,
}

/// Code for one executor; missing fields are empty, as in the original.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Code {
    pub executor: String,
    pub code: String,
    /// Ours: names the run, so that the code runs once.
    pub call: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    Result(ExecutionResult),
    Validation {
        /// The output of the validator; empty if the code is valid.
        errors: String,
        ok: bool,
    },
    Capabilities {
        executors: BTreeMap<String, ExecutorEntry>,
        timeout: Seconds,
    },
    Error(Failure),
    Other(Value),
}

/// The result of running code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutionResult {
    pub exit_code: i64,
    pub stdout: String,
    pub stderr: String,
}

/// An executor as it is listed; its fields are written in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExecutorEntry {
    pub command: String,
    pub file_extension: String,
    pub has_validator: bool,
    pub static_analysis: Option<String>,
}

/// A time, written without a fraction if it is a whole number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds(pub f64);

impl Code {
    /// Decodes the fields. A number counts as a name, which no executor has.
    fn read(frame: &mut Frame) -> Result<Self, RequestError> {
        let executor = match frame.field("executor") {
            None => Some(String::new()),
            Some(value) => Plain::from(value).shown(),
        };
        let code = match frame.take("code") {
            None => Some(String::new()),
            Some(Value::String(code)) => Some(code),
            Some(_) => None,
        };
        Ok(Self {
            executor: executor.ok_or(RequestError::wrong("executor", "a string"))?,
            code: code.ok_or(RequestError::wrong("code", "a string"))?,
            call: call(frame)?,
        })
    }
}

impl ExecutionResult {
    /// The result of code whose executor is gone.
    pub fn interrupted() -> Self {
        Self {
            exit_code: -1,
            stdout: String::new(),
            stderr: "interrupted, outcome unknown".to_owned(),
        }
    }

    /// Decodes a stored result; `None` if it is not an object.
    pub fn read(mut value: Value) -> Option<Self> {
        let fields = value.as_object_mut()?;
        let mut text = |field| match fields.get_mut(field).map(Value::take) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let (stdout, stderr) = (text("stdout"), text("stderr"));
        let exit_code = fields.get("exit_code").and_then(Value::as_i64);
        Some(Self {
            exit_code: exit_code.unwrap_or(0),
            stdout,
            stderr,
        })
    }
}

impl Serialize for ExecutionResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_fields!(
            serializer,
            "exit_code": &self.exit_code, "stderr": &self.stderr, "stdout": &self.stdout,
        )
    }
}

impl super::Request for Request {
    type Response = Response;

    const SERVICE: &'static str = "exc";

    fn read(mut frame: Frame) -> Result<Self, RequestError> {
        match frame.type_name() {
            Some("execute") => Code::read(&mut frame).map(Self::Execute),
            Some("outcome") => match Code::read(&mut frame)? {
                code if code.call.is_some() => Ok(Self::Outcome(code)),
                _ => Err(RequestError::wrong("call", CALL_NAME)),
            },
            Some("validate") => Code::read(&mut frame).map(Self::Validate),
            Some("capabilities") => Ok(Self::Capabilities),
            _ => Err(frame.unknown_type()),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Execute(_) => "execute",
            Self::Outcome(_) => "outcome",
            Self::Validate(_) => "validate",
            Self::Capabilities => "capabilities",
        }
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = super::Request::type_name(self);
        match self {
            Self::Execute(Code {
                executor,
                code,
                call: None,
            })
            | Self::Validate(Code { executor, code, .. }) => {
                write_fields!(serializer, "code": code, "executor": executor, "type": name)
            }
            Self::Execute(Code {
                executor,
                code,
                call,
            })
            | Self::Outcome(Code {
                executor,
                code,
                call,
            }) => write_fields!(
                serializer, "call": call, "code": code, "executor": executor, "type": name,
            ),
            Self::Capabilities => write_fields!(serializer, "type": name),
        }
    }
}

impl super::Response for Response {
    /// Decodes results and errors, the responses that other services need.
    fn read(mut frame: Frame) -> Self {
        match frame.type_name() {
            Some("result") => Self::Result(ExecutionResult {
                exit_code: frame
                    .field("exit_code")
                    .and_then(Value::as_i64)
                    .unwrap_or(0),
                stdout: frame.take_text("stdout").unwrap_or_default(),
                stderr: frame.take_text("stderr").unwrap_or_default(),
            }),
            Some("error") => Self::Error(Failure::read(frame)),
            _ => Self::Other(frame.into()),
        }
    }

    failure_variant!();
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Result(result) => write_fields!(
                serializer,
                "exit_code": &result.exit_code,
                "stderr": &result.stderr,
                "stdout": &result.stdout,
                "type": "result",
            ),
            Self::Validation { errors, ok } => {
                write_fields!(serializer, "errors": errors, "ok": ok, "type": "validation")
            }
            Self::Capabilities { executors, timeout } => write_fields!(
                serializer, "executors": executors, "timeout": timeout, "type": "capabilities",
            ),
            Self::Error(failure) => failure.serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "only where it is the same number"
        )]
        let whole = self.0 as i64;
        #[expect(clippy::cast_precision_loss, reason = "a comparison decides")]
        match whole as f64 == self.0 {
            true => serializer.serialize_i64(whole),
            false => serializer.serialize_f64(self.0),
        }
    }
}
