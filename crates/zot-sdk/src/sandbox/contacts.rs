//! Which hosts commands contacted, over all sessions: `$ZOT_HOME/logs/network.jsonl`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zot_conversation::{BoxFuture, HostContact, Tool, ToolDefinition, ToolInvocation, ToolOutput};
use zot_process::sandbox::{Contact, Level};
use zot_process::streams::ChildLog;
use zot_tools::ToolSandbox;

use crate::workspace::Workspace;

/// The largest record. There are two, the current one and the one before.
///
/// Limit: a full record replaces the one before, which is forgotten.
const MAX_NETWORK_LOG_BYTES: u64 = 1 << 20;

/// A host that commands contacted, or were refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactedHost {
    /// A name, or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether they were allowed to connect.
    pub is_allowed: bool,
    /// How often it was contacted.
    pub times: u64,
    /// When it was contacted last, in RFC 3339.
    pub last: String,
    /// The directory in which the last command worked.
    pub directory: String,
    /// The id of the last session, if it was kept.
    pub session: Option<String>,
}

/// A line of the record.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    time: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    directory: String,
    host: String,
    port: u16,
    allowed: bool,
    times: u64,
}

/// Returns the hosts on record, that of the latest contact first.
pub fn contacted_hosts(zot_home: &Path) -> Vec<ContactedHost> {
    let path = path(zot_home);
    let mut older = path.clone().into_os_string();
    older.push(".1");
    let mut hosts: Vec<ContactedHost> = Vec::new();
    for path in [PathBuf::from(older), path] {
        // Rotated by another process, it may be a little larger.
        let text = zot_files::read_limited(&path, 2 * MAX_NETWORK_LOG_BYTES);
        let Ok(Some(text)) = text else { continue };
        // A line that was cut by a full disk is skipped.
        for line in text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
        {
            add(&mut hosts, line);
        }
    }
    hosts.sort_by(|one, other| other.last.cmp(&one.last));
    hosts
}

fn add(hosts: &mut Vec<ContactedHost>, line: Line) {
    let is_same = |host: &&mut ContactedHost| {
        host.host == line.host && host.port == line.port && host.is_allowed == line.allowed
    };
    match hosts.iter_mut().find(is_same) {
        Some(host) => {
            host.times = host.times.saturating_add(line.times);
            host.last = line.time;
            host.directory = line.directory;
            host.session = line.session;
        }
        None => hosts.push(ContactedHost {
            host: line.host,
            port: line.port,
            is_allowed: line.allowed,
            times: line.times,
            last: line.time,
            directory: line.directory,
            session: line.session,
        }),
    }
}

fn path(zot_home: &Path) -> PathBuf {
    zot_home.join("logs").join("network.jsonl")
}

/// Writes what the commands of a session contact.
struct NetworkLog {
    log: ChildLog,
    session: Option<String>,
    directory: String,
    /// How often each host was contacted when it was written last.
    written: HashMap<(String, u16, bool), u64>,
}

impl NetworkLog {
    fn new(zot_home: &Path, cwd: &Path, session: Option<String>) -> Self {
        Self {
            log: ChildLog::new(path(zot_home), MAX_NETWORK_LOG_BYTES),
            session,
            directory: cwd.display().to_string(),
            written: HashMap::new(),
        }
    }

    /// Writes what is new in `contacts`, which are all of the session, and returns it.
    fn write(&mut self, contacts: Vec<Contact>) -> Vec<HostContact> {
        let mut new = Vec::new();
        // The record of the session forgets the oldest hosts, and so may this one.
        let mut seen = HashMap::new();
        for contact in contacts {
            let key = (contact.host.clone(), contact.port, contact.is_allowed);
            let before = self.written.get(&key).copied().unwrap_or_default();
            seen.insert(key, contact.times);
            // A host that was forgotten and came back counts from one.
            let times = match contact.times >= before {
                true => contact.times - before,
                false => contact.times,
            };
            if times == 0 {
                continue;
            }
            new.push(HostContact {
                host: contact.host.clone(),
                port: contact.port,
                is_allowed: contact.is_allowed,
            });
            let time = Timestamp::try_from(contact.last).unwrap_or_else(|_| Timestamp::now());
            let line = Line {
                time: time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
                session: self.session.clone(),
                directory: self.directory.clone(),
                host: contact.host,
                port: contact.port,
                allowed: contact.is_allowed,
                times,
            };
            if let Ok(mut line) = serde_json::to_vec(&line) {
                line.push(b'\n');
                self.log.append(&line);
            }
        }
        self.written = seen;
        new
    }
}

/// Lets `bash` write and report what its commands contacted, at the end of each call. Other tools are
/// returned unchanged.
pub fn recorded(
    tool: Arc<dyn Tool>,
    sandbox: &Arc<ToolSandbox>,
    workspace: &Workspace,
    session: Option<String>,
) -> Arc<dyn Tool> {
    if tool.definition().name != "bash" {
        return tool;
    }
    let log = NetworkLog::new(&workspace.zot_home, &workspace.cwd, session);
    Arc::new(RecordedTool {
        tool,
        sandbox: Arc::clone(sandbox),
        log: Mutex::new(log),
    })
}

struct RecordedTool {
    tool: Arc<dyn Tool>,
    sandbox: Arc<ToolSandbox>,
    log: Mutex<NetworkLog>,
}

impl RecordedTool {
    fn record(&self) -> Vec<HostContact> {
        if self.sandbox.level() == Level::Off {
            return Vec::new();
        }
        let Ok(sandbox) = self.sandbox.sandbox() else {
            return Vec::new();
        };
        let contacts = sandbox.contacts();
        if contacts.is_empty() {
            return Vec::new();
        }
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.write(contacts)
    }
}

impl Tool for RecordedTool {
    fn definition(&self) -> &Arc<ToolDefinition> {
        self.tool.definition()
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let mut output = self.tool.run(invocation).await;
            output.contacts.extend(self.record());
            output
        })
    }

    fn preview(&self, arguments: &RawValue) -> Option<String> {
        self.tool.preview(arguments)
    }
}

#[cfg(test)]
mod tests;
