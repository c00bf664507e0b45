//! The sandbox of a process that runs for long: what it noticed so far.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use zot_files::ScratchDirectory;
use zot_process::sandbox::record::NetworkLog;
use zot_process::sandbox::{Contact, Level, RunMark, Sandbox};

/// How often a confined process is checked: for what it contacted, and for files that it must not create in
/// the project.
///
/// Limit: a file that zot or other programs would act on, such as one in `.zot/extensions`, is there for so
/// long before it is renamed.
const SANDBOX_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// How many hosts the log of a process names, and how many files.
///
/// Limit: further ones are not logged.
const MAX_SANDBOX_REMARKS: usize = 256;

/// Something that the sandbox of a process did or noticed, in a sentence for its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxRemark {
    pub text: String,
    /// Whether it is about a file of the user, who should hear of it at once.
    pub concerns_user: bool,
}

/// The sandbox of a running process, with its temporary files.
#[derive(Debug)]
pub struct ProcessSandbox {
    sandbox: Sandbox,
    run: RunMark,
    noted: Mutex<Noted>,
    next_check: Mutex<Instant>,
    network_log: Mutex<Option<NetworkLog>>,
    _scratch: Option<ScratchDirectory>,
}

impl ProcessSandbox {
    pub(super) fn new(
        sandbox: Sandbox,
        run: RunMark,
        scratch: Option<ScratchDirectory>,
        network_log: Option<NetworkLog>,
    ) -> Self {
        Self {
            sandbox,
            run,
            noted: Mutex::default(),
            next_check: Mutex::new(Instant::now() + SANDBOX_CHECK_INTERVAL),
            network_log: Mutex::new(network_log),
            _scratch: scratch,
        }
    }

    /// Returns how it is confined.
    pub fn level(&self) -> Level {
        self.sandbox.policy().level
    }

    /// Returns the hosts that it contacted, and those that were refused.
    pub fn contacts(&self) -> Vec<Contact> {
        self.sandbox.contacts()
    }

    /// Returns what was contacted and refused since the last time, and records it.
    pub fn remarks(&self) -> Vec<SandboxRemark> {
        let obstacles = self.sandbox.obstacles(&self.run);
        let contacts = self.contacts();
        if let Some(log) = &mut *lock(&self.network_log) {
            log.write(contacts.clone());
        }
        let hosts = contacts.into_iter().map(|contact| {
            let (host, port) = (&contact.host, contact.port);
            match contact.is_allowed {
                true => format!("it contacted {host}:{port}"),
                false => format!("the sandbox refused a connection to {host}:{port}"),
            }
        });
        let hosts = hosts.map(|text| (text, false));
        // The user may have created it: of a process that runs as long as the session, nobody can tell.
        let files = obstacles.withheld_files.iter().map(|(path, renamed)| {
            let (path, renamed) = (path.display(), renamed.display());
            format!(
                "{path} was created while it ran, and is protected: renamed to {renamed}; \
                 if you created it, rename it back after zot has ended"
            )
        });
        let changed = obstacles.changed_files.iter().map(|path| {
            let path = path.display();
            format!("{path} was changed while it ran, and is protected: check it before you use it")
        });
        let files = files.chain(changed).map(|text| (text, true));
        let mut noted = lock(&self.noted);
        hosts
            .chain(files)
            .map(|(text, concerns_user)| SandboxRemark {
                text,
                concerns_user,
            })
            .filter(|remark| noted.is_new(remark))
            .collect()
    }

    /// Waits until there is something to remark, and returns it. Cancel-safe: however often it is called again,
    /// the files are checked in time.
    pub async fn noticed(&self) -> Vec<SandboxRemark> {
        if self.level() == Level::Off {
            return std::future::pending().await;
        }
        loop {
            let check = *lock(&self.next_check);
            sleep_until(check).await;
            *lock(&self.next_check) = Instant::now() + SANDBOX_CHECK_INTERVAL;
            let remarks = self.remarks();
            if !remarks.is_empty() {
                return remarks;
            }
        }
    }
}

/// What was said about a process.
#[derive(Debug, Default)]
struct Noted {
    hosts: HashSet<String>,
    /// Apart, so that no number of hosts hides one of them.
    files: HashSet<String>,
}

impl Noted {
    fn is_new(&mut self, remark: &SandboxRemark) -> bool {
        let noted = match remark.concerns_user {
            true => &mut self.files,
            false => &mut self.hosts,
        };
        noted.len() < MAX_SANDBOX_REMARKS && noted.insert(remark.text.clone())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
