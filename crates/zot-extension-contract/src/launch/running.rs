//! The sandbox of a process that runs for long: what it noticed so far.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use zot_files::ScratchDirectory;
use zot_process::sandbox::{Contact, RunMark, Sandbox};

/// How often a process that may write to the project is checked for files that it must not create there.
///
/// Limit: a file that zot or other programs would act on, such as one in `.zot/extensions`, is there for so
/// long before it is renamed.
const PROTECTED_FILES_INTERVAL: Duration = Duration::from_secs(2);

/// How many hosts and files the log of a process names.
///
/// Limit: further ones are not logged.
const MAX_SANDBOX_REMARKS: usize = 256;

/// The sandbox of a running process, with its temporary files.
#[derive(Debug)]
pub struct ProcessSandbox {
    sandbox: Sandbox,
    run: RunMark,
    noted: Mutex<HashSet<String>>,
    next_check: Mutex<Instant>,
    _scratch: Option<ScratchDirectory>,
}

impl ProcessSandbox {
    pub(super) fn new(sandbox: Sandbox, run: RunMark, scratch: Option<ScratchDirectory>) -> Self {
        Self {
            sandbox,
            run,
            noted: Mutex::default(),
            next_check: Mutex::new(Instant::now() + PROTECTED_FILES_INTERVAL),
            _scratch: scratch,
        }
    }

    /// Returns the hosts that it contacted, and those that were refused.
    pub fn contacts(&self) -> Vec<Contact> {
        self.sandbox.contacts()
    }

    /// Returns what was contacted and refused since the last time, in sentences for a log.
    pub fn remarks(&self) -> Vec<String> {
        let obstacles = self.sandbox.obstacles(&self.run);
        let hosts = self.contacts().into_iter().map(|contact| {
            let (host, port) = (&contact.host, contact.port);
            match contact.is_allowed {
                true => format!("it contacted {host}:{port}"),
                false => format!("the sandbox refused a connection to {host}:{port}"),
            }
        });
        let files = obstacles.withheld_files.iter().map(|(path, renamed)| {
            let (path, renamed) = (path.display(), renamed.display());
            format!("it created {path}, which is protected: renamed to {renamed}")
        });
        let changed = obstacles.changed_files.iter();
        let changed =
            changed.map(|path| format!("it changed {}, which is protected", path.display()));
        let mut noted = lock(&self.noted);
        hosts
            .chain(files)
            .chain(changed)
            .filter(|remark| noted.len() < MAX_SANDBOX_REMARKS && noted.insert(remark.clone()))
            .collect()
    }

    /// Waits until there is something to remark, and returns it. Cancel-safe: however often it is called again,
    /// the files are checked in time.
    pub async fn noticed(&self) -> Vec<String> {
        if !self.run.may_create_protected_files() {
            return std::future::pending().await;
        }
        loop {
            let check = *lock(&self.next_check);
            sleep_until(check).await;
            *lock(&self.next_check) = Instant::now() + PROTECTED_FILES_INTERVAL;
            let remarks = self.remarks();
            if !remarks.is_empty() {
                return remarks;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
