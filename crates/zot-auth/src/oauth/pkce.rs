//! Proof that a code is redeemed by the client that asked for it (RFC 7636, method S256).

use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use zot_process::Secret;

use crate::loopback::random_token;

/// A secret for one login, and its digest.
pub struct Pkce {
    verifier: Secret,
    challenge: String,
}

impl Pkce {
    pub fn new() -> io::Result<Self> {
        let verifier = random_token()?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
        Ok(Self {
            verifier: verifier.into(),
            challenge,
        })
    }

    /// Returns what redeems the code.
    pub fn verifier(&self) -> &str {
        &self.verifier
    }

    /// Returns what goes into the browser's address.
    pub fn challenge(&self) -> &str {
        &self.challenge
    }
}
