//! The findings of an examination.

/// How severe a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Ok,
    /// It works, but probably not as its author intended.
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

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub verdict: Verdict,
    /// What was checked, such as `tool weather`.
    pub check: String,
    /// What was found.
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
