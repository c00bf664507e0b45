//! `zot login` and `zot logout`.

mod terminal;

use std::io::{self, IsTerminal as _, Read as _};

use clap::Parser;
use tokio::process::Child;
use zot_sdk::credentials::{Credentials, KeyProbe};
use zot_sdk::login::KeyPage;
use zot_sdk::login::{self, LoginPlan, LoginPreference, LogoutReport, OAuthLogin};
use zot_stdio::executor;

use crate::failure::Failure;
use crate::output::write_line;

/// The longest key that is read from standard input.
///
/// Limit: a longer key on standard input is refused.
const MAX_API_KEY_BYTES: u64 = 64 * 1024;

/// Store the key of a provider, or log in to it
#[derive(Parser)]
#[command(
    name = "zot login",
    bin_name = "zot login",
    after_help = "In a terminal, type or paste the key, which is not shown; a page on 127.0.0.1 accepts it \
                  as well.\nThe key is checked with the provider and stored in $ZOT_HOME/auth.json.\n\
                  Providers with \"oauth\" in $ZOT_HOME/providers.json use a login instead of a key.\n\
                  Exit codes: 0 stored, 1 rejected or unreachable, 2 usage, 130 cancelled."
)]
pub(crate) struct LoginArguments {
    /// The provider; zot asks for it if it is missing
    provider: Option<String>,
    /// Catches a key given as an argument, which is refused
    #[arg(hide = true)]
    surplus: Vec<String>,
    /// Read the key from standard input
    #[arg(long)]
    stdin: bool,
    /// Store the key without checking it
    #[arg(long)]
    no_probe: bool,
    /// Do not open a browser, only print the address
    #[arg(long)]
    no_browser: bool,
    /// Log in with a code that you enter on another device
    #[arg(long, conflicts_with_all = ["stdin", "key"])]
    device: bool,
    /// Use a key even if the provider has a login
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

    fn open_in_browser(&self, url: &str) -> Option<Child> {
        match self.no_browser {
            true => None,
            false => login::open_in_browser(url),
        }
    }

    fn preference(&self) -> LoginPreference {
        match (self.device, self.key || self.stdin) {
            (true, _) => LoginPreference::Device,
            (false, true) => LoginPreference::Key,
            (false, false) => LoginPreference::Usual,
        }
    }
}

/// Remove stored credentials
#[derive(Parser)]
#[command(name = "zot logout", bin_name = "zot logout")]
pub(crate) struct LogoutArguments {
    /// The provider
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    provider: Option<String>,
    /// Remove all credentials in auth.json
    #[arg(long)]
    all: bool,
}

pub(crate) fn login(arguments: LoginArguments) -> Result<(), Failure> {
    if !arguments.surplus.is_empty() {
        // It is probably a key, which must not be repeated.
        return Err(Failure::usage(
            "unexpected argument: other users can see a key on the command line; zot login PROVIDER \
             asks for it, and --stdin reads it",
        ));
    }
    let credentials = Credentials::open(None)?;
    let Some(provider) = &arguments.provider else {
        if arguments.stdin || arguments.device {
            return Err(Failure::usage(
                "which provider? Name it: zot login PROVIDER",
            ));
        }
        return ask(&credentials, credentials.providers(), &arguments);
    };
    let plan = login::plan(&credentials, provider, arguments.preference())?;
    if arguments.stdin && !io::stdin().is_terminal() {
        let key = read_key()?;
        let probe = arguments.probe();
        let kept = executor::run(|_| credentials.keep_checked(provider, &key, probe))?;
        return Ok(write_line(kept?)?);
    }
    match plan {
        LoginPlan::Key { provider } => ask(&credentials, vec![provider], &arguments),
        LoginPlan::OAuth(login) => log_in(&credentials, &login, &arguments),
    }
}

/// Asks for a key, in the terminal where there is one.
fn ask(
    credentials: &Credentials,
    providers: Vec<String>,
    arguments: &LoginArguments,
) -> Result<(), Failure> {
    executor::run(|_| async {
        match io::stdin().is_terminal() && io::stdout().is_terminal() {
            true => terminal::ask(credentials, providers, arguments).await,
            false => ask_on_page(credentials, providers, arguments).await,
        }
    })?
}

async fn ask_on_page(
    credentials: &Credentials,
    providers: Vec<String>,
    arguments: &LoginArguments,
) -> Result<(), Failure> {
    let page = KeyPage::open(providers)?;
    let url = page.url();
    write_line(format!("Paste the key at {url}"))?;
    let _browser = arguments.open_in_browser(&url);
    let kept = login::take_key_on_page(credentials, page, arguments.probe()).await?;
    // The page shows it as well.
    let _ = write_line(kept);
    Ok(())
}

fn log_in(
    credentials: &Credentials,
    login: &OAuthLogin,
    arguments: &LoginArguments,
) -> Result<(), Failure> {
    let mut browsers = Vec::new();
    let mut show = |step: login::LoginStep<'_>| {
        write_line(step)?;
        browsers.extend(arguments.open_in_browser(step.page()));
        Ok(())
    };
    let logged_in = executor::run(|_| login.run(credentials, &mut show))??;
    Ok(write_line(logged_in)?)
}

pub(crate) fn logout(arguments: LogoutArguments) -> Result<(), Failure> {
    let credentials = Credentials::open(None)?;
    let report = match &arguments.provider {
        Some(provider) => log_out(&credentials, provider)?,
        None => login::log_out_everywhere(&credentials)?,
    };
    Ok(write_line(report)?)
}

/// Removes the credential of a provider, which may be unknown only if it has one.
fn log_out(credentials: &Credentials, provider: &str) -> Result<LogoutReport, Failure> {
    let report = login::log_out(credentials, provider)?;
    if let LogoutReport::Provider {
        was_removed: false, ..
    } = report
    {
        credentials.login(provider)?;
    }
    Ok(report)
}

fn read_key() -> Result<String, Failure> {
    let mut text = String::new();
    io::stdin()
        .lock()
        .take(MAX_API_KEY_BYTES)
        .read_to_string(&mut text)?;
    let key = text.lines().next().unwrap_or_default().trim();
    if key.is_empty() {
        return Err(Failure::usage("expected a key on standard input"));
    }
    Ok(key.to_owned())
}
