//! Logging in at a provider: authorisation code with PKCE, device code, and renewal.
//!
//! No client id is built in: users describe the providers.

mod client;
mod code;
mod device;
pub mod form;
mod keeper;
mod pkce;
mod tokens;

pub use client::{OAuthClient, OAuthError, TokenAnswer, TokenTransport};
pub use code::CodeLogin;
pub use device::DeviceLogin;
pub use keeper::TokenKeeper;
pub use pkce::Pkce;
pub use tokens::Tokens;
