//! What an interceptor decides.

use std::fmt::Display;

use serde_json::Value;
use zot_wire::RawJson;
use zot_wire::extension::InterceptResponse;

use crate::handler::failed;

/// What happens to an intercepted event.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Verdict {
    Allow,
    /// It does not happen; the model or the user reads the reason.
    Block {
        reason: String,
    },
    /// A tool is called with these arguments instead. Only for tool calls.
    Modify {
        args: Value,
    },
    /// A message gets another text. Only for assistant messages.
    Replace {
        text: String,
    },
}

impl Verdict {
    pub fn allow() -> Self {
        Self::Allow
    }

    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block {
            reason: reason.into(),
        }
    }

    /// `args` must be an object that fits the tool; zot ignores anything else.
    pub fn modify(args: impl Into<Value>) -> Self {
        Self::Modify { args: args.into() }
    }

    /// `text` must not be empty; zot treats that as no replacement.
    pub fn replace(text: impl Into<String>) -> Self {
        Self::Replace { text: text.into() }
    }

    pub(crate) fn into_wire(self, id: String) -> InterceptResponse {
        let mut response = InterceptResponse {
            id,
            ..InterceptResponse::default()
        };
        match self {
            Self::Allow => {}
            Self::Block { reason } => {
                response.block = true;
                response.reason = reason;
            }
            // A value is always valid JSON.
            Self::Modify { args } => {
                response.modified_args = RawJson::try_from(args.to_string()).ok()
            }
            Self::Replace { text } => response.replace_text = Some(text),
        }
        response
    }

    pub(crate) fn from_wire(response: InterceptResponse) -> Self {
        let args = response
            .modified_args
            .and_then(|args| serde_json::from_str(args.get()).ok());
        match (response.block, args, response.replace_text) {
            (true, ..) => Self::Block {
                reason: response.reason,
            },
            (false, Some(args), _) => Self::Modify { args },
            (false, None, Some(text)) => Self::Replace { text },
            (false, None, None) => Self::Allow,
        }
    }
}

/// What an interceptor may return: a [`Verdict`], or a `Result` of one. An `Err` counts as a
/// failure of the interceptor.
pub trait IntoVerdict {
    fn into_verdict(self) -> Result<Verdict, String>;
}

impl IntoVerdict for Verdict {
    fn into_verdict(self) -> Result<Verdict, String> {
        Ok(self)
    }
}

impl<E: Display> IntoVerdict for Result<Verdict, E> {
    fn into_verdict(self) -> Result<Verdict, String> {
        self.map_err(failed)
    }
}
