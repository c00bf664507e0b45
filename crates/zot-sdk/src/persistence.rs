//! The session of a runtime: finding its file, reading it, and writing to it.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zot_agent::{Journal, JournalError, NoJournal, repair};
use zot_conversation::{Message, Timestamp, ToolResult, Usage};
use zot_session::{
    Before, Checkpoints, Library, ReadReport, Session, SessionError, SessionLog, SessionMeta, View,
    fork, read,
};
use zot_tools::{ChangeNumber, Checkpoint, FileBefore};

use crate::assembly::AssemblyError;
use crate::assembly::chosen::SessionModel;
use crate::config::{Persistence, Resumption, SessionChoice};
use crate::workspace::Workspace;

/// The session file that a runtime writes to.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// The id of the session.
    pub id: String,
    /// The absolute path of the file, which is created with the first message.
    pub path: PathBuf,
    /// How many messages the conversation started with.
    pub resumed_messages: usize,
    /// What was wrong with the file.
    pub report: ReadReport,
}

/// A session before the model is chosen.
pub(crate) struct FoundSession {
    opening: Opening,
    /// Where new sessions are created.
    directory: PathBuf,
    warnings: Vec<String>,
}

enum Opening {
    Nothing,
    New,
    NewAt(PathBuf),
    Existing(Box<(SessionLog, Session)>),
    Copy(Box<Session>),
}

/// A session that is ready to be written to.
pub(crate) struct Opened {
    pub(crate) journal: Arc<dyn Journal>,
    /// The file behind it, if there is one.
    pub(crate) log: Option<Arc<SessionLog>>,
    pub(crate) transcript: Vec<Arc<Message>>,
    pub(crate) info: Option<SessionInfo>,
    pub(crate) checkpoints: Option<Arc<Checkpoints>>,
    /// When the conversation began; `None` if it begins now.
    pub(crate) began: Option<Timestamp>,
    pub(crate) warnings: Vec<String>,
}

impl FoundSession {
    /// Finds the session that `wanted` names, and locks it for writing.
    pub(crate) fn find(
        wanted: &SessionChoice,
        workspace: &Workspace,
    ) -> Result<Self, AssemblyError> {
        let directory = workspace.zot_home.join("sessions");
        let mut warnings = Vec::new();
        let opening = match existing(wanted, &directory, workspace, &mut warnings)? {
            Existing::None(opening) => opening,
            Existing::Session(path) => match wanted.resumption {
                Resumption::Append => {
                    let opened = SessionLog::open(&path, wanted.durability)?;
                    Opening::Existing(Box::new(opened))
                }
                Resumption::Fork => Opening::Copy(Box::new(read(&path, View::Current)?)),
            },
        };
        Ok(Self {
            opening,
            directory,
            warnings,
        })
    }

    /// Returns the model that the session used last.
    pub(crate) fn last_model(&self) -> Option<SessionModel<'_>> {
        let meta = match &self.opening {
            Opening::Nothing | Opening::New | Opening::NewAt(_) => return None,
            Opening::Existing(opened) => &opened.1.meta,
            Opening::Copy(session) => &session.meta,
        };
        let is_known = !meta.provider.is_empty() && !meta.model.is_empty();
        is_known.then_some(SessionModel {
            provider: &meta.provider,
            model: &meta.model,
        })
    }

    /// Prepares the session for writing; forks it on request.
    pub(crate) fn open(
        self,
        meta: SessionMeta,
        wanted: &SessionChoice,
    ) -> Result<Opened, AssemblyError> {
        let directory = &self.directory;
        let durability = wanted.durability;
        let (mut log, session) = match self.opening {
            Opening::Nothing => return Ok(Opened::unwritten(self.warnings)),
            Opening::New => (SessionLog::announce(directory, meta, durability)?, None),
            Opening::NewAt(path) => (SessionLog::announce_at(path, meta, durability)?, None),
            Opening::Existing(opened) => {
                let (mut log, session) = *opened;
                log.describe(meta)?;
                (log, Some(session))
            }
            Opening::Copy(session) => {
                let log = fork(directory, &session, None, meta.cwd, durability)?;
                // The usage of the copy starts at zero.
                let session = Session {
                    usage: Usage::default(),
                    ..*session
                };
                (log, Some(session))
            }
        };
        if let Some(replica) = &wanted.replica {
            log.replicate(Arc::clone(replica));
        }
        Ok(Opened::written(Arc::new(log), session, self.warnings))
    }
}

enum Existing {
    None(Opening),
    Session(PathBuf),
}

/// Returns the file of the session to resume, or what to do without one.
fn existing(
    wanted: &SessionChoice,
    directory: &Path,
    workspace: &Workspace,
    warnings: &mut Vec<String>,
) -> Result<Existing, AssemblyError> {
    let library = Library::new(directory);
    Ok(match &wanted.persistence {
        Persistence::Never => Existing::None(Opening::Nothing),
        Persistence::SessionFile => Existing::None(Opening::New),
        Persistence::Continue => {
            let newest = library.newest(&workspace.cwd_text());
            let newest = newest.map_err(|source| AssemblyError::Sessions {
                path: directory.to_owned(),
                source,
            })?;
            match newest {
                Some(path) => Existing::Session(path),
                None => {
                    warnings.push(format!(
                        "no session in {} yet: starting the first one",
                        workspace.cwd.display()
                    ));
                    Existing::None(Opening::New)
                }
            }
        }
        Persistence::Resume(wanted) => Existing::Session(library.find(wanted)?),
        Persistence::File(path) if path.exists() => Existing::Session(path.clone()),
        Persistence::File(path) => Existing::None(Opening::NewAt(path.clone())),
    })
}

impl Opened {
    /// Creates a conversation that is not written to disk.
    fn unwritten(warnings: Vec<String>) -> Self {
        Self {
            journal: Arc::new(NoJournal),
            log: None,
            transcript: Vec::new(),
            info: None,
            checkpoints: None,
            began: None,
            warnings,
        }
    }

    /// Creates a conversation that continues `session`, or starts empty, and is written to `log`.
    fn written(log: Arc<SessionLog>, session: Option<Session>, mut warnings: Vec<String>) -> Self {
        let path = log.path().to_owned();
        let mut info = SessionInfo {
            id: log.meta().id.clone(),
            // Fails only for an empty path, which could not have been opened.
            path: std::path::absolute(&path).unwrap_or_else(|_| path.clone()),
            resumed_messages: 0,
            report: ReadReport::default(),
        };
        let mut spent_before = Usage::default();
        let mut transcript = Vec::new();
        let mut began = None;
        if let Some(session) = session {
            spent_before = session.usage;
            began = session.began;
            let findings = session.report.findings().into_iter();
            warnings.extend(findings.map(|finding| format!("{}: {finding}", path.display())));
            transcript = repaired(session.messages, &path, &mut warnings);
            info.resumed_messages = transcript.len();
            info.report = session.report;
        }
        let checkpoints = Arc::new(Checkpoints::beside(&path, log.durability()));
        Self {
            log: Some(Arc::clone(&log)),
            journal: Arc::new(SessionJournal {
                log,
                spent_before,
                checkpoints: Arc::clone(&checkpoints),
            }),
            transcript,
            info: Some(info),
            checkpoints: Some(checkpoints),
            began,
            warnings,
        }
    }
}

/// Returns the messages in a form that can be sent to a model.
fn repaired(
    messages: Vec<Arc<Message>>,
    path: &Path,
    warnings: &mut Vec<String>,
) -> Vec<Arc<Message>> {
    let Some((messages, repair)) = repair(&messages) else {
        return messages;
    };
    let changes = [
        (
            repair.results_added,
            "calls were interrupted and have no result",
        ),
        (
            repair.results_dropped,
            "results have no call and are left out",
        ),
        (repair.messages_dropped, "messages are empty and left out"),
    ];
    for (count, what) in changes {
        if count > 0 {
            warnings.push(format!("{}: {count} {what}", path.display()));
        }
    }
    messages
}

/// Writes the conversation to a session file.
struct SessionJournal {
    log: Arc<SessionLog>,
    /// The session's cost when it was opened.
    spent_before: Usage,
    checkpoints: Arc<Checkpoints>,
}

impl Journal for SessionJournal {
    fn message_added(&self, message: &Arc<Message>) -> Result<(), JournalError> {
        if message.is_prompt() {
            self.checkpoints.begin_prompt(message.time);
        }
        self.log.append_message(message).map_err(boxed)
    }

    fn usage_added(&self, turn: &Usage, cumulative: &Usage) -> Result<(), JournalError> {
        let mut total = self.spent_before;
        total += *cumulative;
        self.log.append_usage(turn, &total).map_err(boxed)
    }

    fn result_added(&self, result: &ToolResult) -> Result<(), JournalError> {
        self.log.append_result(result).map_err(boxed)
    }

    fn transcript_replaced(&self, messages: &[Arc<Message>]) -> Result<(), JournalError> {
        self.log.append_replacement(messages).map_err(boxed)
    }
}

fn boxed(error: SessionError) -> JournalError {
    JournalError(Box::new(error))
}

/// Saves what the tools are about to change, next to the session.
pub(crate) struct SessionCheckpoint(pub(crate) Arc<Checkpoints>);

impl Checkpoint for SessionCheckpoint {
    fn before_change(
        &self,
        tool: &str,
        path: &Path,
        before: FileBefore<'_>,
        after: &[u8],
    ) -> Result<ChangeNumber, Box<dyn Error + Send + Sync>> {
        let before = match before {
            FileBefore::Missing => Before::Missing,
            FileBefore::Content(content) => Before::Content(content),
            FileBefore::Unknown => Before::Unknown,
        };
        Ok(ChangeNumber(self.0.keep(tool, path, before, after)?))
    }

    fn after_change(&self, number: ChangeNumber, path: &Path) {
        self.0.record_made(number.0, path);
    }
}
