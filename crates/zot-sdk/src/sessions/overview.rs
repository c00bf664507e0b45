//! Describes one session.

use std::fmt;
use std::path::{Path, PathBuf};

use zot_session::{Session, View, read};

use super::{OperationError, library};
use crate::workspace::Workspace;

/// A session and its file.
#[derive(Debug, Clone)]
pub struct ShownSession {
    /// The path of the file.
    pub path: PathBuf,
    /// The session, including messages that the model has no longer.
    pub session: Session,
}

/// Reads a session.
pub fn show(workspace: &Workspace, name: &str) -> Result<ShownSession, OperationError> {
    let path = library(workspace).find(name)?;
    let session = read(&path, View::Everything)?;
    Ok(ShownSession { path, session })
}

impl ShownSession {
    /// Returns a description of the session, without its messages.
    pub fn overview(&self) -> Overview<'_> {
        Overview {
            path: &self.path,
            session: &self.session,
        }
    }
}

/// The description of a session, one value per line.
#[derive(Debug, Clone, Copy)]
pub struct Overview<'a> {
    path: &'a Path,
    session: &'a Session,
}

impl Overview<'_> {
    /// Returns the names and the values.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let Session {
            meta,
            usage,
            report,
            ..
        } = self.session;
        let mut lines = vec![("session", meta.id.clone())];
        lines.extend(meta.title.clone().map(|title| ("title", title)));
        lines.push(("file", self.path.display().to_string()));
        lines.push(("directory", meta.cwd.clone()));
        lines.push(("model", format!("{} {}", meta.provider, meta.model)));
        let started = meta.started.strftime("%Y-%m-%d %H:%M UTC");
        lines.push(("started", started.to_string()));
        if let Some(parent) = &meta.parent {
            let kept = meta.fork_point.unwrap_or_default();
            lines.push(("forked", format!("from {parent} after {kept} messages")));
        }
        lines.push((
            "spent",
            format!(
                "{} tokens in, {} out, ${:.4}",
                usage.prompt_tokens(),
                usage.output,
                usage.cost_usd
            ),
        ));
        let findings = report.findings().into_iter();
        lines.extend(findings.map(|finding| ("note", finding)));
        lines
    }

    /// Returns the line that counts the messages.
    pub fn counts(&self) -> (&'static str, String) {
        let messages = &self.session.messages;
        let prompts = messages.iter().filter(|message| message.is_prompt());
        let (count, prompts) = (messages.len(), prompts.count());
        let plural = if prompts == 1 { "" } else { "s" };
        (
            "messages",
            format!("{count}, including {prompts} prompt{plural}"),
        )
    }
}

impl fmt::Display for Overview<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.lines().into_iter().chain([self.counts()]).enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            let value = value.replace(['\n', '\r', '\t'], " ");
            write!(formatter, "{separator}{name:<10} {value}")?;
        }
        Ok(())
    }
}
