//! Writes a session file so that a crash at any byte loses nothing acknowledged.

#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zot_conversation::{Message, Role, ToolResult, Usage};

use crate::id::file_below_sessions;
use crate::lock;
use crate::reader::{self, ReadFile};
use crate::record::{Record, line};
use crate::replica::ReplicaFailed;
use crate::{Durability, Replica, Session, SessionError, SessionMeta, View};

/// An open session file. No other process can open it to write.
#[derive(Debug)]
pub struct SessionLog {
    meta: SessionMeta,
    path: PathBuf,
    durability: Durability,
    /// Gets what the file gets.
    replica: Option<Arc<dyn Replica>>,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// The file does not exist before the first message; it begins with these records.
    Announced {
        meta: Box<SessionMeta>,
        messages: Vec<Arc<Message>>,
    },
    Open(OpenLog),
}

#[derive(Debug)]
struct OpenLog {
    file: File,
    /// Where the last whole record ends: the remains of a failed write are cut off there.
    end: u64,
    /// Bytes to write before the next record.
    pending: Vec<u8>,
    /// Whether the file has no record that identifies the session yet.
    nameless: bool,
    /// The latest provider and model in the records so far, pending ones included.
    model: (String, String),
}

impl SessionLog {
    /// Prepares a new session below `sessions`. Its file is created with the first message.
    pub fn announce(
        sessions: &Path,
        meta: SessionMeta,
        durability: Durability,
    ) -> Result<Self, SessionError> {
        let path = sessions.join(file_below_sessions(&meta));
        // A problem with the directory is better reported before the user has typed a prompt.
        make_directory(sessions).map_err(SessionError::create(&path))?;
        Self::announce_at(path, meta, durability)
    }

    /// Prepares a new session in the file `path`, which is created with the first message.
    pub fn announce_at(
        path: PathBuf,
        meta: SessionMeta,
        durability: Durability,
    ) -> Result<Self, SessionError> {
        Ok(Self::beginning_with(path, meta, Vec::new(), durability))
    }

    pub(crate) fn beginning_with(
        path: PathBuf,
        meta: SessionMeta,
        messages: Vec<Arc<Message>>,
        durability: Durability,
    ) -> Self {
        Self {
            path,
            durability,
            replica: None,
            state: Mutex::new(State::Announced {
                meta: Box::new(meta.clone()),
                messages,
            }),
            meta,
        }
    }

    /// Opens a session to continue it, even if its file is damaged.
    pub fn open(path: &Path, durability: Durability) -> Result<(Self, Session), SessionError> {
        let mut options = OpenOptions::new();
        let file = zot_files::open_as(path, options.read(true).append(true))
            .map_err(SessionError::open(path))?;
        lock::take(&file, path)?;
        let ReadFile {
            session,
            bytes,
            open_line,
            nameless,
        } = reader::read_from(&file, path, View::Current)?;
        let mut pending = Vec::new();
        if open_line {
            // A torn record stays; the line feed keeps the next record separate from it.
            pending.push(b'\n');
        }
        let log = Self {
            meta: session.meta.clone(),
            path: path.to_owned(),
            durability,
            replica: None,
            state: Mutex::new(State::Open(OpenLog {
                file,
                end: bytes,
                pending,
                nameless,
                model: (session.meta.provider.clone(), session.meta.model.clone()),
            })),
        };
        Ok((log, session))
    }

    /// Writes to `replica` as well, which has what the file has.
    pub fn replicate(&mut self, replica: Arc<dyn Replica>) {
        self.replica = Some(replica);
    }

    /// Makes a file without records the session that `meta` describes. Does nothing for other
    /// files.
    pub fn describe(&mut self, meta: SessionMeta) -> Result<(), SessionError> {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let State::Open(log) = state
            && std::mem::take(&mut log.nameless)
        {
            let records = first_records(&meta, &[]).map_err(SessionError::write(&self.path))?;
            log.pending.extend(records);
            log.model = (meta.provider.clone(), meta.model.clone());
            self.meta = meta;
        }
        Ok(())
    }

    /// Records the model that continues the session, before the next record.
    pub fn set_next_model(&self, provider: &str, model: &str) -> Result<(), SessionError> {
        self.change_model(provider, model, |log, record| {
            log.pending.extend_from_slice(record);
            Ok(())
        })
    }

    /// Records the model that continues the session, at once.
    pub fn append_model(&self, provider: &str, model: &str) -> Result<(), SessionError> {
        self.change_model(provider, model, |log, record| {
            log.write(record, self.replica.as_deref())?;
            log.sync(self.durability)
        })
    }

    /// Records a change of model with `write_record`. A session without a message has no file yet,
    /// and will begin with that model.
    fn change_model(
        &self,
        provider: &str,
        model: &str,
        write_record: impl FnOnce(&mut OpenLog, &[u8]) -> io::Result<()>,
    ) -> Result<(), SessionError> {
        let failed = SessionError::write(&self.path);
        let wanted = (provider.to_owned(), model.to_owned());
        match &mut *self.lock() {
            State::Announced { meta, .. } => (meta.provider, meta.model) = wanted,
            State::Open(log) if log.model == wanted => {}
            State::Open(log) => {
                let record = line(&Record::Model { provider, model }).map_err(&failed)?;
                write_record(log, &record).map_err(&failed)?;
                log.model = wanted;
            }
        }
        Ok(())
    }

    /// Returns the session's description when it was opened.
    pub fn meta(&self) -> &SessionMeta {
        &self.meta
    }

    /// Returns which failures its records survive.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Returns the path of the file, even before it exists.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn append_message(&self, message: &Arc<Message>) -> Result<(), SessionError> {
        let sync = match message.role {
            // The usage record follows at once, and both are synced then.
            Role::Assistant => Durability::ProcessEnd,
            Role::User | Role::Tool => self.durability,
        };
        let message = message.into();
        self.append(&Record::Message { message }, sync)
    }

    pub fn append_usage(&self, turn: &Usage, cumulative: &Usage) -> Result<(), SessionError> {
        let record = Record::Usage {
            usage: turn.into(),
            cumulative: cumulative.into(),
        };
        self.append(&record, self.durability)
    }

    /// Records the result of one call while others of its batch still run.
    pub fn append_result(&self, result: &ToolResult) -> Result<(), SessionError> {
        let result = result.into();
        self.append(&Record::Result { result }, self.durability)
    }

    pub fn append_replacement(&self, messages: &[Arc<Message>]) -> Result<(), SessionError> {
        // Nothing to replace, so no file is needed.
        if messages.is_empty() && !self.has_file() {
            return Ok(());
        }
        let messages = messages.iter().map(Into::into).collect();
        self.append(&Record::Replaced { messages }, self.durability)
    }

    /// Creates the file now, without waiting for a message, with these records.
    pub(crate) fn copy(&self, records: Vec<u8>) -> Result<(), SessionError> {
        let mut state = self.lock();
        let log = self.opened(&mut state)?;
        log.write(&records, self.replica.as_deref())
            .map_err(SessionError::write(&self.path))
    }

    fn has_file(&self) -> bool {
        matches!(*self.lock(), State::Open(_))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes one record with one `write`.
    fn append(&self, record: &Record<'_>, sync: Durability) -> Result<(), SessionError> {
        let failed = SessionError::write(&self.path);
        let line = line(record).map_err(&failed)?;
        let mut state = self.lock();
        let log = self.opened(&mut state)?;
        log.write(&line, self.replica.as_deref()).map_err(&failed)?;
        log.sync(sync).map_err(&failed)
    }

    /// Returns the open file, which is created if necessary.
    fn opened<'a>(&self, state: &'a mut State) -> Result<&'a mut OpenLog, SessionError> {
        if let State::Announced { meta, messages } = state {
            let pending =
                first_records(meta, messages).map_err(SessionError::create(&self.path))?;
            let file = self.create_file()?;
            *state = State::Open(OpenLog {
                file,
                end: 0,
                pending,
                nameless: false,
                model: (
                    std::mem::take(&mut meta.provider),
                    std::mem::take(&mut meta.model),
                ),
            });
        }
        match state {
            State::Open(log) => Ok(log),
            State::Announced { .. } => Err(SessionError::create(&self.path)(
                io::ErrorKind::Other.into(),
            )),
        }
    }

    fn create_file(&self) -> Result<File, SessionError> {
        let failed = SessionError::create(&self.path);
        let directory = match self.path.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory,
            _ => Path::new("."),
        };
        make_directory(directory).map_err(&failed)?;
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.path)
            .map_err(&failed)?;
        lock::take(&file, &self.path)?;
        if self.durability == Durability::PowerLoss {
            // The file's name must survive as well as its content.
            File::open(directory)
                .and_then(|directory| directory.sync_all())
                .map_err(&failed)?;
        }
        Ok(file)
    }
}

impl OpenLog {
    fn sync(&self, durability: Durability) -> io::Result<()> {
        durability.settle(&self.file)
    }

    fn write(&mut self, line: &[u8], replica: Option<&dyn Replica>) -> io::Result<()> {
        let written = if self.pending.is_empty() {
            self.write_both(line, replica)
        } else {
            self.write_both(&[self.pending.as_slice(), line].concat(), replica)
        };
        match written {
            Ok(count) => {
                self.end += count;
                self.pending = Vec::new();
                Ok(())
            }
            Err(error) => {
                // Otherwise the remains of this record would damage the next one.
                if self.file.set_len(self.end).is_err() && !self.pending.starts_with(b"\n") {
                    self.pending.insert(0, b'\n');
                }
                Err(error)
            }
        }
    }

    /// Writes to the file and then to the replica, and returns how much was written.
    fn write_both(&mut self, bytes: &[u8], replica: Option<&dyn Replica>) -> io::Result<u64> {
        self.file.write_all(bytes)?;
        if let Some(replica) = replica {
            let stored = replica.append(self.end, bytes);
            stored.map_err(|error| io::Error::other(ReplicaFailed(error)))?;
        }
        Ok(bytes.len() as u64)
    }
}

fn first_records(meta: &SessionMeta, messages: &[Arc<Message>]) -> io::Result<Vec<u8>> {
    let meta = &meta.into();
    let mut records = line(&Record::Meta { meta })?;
    for message in messages {
        let message = message.into();
        records.extend(line(&Record::Message { message })?);
    }
    Ok(records)
}

fn make_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}
