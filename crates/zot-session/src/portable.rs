//! Sessions that travel: `.zotsession` files, which do not say where the sender worked.

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use zot_conversation::{ContentBlock, Message};

use crate::record::{Record, line};
use crate::{Durability, ReadReport, Session, SessionError, SessionLog, SessionMeta, View, read};

/// A session as the content of a `.zotsession` file.
pub struct Exported {
    pub bytes: Vec<u8>,
    /// How many messages still name the sender's working directory or home, because someone said
    /// or printed it.
    pub messages_with_paths: usize,
}

/// Makes a session portable. What was said is left as it is.
///
/// `home` is the sender's; messages that name it are counted.
pub fn export(session: &Session, home: Option<&str>) -> io::Result<Exported> {
    let meta = SessionMeta {
        cwd: String::new(),
        parent: None,
        fork_point: None,
        ..session.meta.clone()
    };
    let mut bytes = line(&Record::Meta {
        meta: &(&meta).into(),
    })?;
    let mut turns = session.turns.iter().peekable();
    let mut cumulative = zot_conversation::Usage::default();
    for (index, message) in session.messages.iter().enumerate() {
        bytes.extend(line(&Record::Message {
            message: message.into(),
        })?);
        while let Some(turn) = turns.next_if(|turn| turn.messages <= index + 1) {
            cumulative += turn.usage;
            bytes.extend(line(&Record::Usage {
                usage: (&turn.usage).into(),
                cumulative: (&cumulative).into(),
            })?);
        }
    }
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

/// Makes a session of this machine from a file, for someone who works in `cwd`.
///
/// It gets an id of its own, so that importing twice makes two.
pub fn import(
    sessions: &Path,
    file: &Path,
    cwd: String,
) -> Result<(SessionLog, ReadReport), SessionError> {
    let session = read(file, View::Current)?;
    let meta = session.meta.successor(cwd);
    let path = sessions.join(crate::id::file_below_sessions(&meta));
    let log = SessionLog::beginning_with(path, meta, &session.messages, Durability::ProcessEnd)?;
    log.keep()?;
    if session.usage != zot_conversation::Usage::default() {
        log.append_usage(&session.usage, &session.usage)?;
    }
    Ok((log, session.report))
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
