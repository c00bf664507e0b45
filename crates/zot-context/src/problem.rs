//! Problems with files that were found.

use std::path::PathBuf;

use crate::file::ReadError;
use crate::front_matter::FrontMatterError;
use crate::skill::SkillError;

/// Something the user should know about a file. Nothing failed because of it.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", path.display())]
pub struct Problem {
    pub path: PathBuf,
    #[source]
    pub cause: ProblemCause,
}

#[derive(Debug, thiserror::Error)]
pub enum ProblemCause {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    FrontMatter(#[from] FrontMatterError),
    #[error(transparent)]
    Skill(#[from] SkillError),
    #[error("only the first {kept} of its {length} bytes are used; make it shorter")]
    Cut { kept: usize, length: u64 },
    #[error("left out: all instructions together may have {limit} bytes")]
    OverAll { limit: usize },
    #[error("left out: more than {limit} are not looked at")]
    TooMany { limit: usize },
}

impl Problem {
    pub(crate) fn new(path: impl Into<PathBuf>, cause: impl Into<ProblemCause>) -> Self {
        Self {
            path: path.into(),
            cause: cause.into(),
        }
    }
}
