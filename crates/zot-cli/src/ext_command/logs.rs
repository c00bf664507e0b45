//! `zot ext logs`.

use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use zot_sdk::extensions::store::{Store, StoreError};

use super::Failure;
use super::terminal::note;

const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// How long a log is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    End,
    Interrupted,
}

pub(super) fn run(
    store: &Store,
    name: &str,
    until: Until,
    lines: Option<usize>,
) -> Result<ExitCode, Failure> {
    let path = store.log_file(name).map_err(StoreError::from)?;
    let mut log = match zot_files::open_existing(&path) {
        Ok(file) => Some(BufReader::new(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // One of the project or of --ext has a log only once it has run.
            if until == Until::End {
                store.directory_of(name)?;
            }
            note(format_args!("{name} has written nothing yet"));
            None
        }
        Err(error) => return Err(Failure::Refused(format!("{}: {error}", path.display()))),
    };
    let mut output = zot_terminal::stdout();
    if let Some(log) = &mut log {
        match lines {
            Some(lines) => write_last(log, lines, &mut output)?,
            None => copy(log, &mut output)?,
        }
    }
    match until {
        Until::End => Ok(ExitCode::SUCCESS),
        Until::Interrupted => follow(log, &path, &mut output),
    }
}

/// Shows what is added, also to a file that takes the place of this one.
fn follow(
    mut log: Option<BufReader<File>>,
    path: &Path,
    output: &mut impl io::Write,
) -> Result<ExitCode, Failure> {
    loop {
        thread::sleep(POLL_INTERVAL);
        if log.is_none() {
            log = zot_files::open_existing(path).ok().map(BufReader::new);
        }
        let Some(open) = &mut log else { continue };
        let replaced = was_replaced(open, path);
        // After the look: what was written to the old file before it was replaced is shown, too.
        copy(open, output)?;
        if replaced {
            log = None;
        }
    }
}

/// Whether another file has taken the place of the open one, or it was cut.
fn was_replaced(log: &BufReader<File>, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (log.get_ref().metadata(), fs::metadata(path)) else {
        return false;
    };
    let same = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    let position = io::Seek::stream_position(&mut log.get_ref());
    !same(&open, &named) || position.is_ok_and(|position| position > open.len())
}

fn copy(log: &mut BufReader<File>, output: &mut impl io::Write) -> io::Result<()> {
    io::copy(log, output)?;
    output.flush()
}

fn write_last(
    log: &mut BufReader<File>,
    lines: usize,
    output: &mut impl io::Write,
) -> io::Result<()> {
    let mut last = VecDeque::new();
    loop {
        let mut line = Vec::new();
        if log.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        last.push_back(line);
        if last.len() > lines {
            last.pop_front();
        }
    }
    for line in last {
        output.write_all(&line)?;
    }
    output.flush()
}
