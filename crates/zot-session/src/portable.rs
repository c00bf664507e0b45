//! Portable sessions: `.zotsession` files, which do not reveal where the sender worked.

#[cfg(test)]
mod tests;

use std::path::Path;

use zot_conversation::{ContentBlock, Message};

use crate::id::file_below_sessions;
use crate::line::{self, Line};
use crate::reader::{LineEnd, for_each_line};
use crate::record::Record;
use crate::{Durability, ReadReport, SessionError, SessionLog, SessionMeta, View, read, record};

/// A session as the content of a `.zotsession` file.
pub struct Exported {
    pub bytes: Vec<u8>,
    /// How many messages still contain the path of the sender's working directory or home.
    pub messages_with_paths: usize,
}

/// Makes the session in `file` portable. The messages stay unchanged.
///
/// `home` is the sender's; messages that name it are counted.
pub fn export(file: &Path, home: Option<&str>) -> Result<Exported, SessionError> {
    let session = read(file, View::Everything)?;
    let meta = SessionMeta {
        cwd: String::new(),
        parent: None,
        fork_point: None,
        ..session.meta.clone()
    };
    let meta = &(&meta).into();
    let mut bytes = record::line(&Record::Meta { meta }).map_err(SessionError::read(file))?;
    bytes.extend(records(file)?);
    let paths: Vec<&str> = [Some(session.meta.cwd.as_str()), home]
        .into_iter()
        .flatten()
        .filter(|path| path.len() > 1)
        .collect();
    let with_paths = session.messages.iter();
    let messages_with_paths = with_paths.filter(|message| names(message, &paths)).count();
    Ok(Exported {
        bytes,
        messages_with_paths,
    })
}

/// Imports a session from a file, for a user who works in `cwd`.
///
/// It gets a new id, so that importing twice creates two sessions.
pub fn import(
    sessions: &Path,
    file: &Path,
    cwd: String,
) -> Result<(SessionLog, ReadReport), SessionError> {
    let session = read(file, View::Current)?;
    let meta = session.meta.successor(cwd);
    let path = sessions.join(file_below_sessions(&meta));
    let log = SessionLog::announce_at(path, meta, Durability::ProcessEnd)?;
    log.copy(records(file)?)?;
    Ok((log, session.report))
}

/// Returns the records of a file unchanged, without its description and damaged lines.
fn records(file: &Path) -> Result<Vec<u8>, SessionError> {
    let opened = zot_files::open_existing(file).map_err(SessionError::open(file))?;
    let mut bytes = Vec::new();
    let mut is_named = false;
    for_each_line(&opened, |raw| {
        if raw.ends == LineEnd::TooLong {
            return;
        }
        match line::parse(raw.bytes) {
            Err(_) => {}
            Ok(Line::Meta(meta)) if std::mem::replace(&mut is_named, true) => {
                // A later description also repeats the id; only the model matters.
                let (provider, model) = (&meta.provider, &meta.model);
                let model = record::line(&Record::Model { provider, model });
                bytes.extend(model.unwrap_or_default());
            }
            Ok(Line::Meta(_)) => {}
            Ok(_) => {
                bytes.extend_from_slice(raw.bytes);
                bytes.push(b'\n');
            }
        }
    })
    .map_err(SessionError::read(file))?;
    Ok(bytes)
}

fn names(message: &Message, paths: &[&str]) -> bool {
    message
        .content
        .iter()
        .any(|block| block_names(block, paths))
}

fn block_names(block: &ContentBlock, paths: &[&str]) -> bool {
    let named = |text: &str| paths.iter().any(|path| text.contains(path));
    match block {
        ContentBlock::Text(text) => named(text),
        ContentBlock::Reasoning(reasoning) => named(&reasoning.text),
        ContentBlock::ToolCall(call) => named(call.arguments.json_or_empty()),
        ContentBlock::ToolResult(result) => {
            result.content.iter().any(|block| block_names(block, paths))
        }
        ContentBlock::Image(_) => false,
    }
}
