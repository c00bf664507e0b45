//! Logging in at a provider: authorisation code with PKCE, device code, and renewal.
//!
//! No client id is built in: users describe the providers.

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
