//! What an examination found.

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Ok,
    /// It works, but not as its author wants it to, probably.
    Warn,
    Fail,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "FAIL",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub verdict: Verdict,
    /// What was looked at, such as `tool weather`.
    pub check: String,
    /// What was seen.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Finding {
    pub(crate) fn ok(check: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Ok,
            check: check.into(),
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn warn(
        check: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Warn,
            hint: Some(hint.into()),
            ..Self::ok(check, message)
        }
    }

    pub(crate) fn fail(
        check: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            verdict: Verdict::Fail,
            hint: Some(hint.into()),
            ..Self::ok(check, message)
        }
    }
}
