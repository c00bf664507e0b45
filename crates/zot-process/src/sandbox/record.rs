//! The record of contacted hosts over all sessions: `$ZOT_HOME/logs/network.jsonl`.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::proxy::Contact;
use crate::streams::ChildLog;

/// The largest record. There are two, the current one and the one before.
///
/// Limit: a full record replaces the one before, which is forgotten.
pub const MAX_NETWORK_LOG_BYTES: u64 = 1 << 20;

/// A line of the record.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordedContact {
    /// When it was contacted last, in RFC 3339.
    pub time: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    pub directory: String,
    pub host: String,
    pub port: u16,
    pub allowed: bool,
    /// How often it was contacted since the line before.
    pub times: u64,
}

/// What contacts hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The id of the session, if it is kept.
    pub session: Option<String>,
    /// A program that runs for long, such as `extension NAME`; `None` for a command.
    pub program: Option<String>,
    /// Where it works.
    pub directory: String,
}

/// What tells contacts apart.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    host: String,
    port: u16,
    is_allowed: bool,
    private_address: Option<IpAddr>,
}

/// Writes what a caller contacts.
#[derive(Debug)]
pub struct NetworkLog {
    log: ChildLog,
    caller: Caller,
    /// How often each host was contacted when it was written last.
    written: HashMap<Key, u64>,
}

impl NetworkLog {
    pub fn new(zot_home: &Path, caller: Caller) -> Self {
        Self {
            log: ChildLog::new(network_log_path(zot_home), MAX_NETWORK_LOG_BYTES),
            caller,
            written: HashMap::new(),
        }
    }

    /// Writes what is new in `contacts`, which are all of the caller, and returns it.
    pub fn write(&mut self, contacts: Vec<Contact>) -> Vec<Contact> {
        let mut new = Vec::new();
        // The record of a sandbox forgets the oldest hosts, and so may this one.
        let mut seen = HashMap::new();
        for contact in contacts {
            let key = Key {
                host: contact.host.clone(),
                port: contact.port,
                is_allowed: contact.is_allowed,
                private_address: contact.private_address,
            };
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
            let time = Timestamp::try_from(contact.last).unwrap_or_else(|_| Timestamp::now());
            let line = RecordedContact {
                time: time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
                session: self.caller.session.clone(),
                program: self.caller.program.clone(),
                directory: self.caller.directory.clone(),
                host: contact.host.clone(),
                port: contact.port,
                allowed: contact.is_allowed,
                times,
            };
            if let Ok(mut line) = serde_json::to_vec(&line) {
                line.push(b'\n');
                self.log.append(&line);
            }
            new.push(contact);
        }
        self.written = seen;
        new
    }
}

/// Returns the current record. The one before has `.1` after its name.
pub fn network_log_path(zot_home: &Path) -> PathBuf {
    zot_home.join("logs").join("network.jsonl")
}
