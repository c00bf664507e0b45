//! The shared secret that a client may have to send first.

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// A secret that is compared in constant time, whatever the lengths.
pub(crate) struct Token([u8; 32]);

impl Token {
    pub(crate) fn new(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    pub(crate) fn matches(&self, candidate: &str) -> bool {
        let candidate: [u8; 32] = Sha256::digest(candidate.as_bytes()).into();
        self.0.ct_eq(&candidate).into()
    }
}
