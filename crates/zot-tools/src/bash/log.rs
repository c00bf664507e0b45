//! The file that keeps an output which is too long for its result.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::file::{Location, OwnDirectory, create_private, random_hex, reason};

/// The most bytes a file keeps; the rest of the output is lost.
///
/// Limit: the file with the full output ends here.
const MAX_BASH_LOG_BYTES: u64 = 1024 * 1024 * 1024;

/// How the names of such files begin and end.
const NAME_START: &str = "zot-bash-";
const NAME_END: &str = ".log";

/// Returns whether a file with this name keeps an output.
pub(crate) fn is_log(name: &Path) -> bool {
    let name = name.to_str().unwrap_or_default();
    !name.contains('/') && name.starts_with(NAME_START) && name.ends_with(NAME_END)
}

/// Where to create such a file.
#[derive(Debug, Clone)]
pub(super) enum LogDirectory<'a> {
    /// In a directory that is created if necessary.
    Anywhere(&'a Path),
    /// In a directory that confined commands can change as well: links are not followed.
    InSandbox {
        real: PathBuf,
        /// What commands and file tools call it.
        shown: PathBuf,
    },
}

/// A growing file, until it is full or fails.
pub(super) struct OutputLog {
    file: Result<File, io::Error>,
    path: PathBuf,
    written: u64,
    lost: u64,
}

impl OutputLog {
    /// Creates a file that only its owner can read.
    pub(super) fn create(directory: &LogDirectory<'_>) -> Self {
        let name = format!("{NAME_START}{}{NAME_END}", random_hex());
        let (path, file) = match directory {
            LogDirectory::Anywhere(directory) => {
                let path = directory.join(name);
                let mut builder = DirBuilder::new();
                let made = builder.recursive(true).mode(0o700).create(directory);
                let location = Location::Anywhere(path.clone());
                (path, made.and_then(|()| create_private(&location)))
            }
            LogDirectory::InSandbox { real, shown } => {
                let path = shown.join(&name);
                let file = create_private(&Location::Below {
                    shown: path.clone(),
                    root: real.clone(),
                    inside: name.into(),
                    target: path.clone(),
                    layout: None,
                    own: Some(OwnDirectory::Temporary),
                });
                (path, file)
            }
        };
        Self {
            file,
            path,
            written: 0,
            lost: 0,
        }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        let room = usize::try_from(MAX_BASH_LOG_BYTES - self.written).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        self.lost += (bytes.len() - kept.len()) as u64;
        let Ok(file) = &mut self.file else {
            return;
        };
        match file.write_all(kept) {
            Ok(()) => self.written += kept.len() as u64,
            Err(error) => self.file = Err(error),
        }
    }

    /// Describes where to find what the result leaves out.
    pub(super) fn describe(&self) -> String {
        let path = self.path.display();
        match &self.file {
            Ok(_) if self.lost == 0 => format!("full output: {path}"),
            Ok(_) => format!("the first {} bytes: {path}", self.written),
            Err(error) if self.written > 0 => {
                format!("the first part, until {}: {path}", reason(error))
            }
            Err(error) => format!("not kept: {path}: {}", reason(error)),
        }
    }
}
