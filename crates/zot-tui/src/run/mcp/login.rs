//! A login at an MCP server, in a browser.

use std::pin::Pin;
use std::sync::Arc;

use tokio::process::Child;
use tokio::sync::mpsc;
use zot_sdk::login::open_in_browser;

use super::Chat;
use crate::app::{Input, LoginInput};
use crate::typed_secret::TypedSecret;

/// An open login. Dropping it cancels it.
pub(in crate::run) struct ServerLogin {
    server: String,
    outcome: Pin<Box<dyn Future<Output = Result<(), String>>>>,
    /// The page to open.
    pages: mpsc::Receiver<String>,
    /// Addresses that the user pasted.
    pasted: mpsc::Sender<TypedSecret>,
    /// Why an address was not accepted.
    refusals: mpsc::Receiver<String>,
    browser: Option<Child>,
}

/// What happened to a login.
pub(in crate::run) enum LoginProgress {
    PageKnown(String),
    Refused(String),
    Ended(Result<(), String>),
}

impl Chat {
    pub(super) fn begin_server_login(&mut self, server: String) -> Input {
        // One page, and one address at a time.
        let (page, pages) = mpsc::channel(1);
        let (pasted, mut addresses) = mpsc::channel::<TypedSecret>(1);
        let (refusal, refusals) = mpsc::channel(1);
        let runtime = Arc::clone(&self.runtime);
        let name = server.clone();
        let outcome = async move {
            let begun = runtime.begin_mcp_login(&name).await;
            let mut login = begun.map_err(|error| error.to_string())?;
            // The chat has ended if a receiver is gone.
            let _ = page.try_send(login.url().to_owned());
            let redirect = loop {
                let address = tokio::select! {
                    redirect = login.redirect() => match redirect {
                        Ok(redirect) => break redirect,
                        // Without a port to listen on, the address has to be pasted.
                        Err(_) => addresses.recv().await,
                    },
                    address = addresses.recv() => address,
                };
                let Some(address) = address else {
                    return Err("cancelled".to_owned());
                };
                match login.read_redirect(address.reveal()) {
                    Ok(redirect) => break redirect,
                    Err(error) => {
                        let _ = refusal.try_send(error.to_string());
                    }
                }
            };
            login
                .finish(redirect)
                .await
                .map_err(|error| error.to_string())
        };
        self.tasks.server_login = Some(ServerLogin {
            server: server.clone(),
            outcome: Box::pin(outcome),
            pages,
            pasted,
            refusals,
            browser: None,
        });
        Input::Login(LoginInput::StepShown {
            provider: server,
            step: "asking the server where to sign in".to_owned(),
        })
    }

    pub(super) fn forget_server_login(&self, server: &str) -> Input {
        match self.runtime.forget_mcp_login(server) {
            Ok(true) => {
                self.restart_server(server);
                Input::note(format!("forgot the login at {server}"))
            }
            Ok(false) => Input::note(format!("there is no login at {server}")),
            Err(error) => Input::failure(error),
        }
    }

    pub(in crate::run) fn end_server_login(&mut self, progress: LoginProgress) -> Vec<Input> {
        let Some(login) = &mut self.tasks.server_login else {
            return Vec::new();
        };
        let server = login.server.clone();
        match progress {
            LoginProgress::PageKnown(page) => {
                login.browser = open_in_browser(&page);
                vec![Input::Login(LoginInput::PageShown { server, page })]
            }
            LoginProgress::Refused(reason) => vec![Input::failure(reason)],
            LoginProgress::Ended(Ok(())) => {
                self.tasks.server_login = None;
                let restarted = self.restart_server(&server);
                vec![
                    Input::Login(LoginInput::Closed),
                    Input::note(format!("signed in to {server}")),
                    restarted,
                ]
            }
            LoginProgress::Ended(Err(reason)) => {
                self.tasks.server_login = None;
                vec![Input::Login(LoginInput::Failed(format!(
                    "{server}: {reason}"
                )))]
            }
        }
    }
}

impl ServerLogin {
    /// Passes an address on. One that arrives while another is being checked is dropped.
    pub(super) fn paste(&self, address: TypedSecret) {
        let _ = self.pasted.try_send(address);
    }
}

/// Waits for the open login. Cancel-safe: its future stays in `login`.
pub(in crate::run) async fn next_server_login(login: &mut Option<ServerLogin>) -> LoginProgress {
    let Some(login) = login else {
        return std::future::pending().await;
    };
    tokio::select! {
        biased;
        Some(page) = login.pages.recv() => LoginProgress::PageKnown(page),
        Some(reason) = login.refusals.recv() => LoginProgress::Refused(reason),
        outcome = &mut login.outcome => LoginProgress::Ended(outcome),
    }
}
