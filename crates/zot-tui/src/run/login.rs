//! `/login` and `/logout`: a key typed into the chat, or a login in a browser.

use std::pin::Pin;
use std::rc::Rc;

use tokio::process::Child;
use tokio::sync::mpsc;
use zot_sdk::credentials::{Credentials, KeyProbe, StoredKey};
use zot_sdk::login::{self, LoginPlan, LoginStep, OAuthLogin};
use zot_sdk::login::{KeyPage, KeyPageError};

use super::{Chat, listings};
use crate::app::{Input, LoginEffect, LoginInput, LoginRequest};
use crate::typed_secret::TypedSecret;

type Pending<T> = Pin<Box<dyn Future<Output = T>>>;

/// An open login. Dropping it closes the page and cancels the login.
pub(super) struct Login {
    credentials: Rc<Credentials>,
    provider: String,
    probe: KeyProbe,
    /// The provider of this conversation if the login is for another one.
    other_provider: Option<String>,
    /// Resolves to the key that was stored on the page.
    page: Option<Pending<Result<StoredKey, KeyPageError>>>,
    /// Resolves to the outcome of a key that was typed here.
    check: Option<Pending<Result<String, String>>>,
    /// A login in a browser.
    browser_login: Option<BrowserLogin>,
}

struct BrowserLogin {
    outcome: Pending<Result<String, String>>,
    /// What the user has to do, and the page for it.
    steps: mpsc::Receiver<(String, String)>,
    opens_browser: bool,
    /// What opened the page. It may be the browser itself, which must outlive the login.
    browser: Option<Child>,
}

impl Chat {
    pub(super) fn perform_for_login(&mut self, effect: LoginEffect) -> Vec<Input> {
        match effect {
            LoginEffect::ListProviders(action) => match listings::providers(action) {
                Ok(providers) => vec![providers],
                Err(problem) => vec![Input::failure(problem)],
            },
            LoginEffect::LogIn(request) => vec![self.log_in(request)],
            LoginEffect::LogOut { provider } => log_out(provider.as_deref()),
            LoginEffect::CheckKey(key) => {
                self.check_key(key);
                Vec::new()
            }
            LoginEffect::Cancel => {
                self.tasks.login = None;
                self.tasks.server_login = None;
                Vec::new()
            }
        }
    }

    fn log_in(&mut self, request: LoginRequest) -> Input {
        let opened = open_credentials(&request.provider).and_then(|credentials| {
            let provider = credentials.canonical(&request.provider).to_owned();
            let plan = login::plan(&credentials, &provider, request.preference)
                .map_err(|error| error.to_string())?;
            Ok((Rc::new(credentials), provider, plan))
        });
        let (credentials, provider, plan) = match opened {
            Ok(opened) => opened,
            Err(problem) => return Input::failure(problem),
        };
        let current = self.runtime.provider();
        let mut login = Login {
            credentials,
            provider: provider.clone(),
            probe: request.probe,
            other_provider: (current != provider).then(|| current.to_owned()),
            page: None,
            check: None,
            browser_login: None,
        };
        let input = match plan {
            LoginPlan::Key { .. } => LoginInput::KeyRequested {
                page: login.serve_page(),
                provider,
            },
            LoginPlan::OAuth(oauth) => {
                login.begin_browser_login(*oauth, request.opens_browser);
                LoginInput::StepShown {
                    provider,
                    step: "contacting the provider".to_owned(),
                }
            }
        };
        self.tasks.login = Some(login);
        Input::Login(input)
    }

    /// Checks a typed key and stores it.
    fn check_key(&mut self, key: TypedSecret) {
        if let Some(login) = &mut self.tasks.login {
            let credentials = Rc::clone(&login.credentials);
            let (provider, probe) = (login.provider.clone(), login.probe);
            login.check = Some(Box::pin(async move {
                let stored = credentials.keep_checked(&provider, key.reveal(), probe);
                match stored.await {
                    Ok(stored) => Ok(stored.to_string()),
                    Err(error) => Err(error.to_string()),
                }
            }));
        }
    }
}

impl Login {
    /// Serves a page that also accepts the key, and returns its address. Without it the key can
    /// still be typed.
    fn serve_page(&mut self) -> Option<String> {
        let page = KeyPage::open(vec![self.provider.clone()]).ok()?;
        let url = page.url();
        let (credentials, probe) = (Rc::clone(&self.credentials), self.probe);
        self.page = Some(Box::pin(async move {
            login::take_key_on_page(&credentials, page, probe).await
        }));
        Some(url)
    }

    fn begin_browser_login(&mut self, oauth: OAuthLogin, opens_browser: bool) {
        // A login shows one step.
        let (sender, steps) = mpsc::channel(1);
        let credentials = Rc::clone(&self.credentials);
        let outcome = async move {
            let mut show = |step: LoginStep<'_>| {
                // The chat has ended if the receiver is gone.
                let _ = sender.try_send((step.to_string(), step.page().to_owned()));
                Ok(())
            };
            match oauth.run(&credentials, &mut show).await {
                Ok(logged_in) => Ok(logged_in.to_string()),
                Err(error) => Err(error.to_string()),
            }
        };
        self.browser_login = Some(BrowserLogin {
            outcome: Box::pin(outcome),
            steps,
            opens_browser,
            browser: None,
        });
    }
}

impl BrowserLogin {
    async fn next(&mut self, provider: &str) -> Vec<Input> {
        tokio::select! {
            biased;
            Some((step, page)) = self.steps.recv() => {
                if self.opens_browser {
                    self.browser = login::open_in_browser(&page);
                }
                let provider = provider.to_owned();
                vec![Input::Login(LoginInput::StepShown { provider, step })]
            }
            outcome = &mut self.outcome => match outcome {
                Ok(text) => credentials_changed(text),
                Err(reason) => vec![Input::Login(LoginInput::Failed(reason))],
            },
        }
    }
}

/// Opens the credentials if `provider` is known. The error is for the user and does not repeat the
/// name, which may be a key.
fn open_credentials(provider: &str) -> Result<Credentials, String> {
    let credentials = Credentials::open(None).map_err(|error| error.to_string())?;
    let name = credentials.canonical(provider);
    if !credentials.providers().iter().any(|known| known == name) {
        return Err(
            "unknown provider (not repeated here, in case it is a key): /login lists all providers"
                .to_owned(),
        );
    }
    Ok(credentials)
}

/// Removes the credentials of a provider, or of all.
fn log_out(provider: Option<&str>) -> Vec<Input> {
    let credentials = match Credentials::open(None) {
        Ok(credentials) => credentials,
        Err(error) => return vec![Input::failure(error)],
    };
    let report = match provider {
        Some(provider) => login::log_out(&credentials, provider),
        None => login::log_out_everywhere(&credentials),
    };
    match report {
        Ok(report) => credentials_changed(report.to_string()),
        Err(error) => vec![Input::failure(error)],
    }
}

fn credentials_changed(text: String) -> Vec<Input> {
    vec![Input::note(text), Input::Login(LoginInput::LoggedIn)]
}

/// Waits for the open login. Cancel-safe: its futures stay in `login`.
pub(super) async fn next_login(login: &mut Option<Login>) -> Vec<Input> {
    let Some(open) = login else {
        return std::future::pending().await;
    };
    let mut inputs = if let Some(browser_login) = &mut open.browser_login {
        browser_login.next(&open.provider).await
    } else {
        tokio::select! {
            checked = finished(&mut open.check) => match checked {
                Ok(stored) => credentials_changed(stored),
                Err(reason) => vec![Input::Login(LoginInput::KeyRefused(reason))],
            },
            served = finished(&mut open.page) => match served {
                Ok(stored) => credentials_changed(stored.to_string()),
                // The key can still be typed here.
                Err(_) => vec![Input::Login(LoginInput::PageClosed)],
            },
        }
    };
    let logged_in = |input: &Input| matches!(input, Input::Login(LoginInput::LoggedIn));
    if let Some(current) = &open.other_provider
        && inputs.iter().any(logged_in)
    {
        let provider = &open.provider;
        inputs.push(Input::note(format!(
            "this conversation keeps using {current}; restart with --provider {provider} to use {provider}"
        )));
    }
    let ends_login = |input: &Input| {
        matches!(
            input,
            Input::Login(LoginInput::LoggedIn | LoginInput::Failed(_))
        )
    };
    if inputs.iter().any(ends_login) {
        *login = None;
    }
    inputs
}

/// Waits for a future and removes it.
async fn finished<T>(pending: &mut Option<Pending<T>>) -> T {
    match pending {
        Some(future) => {
            let outcome = future.await;
            *pending = None;
            outcome
        }
        None => std::future::pending().await,
    }
}
