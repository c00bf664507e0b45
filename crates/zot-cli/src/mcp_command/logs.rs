//! `zot mcp logs`.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use zot_sdk::Workspace;
use zot_sdk::mcp;

use crate::failure::Failure;
use crate::text::note;

const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long a log is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    End,
    Interrupted,
}

impl Until {
    pub(super) fn of(follow: bool) -> Self {
        match follow {
            true => Self::Interrupted,
            false => Self::End,
        }
    }
}

pub(super) fn run(
    workspace: &Workspace,
    name: &str,
    until: Until,
    lines: Option<usize>,
) -> Result<ExitCode, Failure> {
    let mut log = mcp::open_log(workspace, name)?;
    if !log.exists() {
        note(format_args!("{name} has not written anything yet"));
    }
    let mut output = zot_terminal::stdout();
    match lines {
        Some(lines) => log.copy_last(lines, &mut output),
        None => log.copy_new(&mut output),
    }
    .map_err(Failure::output)?;
    if until == Until::End {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        thread::sleep(POLL_INTERVAL);
        log.copy_new(&mut output).map_err(Failure::output)?;
    }
}
