//! Logging in at a provider: authorisation code with PKCE, device code, and renewal.
//!
//! Nobody's client id is built in: providers are described by their users.

mod client;
mod code;
mod device;
mod form;
mod keeper;
mod tokens;

pub use client::{OAuthClient, OAuthError, TokenAnswer, TokenTransport};
pub use code::CodeLogin;
pub use device::DeviceLogin;
pub use keeper::TokenKeeper;
pub use tokens::Tokens;

pub(crate) use form::decoded;
