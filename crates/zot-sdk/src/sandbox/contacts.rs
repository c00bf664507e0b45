//! Which hosts were contacted from sandboxes, over all sessions.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use zot_conversation::{BoxFuture, HostContact, Tool, ToolDefinition, ToolInvocation, ToolOutput};
use zot_process::sandbox::Level;
use zot_process::sandbox::record::{
    Caller, MAX_NETWORK_LOG_BYTES, NetworkLog, RecordedContact, network_log_path,
};
use zot_tools::ToolSandbox;

use crate::workspace::Workspace;

/// A host that was contacted from a sandbox, or refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactedHost {
    /// A name, or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether the connection was allowed.
    pub is_allowed: bool,
    /// How often it was contacted by commands, or by one program that runs for long.
    pub times: u64,
    /// When it was contacted last, in RFC 3339.
    pub last: String,
    /// What contacted it last.
    pub caller: Caller,
}

/// Returns the hosts on record, that of the latest contact first.
pub fn contacted_hosts(zot_home: &Path) -> Vec<ContactedHost> {
    let path = network_log_path(zot_home);
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

fn add(hosts: &mut Vec<ContactedHost>, line: RecordedContact) {
    let caller = Caller {
        session: line.session,
        program: line.program,
        directory: line.directory,
    };
    let is_same = |host: &&mut ContactedHost| {
        host.host == line.host
            && host.port == line.port
            && host.is_allowed == line.allowed
            && host.caller.program == caller.program
    };
    match hosts.iter_mut().find(is_same) {
        Some(host) => {
            host.times = host.times.saturating_add(line.times);
            host.last = line.time;
            host.caller = caller;
        }
        None => hosts.push(ContactedHost {
            host: line.host,
            port: line.port,
            is_allowed: line.allowed,
            times: line.times,
            last: line.time,
            caller,
        }),
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
    let caller = Caller {
        session,
        program: None,
        directory: workspace.cwd.display().to_string(),
    };
    let log = NetworkLog::new(&workspace.zot_home, caller);
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
        let new = log.write(contacts).into_iter();
        new.map(|contact| HostContact {
            host: contact.host,
            port: contact.port,
            is_allowed: contact.is_allowed,
        })
        .collect()
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
