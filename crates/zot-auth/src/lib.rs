//! Finds the credential of a model provider, and the folder zot keeps its files in.
//!
//! A credential comes from the command line, from the environment or from `auth.json`, in this
//! order. This crate only reads; no error, `Debug` or `Display` of it ever contains a secret.

mod auth_file;
mod credential;
mod home;

pub use credential::{Credential, CredentialError, CredentialRequest, CredentialSource, find};
pub use home::zot_home;
