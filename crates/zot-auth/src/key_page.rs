//! The page for pasting a key: at an address that cannot be guessed, and closed after use.

mod html;

use std::io;
use std::time::Duration;

use tokio::time::timeout;

use crate::loopback::{self, LoopbackReply, LoopbackServer};

pub(crate) use html::page;

/// How long the page waits for a key.
///
/// Limit: the page closes.
const KEY_PAGE_TIME_LIMIT: Duration = Duration::from_secs(600);

/// How many keys may be tried: people copy the wrong thing, programs guess.
///
/// Limit: the page closes.
pub const MAX_KEY_ATTEMPTS: u32 = 10;

/// Why no key was entered.
#[derive(Debug, thiserror::Error)]
pub enum KeyPageError {
    #[error("cannot listen on 127.0.0.1: {0}")]
    Listening(#[from] io::Error),
    #[error("no key was given within {} minutes: run `zot login` again", KEY_PAGE_TIME_LIMIT.as_secs() / 60)]
    TooLate,
    #[error(
        "{MAX_KEY_ATTEMPTS} keys were refused: run `zot login` again when you have the right one"
    )]
    TooManyAttempts,
}

/// The page, waiting at [`KeyPage::url`].
pub struct KeyPage {
    server: LoopbackServer,
    path: String,
    /// The providers to choose from.
    providers: Vec<String>,
}

impl KeyPage {
    /// Opens the page; with one provider there is nothing to choose. Must be called within a tokio
    /// runtime.
    pub fn open(providers: Vec<String>) -> Result<Self, KeyPageError> {
        let server = LoopbackServer::bind(0)?;
        let path = format!("/{}", loopback::random_token()?);
        Ok(Self {
            server,
            path,
            providers,
        })
    }

    /// Returns the address of the page. Anyone who knows it can enter a key.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}{}", self.server.port(), self.path)
    }

    /// Waits until `take` accepts a key of a provider; the text it returns is shown in either case.
    pub async fn wait(
        mut self,
        take: impl AsyncFn(&str, &str) -> Result<String, String>,
    ) -> Result<(), KeyPageError> {
        let outcome = timeout(KEY_PAGE_TIME_LIMIT, self.serve(take)).await;
        self.server.close().await;
        outcome.unwrap_or(Err(KeyPageError::TooLate))
    }

    async fn serve(
        &mut self,
        take: impl AsyncFn(&str, &str) -> Result<String, String>,
    ) -> Result<(), KeyPageError> {
        let mut attempts = 0;
        loop {
            let request = self.server.next().await?;
            if !loopback::same_secret(&request.path, &self.path) {
                request.answer(LoopbackReply::not_found());
                continue;
            }
            if request.method != "POST" {
                let form = html::form(&self.path, &self.providers, None);
                request.answer(LoopbackReply::page(form));
                continue;
            }
            let wanted = request.field("provider");
            let provider = match self.providers.as_slice() {
                [only] => Some(only),
                several => several.iter().find(|name| *name == wanted),
            };
            let key = request.field("key").trim().to_owned();
            let outcome = match provider {
                None => Err("Choose a provider.".to_owned()),
                Some(_) if key.is_empty() => Err("Paste the key first.".to_owned()),
                Some(provider) => {
                    attempts += 1;
                    take(provider, &key).await
                }
            };
            match outcome {
                Ok(text) => {
                    request.answer(LoopbackReply::page(page("zot login", &text)));
                    return Ok(());
                }
                Err(problem) if attempts >= MAX_KEY_ATTEMPTS => {
                    request.answer(LoopbackReply::page(page("zot login", &problem)));
                    return Err(KeyPageError::TooManyAttempts);
                }
                Err(problem) => {
                    let form = html::form(&self.path, &self.providers, Some(&problem));
                    request.answer(LoopbackReply::page(form));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
