//! Why the sandbox refuses a path, in words for the model.

use std::fmt;
use std::path::PathBuf;

use zot_process::sandbox::{Access, Level, Refusal};

/// A path that the sandbox refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedPath {
    /// As requested.
    pub path: PathBuf,
    /// Where its links lead, if it has any.
    pub target: Option<PathBuf>,
    pub access: Access,
    pub level: Level,
    /// Whether the sandbox is that of `--jail`.
    pub is_jail: bool,
    /// The working directory, without links.
    pub directory: PathBuf,
    pub refusal: Refusal,
    /// The protected path that it is, or is in.
    pub protected: Option<PathBuf>,
    /// What a rule would have to name, if that is not far more than the path.
    pub allowed_by: Option<PathBuf>,
}

impl std::error::Error for RefusedPath {}

impl fmt::Display for RefusedPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.path.display())?;
        let used = match &self.target {
            Some(target) => {
                write!(formatter, ", which leads to {},", target.display())?;
                target
            }
            None => &self.path,
        };
        let directory = self.directory.display();
        // Only a new start of zot takes flags, and the level may be one of them.
        let start = match self.is_jail {
            true => "zot --continue --jail".to_owned(),
            false => format!("zot --continue --sandbox {}", self.level),
        };
        if self.refusal == Refusal::Protected {
            let protected = self.protected.as_ref().unwrap_or(used).display();
            return write!(
                formatter,
                " is protected: programs outside of the sandbox act on {protected}; only the user can \
                 allow this, with --sandbox-write {protected} ({start} --sandbox-write {protected})"
            );
        }
        if self.is_jail {
            return match self.refusal {
                Refusal::ReadOnly => write!(
                    formatter,
                    " can only be read while zot is confined to {directory}; only the user can lift this"
                ),
                Refusal::Outside | Refusal::Protected => write!(
                    formatter,
                    " is outside of the directory zot is confined to, {directory}; only the user can \
                     lift this"
                ),
            };
        }
        let level = self.level;
        let (problem, option) = match (&self.refusal, self.access) {
            (Refusal::ReadOnly, _) => ("is read-only in", "--sandbox-write"),
            (_, Access::Write) => ("is outside of", "--sandbox-write"),
            (_, Access::Read) => ("is outside of", "--sandbox-read"),
        };
        write!(
            formatter,
            " {problem} the sandbox (level {level}, working directory {directory}); only the user can \
             allow this, with {option} "
        )?;
        match &self.allowed_by {
            Some(path) => write!(formatter, "{0} ({start} {option} {0})", path.display()),
            None => formatter.write_str("and a directory that exists"),
        }
    }
}
