//! Exports and imports sessions.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use zot_session::{View, html, markdown, read};

use super::{OperationError, library, short_id};
use crate::workspace::Workspace;

/// The form a session is exported in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// `.zotsession`: can be imported elsewhere, without the working directory of the sender.
    Portable,
    /// Markdown.
    Markdown,
    /// One page that needs no other file.
    Html,
}

impl ExportFormat {
    /// Returns the format for the extension of a file name.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "zotsession" => Some(Self::Portable),
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            _ => None,
        }
    }
}

/// What to do when the file to write exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfExists {
    /// Fail.
    Refuse,
    /// Replace it.
    Replace,
}

/// An exported session.
#[derive(Debug, Clone)]
pub struct ExportedSession {
    /// The content.
    pub bytes: Vec<u8>,
    /// How many messages it has.
    pub messages: usize,
    /// How many messages contain the path of the working directory or the user's home.
    pub messages_with_paths: usize,
}

/// A session that was written to a file.
#[derive(Debug, Clone)]
pub struct ExportReport {
    /// The path of the file.
    pub path: PathBuf,
    /// The content.
    pub bytes: usize,
    /// How many messages it has.
    pub messages: usize,
    /// See [`ExportedSession::messages_with_paths`].
    pub messages_with_paths: usize,
}

/// An imported session.
#[derive(Debug, Clone)]
pub struct ImportReport {
    /// The id of the new session.
    pub id: String,
    /// The path of the file.
    pub path: PathBuf,
    /// Problems of the imported file.
    pub findings: Vec<String>,
}

/// Renders a session.
pub fn export(
    workspace: &Workspace,
    name: &str,
    format: ExportFormat,
) -> Result<ExportedSession, OperationError> {
    let file = library(workspace).find(name)?;
    let session = read(&file, View::Everything)?;
    let user_home = workspace.user_home.as_deref().and_then(Path::to_str);
    let portable = zot_session::export(&file, user_home)?;
    let bytes = match format {
        ExportFormat::Portable => portable.bytes,
        ExportFormat::Markdown => markdown(&session).into_bytes(),
        ExportFormat::Html => html(&session).into_bytes(),
    };
    Ok(ExportedSession {
        bytes,
        messages: session.messages.len(),
        messages_with_paths: portable.messages_with_paths,
    })
}

/// Renders a session to a file that only the user can read. `path` is relative to
/// [`Workspace::cwd`].
pub fn export_to_file(
    workspace: &Workspace,
    name: &str,
    format: ExportFormat,
    path: &Path,
    if_exists: IfExists,
) -> Result<ExportReport, OperationError> {
    let exported = export(workspace, name, format)?;
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    match if_exists {
        IfExists::Replace => options.create(true).truncate(true),
        IfExists::Refuse => options.create_new(true),
    };
    let written = zot_files::open_as(&workspace.cwd.join(path), &mut options)
        .and_then(|mut file| file.write_all(&exported.bytes));
    written.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => OperationError::Exists {
            path: path.to_owned(),
        },
        _ => OperationError::Write {
            path: path.to_owned(),
            source,
        },
    })?;
    Ok(ExportReport {
        path: path.to_owned(),
        bytes: exported.bytes.len(),
        messages: exported.messages,
        messages_with_paths: exported.messages_with_paths,
    })
}

/// Creates a session of the working directory from a `.zotsession` file. `file` is relative to
/// [`Workspace::cwd`].
pub fn import(workspace: &Workspace, file: &Path) -> Result<ImportReport, OperationError> {
    let sessions = library(workspace);
    let file = workspace.cwd.join(file);
    let (log, report) = zot_session::import(sessions.root(), &file, workspace.cwd_text())?;
    Ok(ImportReport {
        id: log.meta().id.clone(),
        path: log.path().to_owned(),
        findings: report.findings(),
    })
}

impl ExportedSession {
    /// Returns a warning if the export reveals paths of this machine.
    pub fn warning(&self) -> Option<String> {
        path_warning(self.messages_with_paths)
    }
}

impl ExportReport {
    /// Returns a warning if the export reveals paths of this machine.
    pub fn warning(&self) -> Option<String> {
        path_warning(self.messages_with_paths)
    }
}

fn path_warning(messages: usize) -> Option<String> {
    (messages > 0).then(|| {
        format!(
            "the working directory is left out, but {messages} messages name it or your home: \
             messages are exported unchanged"
        )
    })
}

impl fmt::Display for ExportReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, messages, bytes) = (self.path.display(), self.messages, self.bytes);
        write!(formatter, "{path}: {messages} messages, {bytes} bytes")
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, short) = (&self.id, short_id(&self.id));
        write!(formatter, "{id}\nresume it: zot -p --resume {short} PROMPT")
    }
}
