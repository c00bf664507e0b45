//! The sessions of agents as files: `sessions/PROFILE/ID.jsonl`, byte for byte.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::database::Database;
use crate::memory::error::StoreError;
use crate::postgres::{Connection, bytes, integer, text};

/// Below the exported directory.
const DIRECTORY: &str = "sessions";

const EXTENSION: &str = "jsonl";

/// How many bytes of a session are stored in one row when a file is imported.
///
/// Limit: the rest of the file is stored in another row.
const IMPORTED_RECORD_BYTES: usize = 4 * 1024 * 1024;

/// How many records of a session are exported with one statement.
///
/// Limit: the next records are read with another statement.
const EXPORTED_RECORDS_AT_ONCE: i64 = 100;

/// The access to a directory or file of sessions: for its owner.
const FILE_MODE: u32 = 0o600;

/// A session as the database lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEntry {
    pub id: String,
    pub profile: String,
    /// The worker that has it now.
    pub worker: Option<String>,
    /// When it was written to last, in UTC.
    pub changed: String,
    pub bytes: i64,
}

impl Database {
    /// Lists the sessions, the last changed first.
    pub async fn sessions(&self) -> Result<Vec<SessionEntry>, StoreError> {
        let mut connection = self.open().await?;
        let statement = "select id, profile,
                case when lease_until > clock_timestamp() then owner end,
                to_char(changed at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'), bytes
            from zino_session order by changed desc, id";
        let rows = self.query(&mut connection, statement, &[]).await?;
        let entry = |row| {
            Ok(SessionEntry {
                id: self.column(row, 0)?,
                profile: self.column(row, 1)?,
                worker: self.column(row, 2)?,
                changed: self.column(row, 3)?,
                bytes: self.column(row, 4)?,
            })
        };
        rows.iter().map(entry).collect()
    }

    /// Stores the sessions of a directory; returns how many there are.
    pub(super) async fn import_sessions(
        &self,
        connection: &mut Connection,
        directory: &Path,
    ) -> Result<usize, StoreError> {
        let files = in_background({
            let directory = directory.join(DIRECTORY);
            move || session_files(&directory)
        })
        .await?;
        for file in &files {
            let content = in_background({
                let path = file.path.clone();
                move || fs::read(&path).map_err(StoreError::io(&path))
            })
            .await?;
            let length = content.len() as i64;
            let statement = "insert into zino_session (id, profile, bytes) values ($1, $2, $3)";
            let parameters = [text(&file.id), text(&file.profile), integer(&length)];
            self.query(connection, statement, &parameters).await?;
            let mut position = 0_i64;
            for record in content.chunks(IMPORTED_RECORD_BYTES) {
                let statement = "insert into zino_session_record (session, position, bytes)
                    values ($1, $2, $3)";
                let parameters = [text(&file.id), integer(&position), bytes(&record)];
                self.query(connection, statement, &parameters).await?;
                position += record.len() as i64;
            }
        }
        Ok(files.len())
    }

    /// Writes all sessions into a directory.
    pub(super) async fn export_sessions(
        &self,
        connection: &mut Connection,
        directory: &Path,
    ) -> Result<(), StoreError> {
        let statement = "select id, profile from zino_session order by id";
        for row in self.query(connection, statement, &[]).await? {
            let (id, profile): (String, String) = (self.column(&row, 0)?, self.column(&row, 1)?);
            if let Some(name) = [&id, &profile].into_iter().find(|name| !is_file_name(name)) {
                return Err(StoreError::NotAFileName(name.clone()));
            }
            let content = self.session_records(connection, &id).await?;
            let directory = directory.join(DIRECTORY).join(&profile);
            in_background(move || {
                let path = directory.join(format!("{id}.{EXTENSION}"));
                let written = zot_files::create_private_directory(&directory)
                    .and_then(|()| zot_files::replace(&path, &content, FILE_MODE));
                written.map_err(StoreError::io(&path))
            })
            .await?;
        }
        Ok(())
    }

    async fn session_records(
        &self,
        connection: &mut Connection,
        session: &str,
    ) -> Result<Vec<u8>, StoreError> {
        let mut content = Vec::new();
        let statement = "select bytes from zino_session_record
            where session = $1 and position >= $2 order by position limit $3";
        loop {
            let position = content.len() as i64;
            let limit = EXPORTED_RECORDS_AT_ONCE;
            let parameters = [text(&session), integer(&position), integer(&limit)];
            let rows = self.query(connection, statement, &parameters).await?;
            if rows.is_empty() {
                return Ok(content);
            }
            for row in &rows {
                let record: &[u8] = self.column(row, 0)?;
                content.extend_from_slice(record);
            }
        }
    }
}

struct SessionFile {
    id: String,
    profile: String,
    path: PathBuf,
}

/// Finds the files of sessions below a directory, which need not exist.
fn session_files(directory: &Path) -> Result<Vec<SessionFile>, StoreError> {
    let mut files = Vec::new();
    for (profile, directory) in entries(directory)? {
        for (name, path) in entries(&directory)? {
            let id = name.strip_suffix(&format!(".{EXTENSION}"));
            if let Some(id) = id.filter(|id| is_file_name(id)) {
                files.push(SessionFile {
                    id: id.to_owned(),
                    profile: profile.clone(),
                    path,
                });
            }
        }
    }
    Ok(files)
}

fn entries(directory: &Path) -> Result<Vec<(String, PathBuf)>, StoreError> {
    let listed = match fs::read_dir(directory) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io(directory)(error)),
    };
    let named = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.map_err(StoreError::io(directory))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        Ok((name, entry.path()))
    };
    let mut entries = listed.map(named).collect::<Result<Vec<_>, StoreError>>()?;
    entries.sort();
    Ok(entries)
}

/// Whether a name can be one of a file, and of nothing else.
fn is_file_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !name.is_empty() && name.bytes().all(is_plain)
}

async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(StoreError::Stopped))
}
