//! Secrets in memory.

use std::fmt;
use std::ops::Deref;

use zeroize::Zeroize as _;

/// A text that is kept out of swap if the system allows it, and overwritten when dropped.
#[derive(PartialEq, Eq)]
pub struct Secret(Box<str>);

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        let text: Box<str> = text.into();
        #[cfg(target_os = "linux")]
        crate::raw::lock_in_memory(text.as_bytes());
        Self(text)
    }
}

impl Clone for Secret {
    fn clone(&self) -> Self {
        Self::from(&*self.0)
    }
}

/// Overwrites the original text.
impl From<String> for Secret {
    fn from(mut text: String) -> Self {
        let secret = Self::from(text.as_str());
        text.zeroize();
        secret
    }
}

impl Deref for Secret {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests;
