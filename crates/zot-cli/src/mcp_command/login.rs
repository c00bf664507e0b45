//! `zot mcp login` and `zot mcp logout`.

use std::process::ExitCode;

use zot_sdk::Workspace;
use zot_sdk::login::open_in_browser;
use zot_sdk::mcp::{self, Login, OAuthError, Redirect, ServerLoginError};

use crate::failure::Failure;
use crate::output::{print_line, write_line};
use crate::stdin_lines;
use crate::text::note;

/// Whether a browser is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Browser {
    Open,
    Leave,
}

impl Browser {
    pub(super) fn of(no_browser: bool) -> Self {
        match no_browser {
            true => Self::Leave,
            false => Self::Open,
        }
    }
}

pub(super) async fn run(
    workspace: &Workspace,
    name: String,
    browser: Browser,
) -> Result<ExitCode, Failure> {
    let mut login = mcp::begin_login(workspace, &name).await?;
    write_line(format_args!("Log in at {}", login.url()))?;
    note(format_args!(
        "If the browser is on another machine: paste the address of the page it ends at, and press enter."
    ));
    let _browser = match browser {
        Browser::Open => open_in_browser(login.url()),
        Browser::Leave => None,
    };
    let failed = |source| ServerLoginError::OAuth {
        name: name.clone(),
        source,
    };
    let redirect = redirect(&mut login).await?.map_err(failed)?;
    login.finish(redirect).await.map_err(failed)?;
    write_line(format_args!("logged in to {name}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Waits for the redirect: at a port of this machine, or as a line of standard input.
async fn redirect(login: &mut Login) -> Result<Result<Redirect, OAuthError>, Failure> {
    let mut lines = stdin_lines::lines()?;
    let mut failure = None;
    let mut has_input = true;
    loop {
        tokio::select! {
            redirect = login.redirect(), if failure.is_none() => match redirect {
                Ok(redirect) => return Ok(Ok(redirect)),
                Err(error) if !has_input || matches!(error, OAuthError::TooLate { .. }) => return Ok(Err(error)),
                // The address can still be pasted.
                Err(error) => {
                    note(format_args!("{error}"));
                    failure = Some(error);
                }
            },
            line = lines.recv(), if has_input => match (line, failure.take()) {
                (Some(line), before) => {
                    failure = before;
                    match login.read_redirect(&line) {
                        Ok(redirect) => return Ok(Ok(redirect)),
                        Err(_) if line.trim().is_empty() => {}
                        Err(error) => note(format_args!("{error}")),
                    }
                }
                (None, Some(failure)) => return Ok(Err(failure)),
                (None, None) => has_input = false,
            },
        }
    }
}

pub(super) async fn log_out(workspace: &Workspace, name: String) -> Result<ExitCode, Failure> {
    match mcp::log_out(workspace, &name).await? {
        true => print_line(format_args!("logged out of {name}"))?,
        false => print_line(format_args!("there was no login at {name}"))?,
    }
    Ok(ExitCode::SUCCESS)
}
