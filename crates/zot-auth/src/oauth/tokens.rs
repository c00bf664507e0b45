//! The tokens of a login.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::{Value, json};
use zot_process::Secret;

/// An access token and its refresh token.
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    access: Secret,
    refresh: Option<Secret>,
    expires: Option<SystemTime>,
}

impl fmt::Debug for Tokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Tokens")
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Answer {
    access_token: String,
    refresh_token: Option<String>,
    /// Seconds; some servers send a fraction, or a text.
    expires_in: Option<Value>,
}

impl Tokens {
    pub fn new(access: &str, refresh: Option<&str>, expires: Option<SystemTime>) -> Self {
        Self {
            access: access.into(),
            refresh: refresh.map(Secret::from),
            expires,
        }
    }

    /// Returns the secret to send with requests.
    pub fn access(&self) -> &str {
        &self.access
    }

    pub fn expires(&self) -> Option<SystemTime> {
        self.expires
    }

    pub(super) fn refresh(&self) -> Option<&str> {
        self.refresh.as_deref()
    }

    /// Returns whether it is still valid after `margin`.
    pub(super) fn lasts(&self, margin: Duration) -> bool {
        self.expires
            .is_none_or(|expires| expires > SystemTime::now() + margin)
    }

    /// Keeps the refresh token of `before` if the renewal brought no new one.
    pub(super) fn or_refresh_of(mut self, before: &Self) -> Self {
        self.refresh = self.refresh.or_else(|| before.refresh.clone());
        self
    }

    pub(super) fn of_answer(body: &[u8]) -> Option<Self> {
        let answer: Answer = serde_json::from_slice(body).ok()?;
        if answer.access_token.is_empty() {
            return None;
        }
        let seconds = answer.expires_in.and_then(|seconds| match seconds {
            Value::String(text) => text.parse().ok(),
            number => number.as_f64(),
        });
        let expires = seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .and_then(|duration| SystemTime::now().checked_add(duration));
        Some(Self {
            access: answer.access_token.into(),
            refresh: answer
                .refresh_token
                .filter(|token| !token.is_empty())
                .map(Secret::from),
            expires,
        })
    }

    /// Reads an entry of `auth.json`, in our own or the original's form.
    pub(crate) fn of_entry(entry: &Value) -> Option<Self> {
        if let Some(login) = entry.get("oauth") {
            return Self::of_original(login);
        }
        if entry.get("type")?.as_str()? != "oauth" {
            return None;
        }
        let text = |name: &str| entry.get(name)?.as_str().map(Secret::from);
        let expires = entry.get("expires_at").and_then(Value::as_u64);
        Some(Self {
            access: text("access_token")?,
            refresh: text("refresh_token"),
            expires: expires.and_then(|at| UNIX_EPOCH.checked_add(Duration::from_secs(at))),
        })
    }

    /// Reads the original's tokens. They expire at a time in RFC 3339; the zero time means never.
    fn of_original(login: &Value) -> Option<Self> {
        let text = |name: &str| login.get(name)?.as_str().filter(|text| !text.is_empty());
        let expires = text("expiry").and_then(|time| time.parse::<jiff::Timestamp>().ok());
        Some(Self {
            access: text("access_token")?.into(),
            refresh: text("refresh_token").map(Secret::from),
            expires: expires
                .filter(|time| time.as_second() > 0)
                .map(SystemTime::from),
        })
    }

    /// Returns the entry that replaces `before`, in the same form: the original may keep using the
    /// file, and a refresh token works only once.
    pub(crate) fn to_entry(&self, before: Option<&Value>) -> Value {
        let Some(Value::Object(login)) = before.and_then(|before| before.get("oauth")) else {
            return self.to_own_entry();
        };
        let mut login = login.clone();
        login.insert("access_token".to_owned(), json!(&*self.access));
        match &self.refresh {
            Some(refresh) => login.insert("refresh_token".to_owned(), json!(&**refresh)),
            None => login.remove("refresh_token"),
        };
        let expires = self
            .expires
            .and_then(|time| jiff::Timestamp::try_from(time).ok());
        match expires {
            Some(time) => login.insert("expiry".to_owned(), json!(time.to_string())),
            None => login.remove("expiry"),
        };
        json!({"oauth": login})
    }

    fn to_own_entry(&self) -> Value {
        let mut entry = json!({"type": "oauth", "access_token": &*self.access});
        if let Some(refresh) = &self.refresh {
            entry["refresh_token"] = json!(&**refresh);
        }
        let since = self
            .expires
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        if let Some(since) = since {
            entry["expires_at"] = json!(since.as_secs());
        }
        entry
    }
}

#[cfg(test)]
mod tests;
