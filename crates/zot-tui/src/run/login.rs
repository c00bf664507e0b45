//! `/login` of a key: asked for in the chat, tried and kept here.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;

use zot_sdk::auth::{KeyPage, KeyPageError};
use zot_sdk::{Credentials, KeyProbe};

use super::{Chat, own_program};
use crate::app::Input;
use crate::secret::Secret;

type Waiting<T> = Pin<Box<dyn Future<Output = T>>>;

/// A key that is asked for. Dropping it closes the page and stops asking the provider.
pub(super) struct Login {
    credentials: Rc<Credentials>,
    provider: String,
    probe: KeyProbe,
    /// Ends with what was kept there.
    page: Option<Waiting<Result<String, KeyPageError>>>,
    /// Ends with what became of a key that was typed here.
    trial: Option<Waiting<Result<String, String>>>,
}

impl Chat {
    /// Logs in or out: asks for a key here, or leaves the terminal to `zot login`.
    pub(super) fn log(&mut self, words: Vec<String>) -> io::Result<Vec<Input>> {
        match key_login(&words) {
            Ok(Some((credentials, provider, probe))) => {
                Ok(vec![self.begin_login(credentials, provider, probe)])
            }
            Ok(None) => {
                let is_login = words.first().is_some_and(|word| word == "login");
                self.give_away(async move { own_program::log(&words).await })?;
                if is_login {
                    self.terminal
                        .write(b"ctrl+c leads back to the chat without a key\n")?;
                }
                Ok(Vec::new())
            }
            Err(problem) => Ok(vec![Input::failure(problem)]),
        }
    }

    fn begin_login(
        &mut self,
        credentials: Credentials,
        provider: String,
        probe: KeyProbe,
    ) -> Input {
        let credentials = Rc::new(credentials);
        // Without the page the key can still be given here.
        let page = KeyPage::open(vec![provider.clone()]).ok();
        let url = page.as_ref().map(KeyPage::url);
        let page = page.map(|page| {
            let credentials = Rc::clone(&credentials);
            let serving = async move { serve(page, &credentials, probe).await };
            Box::pin(serving) as Waiting<_>
        });
        self.login = Some(Login {
            credentials,
            provider: provider.clone(),
            probe,
            page,
            trial: None,
        });
        Input::KeyAsked {
            provider,
            page: url,
        }
    }

    /// Tries a key that was typed and keeps it.
    pub(super) fn try_key(&mut self, key: Secret) {
        if let Some(login) = &mut self.login {
            let (credentials, provider, probe) = (
                Rc::clone(&login.credentials),
                login.provider.clone(),
                login.probe,
            );
            login.trial = Some(Box::pin(async move {
                let kept = credentials.keep_checked(&provider, key.reveal(), probe);
                match kept.await {
                    Ok(kept) => Ok(kept.to_string()),
                    Err(error) => Err(error.to_string()),
                }
            }));
        }
    }
}

/// What `/login` is to ask a key for; `None` when `zot login` has to do it, in the terminal. The
/// error is for the user and says nothing of what was typed.
fn key_login(words: &[String]) -> Result<Option<(Credentials, String, KeyProbe)>, String> {
    let [action, words @ ..] = words else {
        return Ok(None);
    };
    if action != "login" {
        return Ok(None);
    }
    let (flags, names): (Vec<&String>, Vec<&String>) =
        words.iter().partition(|word| word.starts_with("--"));
    let [provider] = names.as_slice() else {
        return Err(
            "a key is not typed into the prompt, where it can be seen: /login PROVIDER asks \
                    for it"
                .to_owned(),
        );
    };
    let has = |flag: &str| flags.iter().any(|given| *given == flag);
    let known = ["--no-probe", "--no-browser", "--key", "--stdin"];
    if flags.iter().any(|flag| !known.contains(&flag.as_str())) {
        return Ok(None);
    }
    let credentials = Credentials::open(None).map_err(|error| error.to_string())?;
    let name = credentials.canonical(provider);
    if !credentials.providers().iter().any(|known| known == name) {
        // It may be a key, which nobody is to see.
        return Err(
            "that is no provider (it is not repeated here, in case it was a key): /login \
                    alone lists them"
                .to_owned(),
        );
    }
    let login = credentials.login(provider);
    let has_login = login.map_err(|error| error.to_string())?.is_some();
    if has_login && !has("--key") && !has("--stdin") {
        return Ok(None);
    }
    let probe = match has("--no-probe") {
        true => KeyProbe::Skipped,
        false => KeyProbe::Asked,
    };
    let provider = credentials.canonical(provider).to_owned();
    Ok(Some((credentials, provider, probe)))
}

/// Shows the page until a key was taken there, and says which.
async fn serve(
    page: KeyPage,
    credentials: &Credentials,
    probe: KeyProbe,
) -> Result<String, KeyPageError> {
    let said = RefCell::new(String::new());
    page.wait(async |provider, key| {
        let kept = credentials.keep_checked(provider, key, probe).await;
        let kept = kept.map_err(|error| error.to_string())?.to_string();
        said.borrow_mut().clone_from(&kept);
        Ok(format!("{kept} You can close this page."))
    })
    .await?;
    Ok(said.into_inner())
}

/// What comes of the key that is asked for.
pub(super) async fn next_login(login: &mut Option<Login>) -> Vec<Input> {
    let Some(Login { page, trial, .. }) = login else {
        return std::future::pending().await;
    };
    tokio::select! {
        tried = finished(trial) => match tried {
            Ok(kept) => vec![Input::note(kept), Input::LoggedIn],
            Err(reason) => vec![Input::KeyRefused(reason)],
        },
        served = finished(page) => match served {
            Ok(kept) => vec![Input::note(kept), Input::LoggedIn],
            // The key can still be given here.
            Err(_) => vec![Input::KeyPageClosed],
        },
    }
}

/// What is waited for, once.
async fn finished<T>(waiting: &mut Option<Waiting<T>>) -> T {
    match waiting {
        Some(future) => {
            let outcome = future.await;
            *waiting = None;
            outcome
        }
        None => std::future::pending().await,
    }
}
