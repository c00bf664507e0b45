//! Systems other than Linux: nothing is enforced, and the report says so.

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{ConfineError, Confinement, Enforcement, Execution, FileAccess, Status, ViewPlan};

/// Nothing is done before `exec`.
#[derive(Default)]
pub(super) struct Steps {}

pub(super) fn steps(_command: &Command, _confinement: &Confinement) -> Result<Steps, ConfineError> {
    Ok(Steps {})
}

/// No files are given to children, because they cannot be kept from the others.
pub(crate) const SYSTEM_FILES: [&str; 0] = [];

/// Cannot be made.
#[derive(Debug)]
pub(crate) enum View {}

impl View {
    pub(crate) fn new(_plan: &ViewPlan) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn take_listener(&self) -> Option<TcpListener> {
        match *self {}
    }
}

/// Cannot be made.
#[derive(Debug)]
pub(crate) enum DirectoryWatch {}

impl DirectoryWatch {
    pub(crate) fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn add(&self, _directory: &Path) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn has_changed(&self) -> bool {
        match *self {}
    }
}

/// Never made.
#[derive(Debug)]
pub(crate) struct FileRules {}

impl FileRules {
    pub(crate) fn new(
        _command: &Command,
        _access: &FileAccess,
        _root: Option<&Path>,
    ) -> Result<Self, ConfineError> {
        Ok(Self {})
    }
}

pub(crate) fn namespaces_available() -> Result<(), String> {
    Err("only Linux is supported".to_owned())
}

/// Nothing is confined, so nothing is swept.
pub(super) fn sweep(_sweeping: &std::sync::Arc<super::Sweeping>) {}

pub(crate) fn files_needed(
    _command: &Command,
    _execute: &Execution,
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    (Vec::new(), Vec::new())
}

pub(super) fn enforcement(confinement: &Confinement) -> Enforcement {
    let files = confinement.files.as_ref();
    let only_some = files.is_some_and(|files| files.execute != Execution::Anything);
    Enforcement {
        files: status(files.is_some()),
        execution: status(only_some),
        network: status(confinement.without_network),
        memory: status(confinement.memory_limit.is_some()),
        process_count: status(confinement.processes.is_some()),
        processes: status(files.is_some()),
        parent_death: status(true),
    }
}

pub(super) fn enforceable() -> Enforcement {
    Enforcement {
        files: status(true),
        execution: status(true),
        network: status(true),
        memory: status(true),
        process_count: status(true),
        processes: status(true),
        parent_death: status(true),
    }
}

pub(super) fn isolation_report() -> String {
    "nothing: only Linux is supported".to_owned()
}

fn status(requested: bool) -> Status {
    if requested {
        Status::NotEnforced("only Linux is supported".to_owned())
    } else {
        Status::NotRequested
    }
}
