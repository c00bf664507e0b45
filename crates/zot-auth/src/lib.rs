//! Finds, asks for and stores the credentials of model providers, and knows the directory of zot's
//! files.
//!
//! A credential comes from the command line, from the environment or from `auth.json`, in this
//! order. No error, `Debug` or `Display` ever contains a secret. Requests to providers go through
//! [`TokenTransport`]: this crate opens no connections, it only listens on 127.0.0.1.

mod auth_file;
mod credential;
mod entries;
mod home;
mod key_page;
mod loopback;
mod mask;
mod oauth;
mod store;

pub use auth_file::read_private;
pub use credential::{
    Credential, CredentialError, CredentialRequest, CredentialSource, Logins, find,
};
pub use home::zot_home;
pub use key_page::{KeyPage, KeyPageError, MAX_KEY_ATTEMPTS};
pub use loopback::{LoopbackReply, LoopbackRequest, LoopbackServer, random_token, same_secret};
pub use mask::masked;
pub use oauth::{
    CodeLogin, DeviceLogin, OAuthClient, OAuthError, Pkce, TokenAnswer, TokenKeeper,
    TokenTransport, Tokens, form,
};
pub use store::{AuthFile, StoredCredential};
