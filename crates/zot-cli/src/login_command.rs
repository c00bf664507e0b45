//! `zot login` and `zot logout`.

mod browser;
mod terminal;

use std::io::{self, IsTerminal as _, Read as _};

use clap::Parser;
use zot_sdk::auth::{CodeLogin, CredentialError, KeyPage, KeyPageError, OAuthClient, OAuthError};
use zot_sdk::{AssemblyError, Credentials, KeyNotKept, KeyProbe};
use zot_stdio::executor;
use zot_tui::EndSignal;

use crate::command::CommandFailure;
use crate::failure::{FAILED, USAGE};
use crate::output::say;

/// The longest key that is read from standard input.
const MAX_KEY_BYTES: u64 = 64 * 1024;

/// Gives zot the key of a provider, or logs in there.
#[derive(Parser)]
#[command(
    name = "zot login",
    bin_name = "zot login",
    after_help = "In a terminal the key is typed or pasted there, and not shown; a page on 127.0.0.1 takes it \
                  as well.\nIt is tried once and kept in $ZOT_HOME/auth.json.\n\
                  Providers with \"oauth\" in $ZOT_HOME/providers.json are logged in to instead.\n\
                  Exit codes: 0 kept, 1 refused or not reachable, 2 usage, 130 given up."
)]
pub(crate) struct LoginArguments {
    /// The provider; without one it is asked for
    provider: Option<String>,
    /// What is not to be here: a key
    #[arg(hide = true)]
    surplus: Vec<String>,
    /// Read the key from standard input
    #[arg(long)]
    stdin: bool,
    /// Keep the key without asking the provider whether it knows it
    #[arg(long)]
    no_probe: bool,
    /// Print the address and open no browser
    #[arg(long)]
    no_browser: bool,
    /// Log in with a code that is typed in on another device
    #[arg(long, conflicts_with_all = ["stdin", "key"])]
    device: bool,
    /// Give a key although there is a login
    #[arg(long)]
    key: bool,
}

impl LoginArguments {
    fn probe(&self) -> KeyProbe {
        match self.no_probe {
            true => KeyProbe::Skipped,
            false => KeyProbe::Asked,
        }
    }
}

/// Forgets credentials.
#[derive(Parser)]
#[command(name = "zot logout", bin_name = "zot logout")]
pub(crate) struct LogoutArguments {
    /// The provider
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    provider: Option<String>,
    /// All that is in auth.json
    #[arg(long)]
    all: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    #[error(transparent)]
    Credential(#[from] CredentialError),
    #[error(transparent)]
    Page(#[from] KeyPageError),
    #[error("{provider}: {source}")]
    Login {
        provider: String,
        source: OAuthError,
    },
    #[error(transparent)]
    NotKept(#[from] KeyNotKept),
    #[error("the login was given up: nothing was kept")]
    GivenUp,
    #[error("the login was ended: nothing was kept")]
    Ended(EndSignal),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl CommandFailure for Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Assembly(_) | Self::Credential(_) => USAGE,
            Self::Page(_) | Self::Login { .. } | Self::NotKept(_) | Self::Io(_) => FAILED,
            Self::GivenUp => EndSignal::Interrupted.exit_code(),
            Self::Ended(signal) => signal.exit_code(),
        }
    }

    // Whether it was logged in matters more than who reads it.
    fn of_output(&self) -> Option<&io::Error> {
        None
    }
}

pub(crate) fn login(arguments: LoginArguments) -> Result<(), Failure> {
    if !arguments.surplus.is_empty() {
        // It is most likely a key, which is not repeated.
        return Err(Failure::Usage(
            "a key is not given as an argument, where others can see it: zot login PROVIDER asks for \
             it, and --stdin reads it"
                .to_owned(),
        ));
    }
    let credentials = Credentials::open(None)?;
    let client = match &arguments.provider {
        Some(provider) => credentials.login(provider)?,
        None => None,
    };
    match (arguments.provider.clone(), client) {
        (None, _) if arguments.stdin || arguments.device => Err(Failure::Usage(
            "name the provider: zot login PROVIDER".to_owned(),
        )),
        (Some(provider), _) if arguments.stdin && !io::stdin().is_terminal() => {
            let key = read_key()?;
            let probe = arguments.probe();
            let kept = executor::run(|_| credentials.keep_checked(&provider, &key, probe))?;
            Ok(say(kept?)?)
        }
        (Some(provider), Some(client)) if !arguments.key && !arguments.stdin => {
            let logging_in = |_| log_in(&credentials, &provider, &client, &arguments);
            executor::run(logging_in)?.map_err(|source| Failure::Login {
                provider: provider.clone(),
                source,
            })?;
            Ok(say(format!("Logged in to {provider}."))?)
        }
        (Some(provider), None) if arguments.device => Err(Failure::Usage(format!(
            "{provider} takes a key: describe its login under \"oauth\" in providers.json first"
        ))),
        (provider, _) => {
            let providers = provider.map_or_else(|| credentials.providers(), |name| vec![name]);
            executor::run(|_| async {
                match io::stdin().is_terminal() && io::stdout().is_terminal() {
                    true => terminal::ask(&credentials, providers, &arguments).await,
                    false => ask(&credentials, providers, &arguments).await,
                }
            })?
        }
    }
}

/// Shows the page and waits for a key.
async fn ask(
    credentials: &Credentials,
    providers: Vec<String>,
    arguments: &LoginArguments,
) -> Result<(), Failure> {
    let page = KeyPage::open(providers)?;
    let url = page.url();
    say(format!("Paste the key at {url}"))?;
    let _browser = browser::open(&url, arguments.no_browser);
    page.wait(async |provider, key| {
        let kept = credentials.keep_checked(provider, key, arguments.probe());
        let kept = kept.await.map_err(|error| error.to_string())?;
        // The page says it as well.
        let _ = say(&kept);
        Ok(format!("{kept} You can close this page."))
    })
    .await?;
    Ok(())
}

async fn log_in(
    credentials: &Credentials,
    provider: &str,
    client: &OAuthClient,
    arguments: &LoginArguments,
) -> Result<(), OAuthError> {
    match (&client.authorize_url, &client.device_url) {
        (Some(url), device) if !arguments.device || device.is_none() => {
            let login = CodeLogin::begin(client, url).await?;
            say(format!("Log in at {}", login.url()))?;
            let _browser = browser::open(login.url(), arguments.no_browser);
            credentials.finish_code(provider, login).await
        }
        (_, Some(url)) => {
            let login = credentials.begin_device(client, url).await?;
            let (place, code) = (login.verification_uri(), login.user_code());
            say(format!("Type in the code {code} at {place}"))?;
            let _browser =
                browser::open(login.complete_uri().unwrap_or(place), arguments.no_browser);
            credentials.finish_device(provider, login).await
        }
        // providers.json is checked: it names one of them.
        (_, None) => Ok(()),
    }
}

pub(crate) fn logout(arguments: LogoutArguments) -> Result<(), Failure> {
    let credentials = Credentials::open(None)?;
    let file = credentials.file();
    let Some(provider) = &arguments.provider else {
        let names = file.remove_all()?;
        let forgotten = names.join(", ");
        let text = match names.is_empty() {
            true => "There was nothing to forget.".to_owned(),
            false => format!("Forgot the credentials of {forgotten}."),
        };
        return Ok(say(text)?);
    };
    if file.remove(provider)? {
        say(format!("Forgot the credential of {provider}."))?;
    } else {
        say(format!(
            "There is no credential of {provider} in {}.",
            file.path().display()
        ))?;
    }
    let others = credentials.status()?.into_iter();
    for left in others.filter(|status| status.provider == *provider) {
        say(format!("{} still has one.", left.source))?;
    }
    Ok(())
}

fn read_key() -> Result<String, Failure> {
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(MAX_KEY_BYTES)
        .read_to_string(&mut text)?;
    let key = text.lines().next().unwrap_or_default().trim();
    if key.is_empty() {
        return Err(Failure::Usage("no key came from standard input".to_owned()));
    }
    Ok(key.to_owned())
}
