//! Notices that what something was derived from has changed.

use std::fs;
use std::path::{Path, PathBuf};

use crate::launch::FileIdentity;

/// What something was derived from, as it was then.
#[derive(Debug, Default)]
pub(super) struct Sources(Vec<(PathBuf, Option<Source>)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Missing,
    As(FileIdentity),
}

impl Sources {
    pub(super) fn of<'a>(paths: impl Iterator<Item = &'a Path>) -> Self {
        let mut sources: Vec<(PathBuf, Option<Source>)> = Vec::new();
        for path in paths {
            if sources.iter().any(|(known, _)| known == path) {
                continue;
            }
            // One whose changes could be hidden counts as changed.
            let certain = Some(Source::now(path)).filter(|source| match source {
                Source::Missing => true,
                Source::As(found) => !found.may_hide_changes() || found.is_settled(),
            });
            sources.push((path.to_owned(), certain));
        }
        Self(sources)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether nothing has changed for sure.
    pub(super) fn are_unchanged(&self) -> bool {
        let is_unchanged = |(path, before): &(PathBuf, Option<Source>)| {
            before.is_some_and(|before| before == Source::now(path))
        };
        !self.is_empty() && self.0.iter().all(is_unchanged)
    }
}

impl Source {
    fn now(path: &Path) -> Self {
        // Where a link leads counts, as when it is read.
        match fs::metadata(path) {
            Ok(found) => Self::As(FileIdentity::from(&found)),
            Err(_) => Self::Missing,
        }
    }
}
