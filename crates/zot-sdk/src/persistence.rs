//! The session of a runtime: which file it is in, what was in it, and what is written to it.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zot_agent::{Journal, JournalError, NoJournal, repair};
use zot_conversation::{Message, Timestamp, ToolResult, Usage};
use zot_session::{
    Before, Checkpoints, Durability, Library, ReadReport, Session, SessionError, SessionLog,
    SessionMeta, View, fork, read,
};
use zot_tools::{ChangeNumber, Checkpoint, FileBefore};

use crate::assembly::AssemblyError;
use crate::config::{Config, Persistence, Resumption};

/// What a runtime says about the file it writes to.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    pub id: String,
    /// Where the file is, or will be: it is made with the first message. Absolute.
    pub path: PathBuf,
    /// How many messages the conversation began with.
    pub resumed_messages: usize,
    /// What was wrong with the file.
    pub report: ReadReport,
}

/// A session as far as it is known before the model is.
pub(crate) enum Opening {
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
    /// When the conversation began, unless it begins now.
    pub(crate) began: Option<Timestamp>,
}

impl Opening {
    /// Finds the session that `config` asks for, and takes it if it is to be written to.
    pub(crate) fn find(
        config: &Config,
        sessions: &Path,
        cwd: &Path,
        warnings: &mut Vec<String>,
    ) -> Result<Self, AssemblyError> {
        let library = Library::new(sessions);
        let path = match &config.session.persistence {
            Persistence::Never => return Ok(Self::Nothing),
            Persistence::SessionFile => return Ok(Self::New),
            Persistence::Continue => {
                let newest = library.newest(&cwd.display().to_string());
                match newest.map_err(|source| AssemblyError::Sessions {
                    path: sessions.to_owned(),
                    source,
                })? {
                    Some(path) => path,
                    None => {
                        warnings.push(format!(
                            "there is no session in {} yet: this is the first",
                            cwd.display()
                        ));
                        return Ok(Self::New);
                    }
                }
            }
            Persistence::Resume(wanted) => library.find(wanted)?,
            Persistence::File(path) if !path.exists() => return Ok(Self::NewAt(path.clone())),
            Persistence::File(path) => path.clone(),
        };
        Ok(match config.session.resumption {
            Resumption::Append => {
                let opened = SessionLog::open(&path, config.session.durability)?;
                Self::Existing(Box::new(opened))
            }
            Resumption::Fork => Self::Copy(Box::new(read(&path, View::Current)?)),
        })
    }

    /// The provider and the model that the session was held with.
    pub(crate) fn model(&self) -> Option<(&str, &str)> {
        let meta = match self {
            Self::Nothing | Self::New | Self::NewAt(_) => return None,
            Self::Existing(opened) => &opened.1.meta,
            Self::Copy(session) => &session.meta,
        };
        let known = !meta.provider.is_empty() && !meta.model.is_empty();
        known.then_some((meta.provider.as_str(), meta.model.as_str()))
    }

    pub(crate) fn open(
        self,
        sessions: &Path,
        meta: SessionMeta,
        durability: Durability,
        warnings: &mut Vec<String>,
    ) -> Result<Opened, AssemblyError> {
        let (log, session) = match self {
            Self::Nothing => {
                return Ok(Opened {
                    journal: Arc::new(NoJournal),
                    log: None,
                    transcript: Vec::new(),
                    info: None,
                    checkpoints: None,
                    began: None,
                });
            }
            Self::New => (SessionLog::announce(sessions, meta, durability)?, None),
            Self::NewAt(path) => (SessionLog::announce_at(path, meta, durability)?, None),
            Self::Existing(opened) => {
                let (mut log, session) = *opened;
                log.describe(meta)?;
                (log, Some(session))
            }
            Self::Copy(session) => {
                let log = fork(sessions, &session, None, meta.cwd, durability)?;
                // The copy starts with nothing spent.
                let session = Session {
                    usage: Usage::default(),
                    ..*session
                };
                (log, Some(session))
            }
        };
        let log = Arc::new(log);
        let path = log.path().to_owned();
        let mut info = SessionInfo {
            id: log.meta().id.clone(),
            // One without a name, which alone cannot be made absolute, was not opened.
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
            transcript = mended(session.messages, &path, warnings);
            info.resumed_messages = transcript.len();
            info.report = session.report;
        }
        let checkpoints = Arc::new(Checkpoints::beside(&path));
        Ok(Opened {
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
        })
    }
}

/// The messages as a model can be given them.
fn mended(
    messages: Vec<Arc<Message>>,
    path: &Path,
    warnings: &mut Vec<String>,
) -> Vec<Arc<Message>> {
    let Some((mended, repair)) = repair(&messages) else {
        return messages;
    };
    let changes = [
        (
            repair.results_added,
            "calls were interrupted and have no result",
        ),
        (
            repair.results_dropped,
            "results answer no call and are left out",
        ),
        (repair.messages_dropped, "messages are empty and left out"),
    ];
    for (count, what) in changes {
        if count > 0 {
            warnings.push(format!("{}: {count} {what}", path.display()));
        }
    }
    mended
}

/// Writes the conversation to a session file.
struct SessionJournal {
    log: Arc<SessionLog>,
    /// What the session had cost when it was opened.
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

/// Keeps what the tools are about to change beside the session.
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
        self.0.note_made(number.0, path);
    }
}
