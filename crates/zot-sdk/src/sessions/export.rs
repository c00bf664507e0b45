//! Sessions as files for other people, and back.

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
    /// `.zotsession`: can be imported elsewhere and does not say where the sender worked.
    Portable,
    Markdown,
    /// One page that needs no other file.
    Html,
}

impl ExportFormat {
    /// The format that the name of a file stands for.
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
    Refuse,
    Replace,
}

/// A session in the form it is exported in.
#[derive(Debug, Clone)]
pub struct ExportedSession {
    pub bytes: Vec<u8>,
    pub messages: usize,
    /// How many messages name the working directory or the user's home, because someone wrote or
    /// printed it.
    pub messages_with_paths: usize,
}

/// A session that was written to a file.
#[derive(Debug, Clone)]
pub struct ExportReport {
    pub path: PathBuf,
    pub bytes: usize,
    pub messages: usize,
    /// See [`ExportedSession::messages_with_paths`].
    pub messages_with_paths: usize,
}

/// A session made from a file.
#[derive(Debug, Clone)]
pub struct ImportReport {
    pub id: String,
    pub path: PathBuf,
    /// What was wrong with the imported file.
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

/// Renders a session into a file that only the user can read. `path` is relative to
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

/// Makes a session of the working directory from a `.zotsession` file. `file` is relative to
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
    /// What the reader of the export learns about this machine.
    pub fn warning(&self) -> Option<String> {
        path_warning(self.messages_with_paths)
    }
}

impl ExportReport {
    /// What the reader of the export learns about this machine.
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
