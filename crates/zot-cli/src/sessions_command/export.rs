//! `zot sessions export` and `zot sessions import`.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use zot_sdk::sessions::{self, Session, SessionError, View, html, markdown, read};

use super::{Failure, Place};
use crate::output::{Format, say, say_json};

#[derive(Args)]
pub(super) struct Arguments {
    id: String,
    /// What to write: by default what the name of the file says
    #[arg(long, short)]
    format: Option<Kind>,
    /// Where to write it: by default to standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
    /// Say on standard output what was written, for programs
    #[arg(long, requires = "output")]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Portable: can be imported elsewhere, does not say where you worked
    Zotsession,
    /// Markdown
    Md,
    /// One page that needs nothing else
    Html,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "zotsession" => Some(Self::Zotsession),
            "md" | "markdown" => Some(Self::Md),
            "html" | "htm" => Some(Self::Html),
            _ => None,
        }
    }
}

pub(super) fn run(place: &Place, arguments: &Arguments) -> Result<(), Failure> {
    let file = place.library.find(&arguments.id)?;
    let session = read(&file, View::Everything)?;
    let named = arguments.output.as_deref().and_then(Kind::of);
    let kind = arguments.format.or(named).unwrap_or(Kind::Zotsession);
    let (bytes, with_paths) = rendered(&file, &session, kind)?;
    let Some(path) = &arguments.output else {
        match kind {
            Kind::Zotsession => zot_terminal::json_stdout().write_all(&bytes)?,
            Kind::Md | Kind::Html => zot_terminal::stdout().write_all(&bytes)?,
        }
        warn(with_paths);
        return Ok(());
    };
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    match arguments.force {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let written =
        zot_files::open_as(path, &mut options).and_then(|mut file| file.write_all(&bytes));
    written.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => Failure::Said(format!(
            "{} is there already; --force replaces it",
            path.display()
        )),
        _ => Failure::Write {
            path: path.clone(),
            source,
        },
    })?;
    warn(with_paths);
    if arguments.json {
        say_json(&json!({
            "path": path,
            "bytes": bytes.len(),
            "messages_with_paths": with_paths,
        }))?;
    } else {
        say(format_args!(
            "{}: {} messages, {} bytes",
            path.display(),
            session.messages.len(),
            bytes.len()
        ))?;
    }
    Ok(())
}

/// The content of the file, and how many messages name places on this machine.
fn rendered(file: &Path, session: &Session, kind: Kind) -> Result<(Vec<u8>, usize), SessionError> {
    let home = env::home_dir();
    let home = home.as_deref().and_then(Path::to_str);
    let exported = sessions::export(file, home)?;
    let bytes = match kind {
        Kind::Zotsession => exported.bytes,
        Kind::Md => markdown(session).into_bytes(),
        Kind::Html => html(session).into_bytes(),
    };
    Ok((bytes, exported.messages_with_paths))
}

/// Says what of this machine is still in what was exported.
fn warn(messages_with_paths: usize) {
    if messages_with_paths > 0 {
        crate::warn(&[format!(
            "the working directory is left out, but {messages_with_paths} messages name it or your \
             home: what was said is exported as it is"
        )]);
    }
}

pub(super) fn import(place: &Place, file: &Path, format: Format) -> Result<(), Failure> {
    let (log, report) = sessions::import(place.library.root(), file, place.cwd.clone())?;
    crate::warn(&report.findings());
    let id = &log.meta().id;
    match format {
        Format::Json => say_json(&json!({ "id": id, "path": log.path() }))?,
        Format::Text => say(format_args!(
            "{id}\ngo on with it: zot -p --resume {} PROMPT",
            super::short(id)
        ))?,
    }
    Ok(())
}
