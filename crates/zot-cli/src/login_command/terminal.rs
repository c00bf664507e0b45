//! Asks for a key in the terminal; a page in the browser accepts it as well.

use zot_sdk::credentials::Credentials;
use zot_sdk::login;
use zot_sdk::login::{KeyPage, KeyPageError, MAX_KEY_ATTEMPTS};
use zot_tui::{Echo, EndSignal, KeyPrompt, KeyPromptEvent, TypedSecret};

use super::LoginArguments;
use crate::failure::{Failure, FailureKind};
use crate::output::write_line;

/// Asks for a key of one of `providers` until one is stored.
pub(super) async fn ask(
    credentials: &Credentials,
    providers: Vec<String>,
    arguments: &LoginArguments,
) -> Result<(), Failure> {
    // If the page cannot be served, the key can still be typed.
    let page = KeyPage::open(providers.clone()).ok();
    let url = page.as_ref().map(KeyPage::url);
    let served = async {
        match page {
            Some(page) => login::take_key_on_page(credentials, page, arguments.probe()).await,
            None => std::future::pending().await,
        }
    };
    let mut prompt = KeyPrompt::open()?;
    let mut browsers = Vec::new();
    let typed = async {
        let open_page = |browsers: &mut Vec<_>| {
            if let Some(url) = &url {
                browsers.extend(arguments.open_in_browser(url));
            }
        };
        if let Some(url) = &url {
            prompt.print(&format!("Paste the key at {url} (tab opens it),"))?;
            prompt.print(
                "or type or paste it here; it is not shown. Enter stores it, esc cancels.",
            )?;
        } else {
            prompt
                .print("Type or paste the key; it is not shown. Enter stores it, esc cancels.")?;
        }
        let mut dialog = KeyDialog {
            prompt: &mut prompt,
            open_page: &mut || open_page(&mut browsers),
        };
        let provider = dialog.provider(credentials, &providers).await?;
        for _ in 0..MAX_KEY_ATTEMPTS {
            let label = format!("key of {provider}: ");
            let key = dialog.entered(&label, Echo::Hidden).await?;
            let kept = credentials.keep_checked(&provider, key.reveal(), arguments.probe());
            match dialog.unless_cancelled(kept).await? {
                Ok(kept) => return Ok(kept),
                Err(refused) => dialog.prompt.print(&refused.to_string())?,
            }
        }
        Err(KeyPageError::TooManyAttempts.into())
    };
    let kept = tokio::select! {
        kept = typed => kept,
        served = served => served.map_err(Failure::from),
    };
    // Restores the terminal before the outcome is printed.
    drop(prompt);
    Ok(write_line(kept?)?)
}

/// A prompt in the terminal that can also open the page in a browser.
struct KeyDialog<'a> {
    prompt: &'a mut KeyPrompt,
    open_page: &'a mut dyn FnMut(),
}

impl KeyDialog<'_> {
    /// Asks for the provider, unless there is only one.
    async fn provider(
        &mut self,
        credentials: &Credentials,
        providers: &[String],
    ) -> Result<String, Failure> {
        if let [only] = providers {
            return Ok(only.clone());
        }
        self.prompt
            .print(&format!("Providers: {}", providers.join(", ")))?;
        loop {
            let entered = self.entered("provider: ", Echo::Shown).await?;
            let name = credentials.canonical(entered.reveal());
            if providers.iter().any(|known| known == name) {
                return Ok(name.to_owned());
            }
            self.prompt.print("Enter one of these providers.")?;
        }
    }

    async fn entered(&mut self, label: &str, echo: Echo) -> Result<TypedSecret, Failure> {
        self.prompt.ask(label, echo)?;
        loop {
            match self.prompt.next().await? {
                KeyPromptEvent::Entered(entered) => return Ok(entered),
                KeyPromptEvent::PageRequested => (self.open_page)(),
                other => return Err(ending(&other)),
            }
        }
    }

    /// Waits for `work`; esc and signals cancel it, other keys are ignored.
    async fn unless_cancelled<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let mut work = std::pin::pin!(work);
        self.prompt.ask("checking the key … ", Echo::Hidden)?;
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                event = self.prompt.next() => match event? {
                    KeyPromptEvent::Entered(_) | KeyPromptEvent::PageRequested => {}
                    other => return Err(ending(&other)),
                },
            }
        }
    }
}

fn ending(event: &KeyPromptEvent) -> Failure {
    match event {
        KeyPromptEvent::Signal(signal) => Failure::new(
            FailureKind::Ended(signal.exit_code()),
            "the login was interrupted: nothing was stored",
        ),
        _ => Failure::new(
            FailureKind::Ended(EndSignal::Interrupted.exit_code()),
            "the login was cancelled: nothing was stored",
        ),
    }
}
