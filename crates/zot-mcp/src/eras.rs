//! `$ZOT_HOME/mcp/eras.json`: which era a server spoke last time, so that it need not be found out again.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zot_files::Lock;

use crate::entry::{Address, ServerEntry};
use crate::version::Era;

/// Limit: the file counts as empty.
const MAX_ERAS_BYTES: u64 = 1024 * 1024;

/// Limit: the file is begun anew.
const MAX_REMEMBERED_SERVERS: usize = 1_000;

/// Which eras servers speak. It is only a hint: whatever cannot be read or written is found out again.
#[derive(Debug, Clone)]
pub(crate) struct Eras {
    path: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    #[serde(default)]
    servers: BTreeMap<String, KnownEra>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KnownEra {
    Legacy,
    Modern,
}

impl From<Era> for KnownEra {
    fn from(era: Era) -> Self {
        match era {
            Era::Legacy => Self::Legacy,
            Era::Modern => Self::Modern,
        }
    }
}

impl From<KnownEra> for Era {
    fn from(era: KnownEra) -> Self {
        match era {
            KnownEra::Legacy => Self::Legacy,
            KnownEra::Modern => Self::Modern,
        }
    }
}

impl Eras {
    pub(crate) fn new(home: &Path) -> Self {
        Self {
            path: home.join("mcp").join("eras.json"),
        }
    }

    /// Returns which era to try first.
    ///
    /// A program is asked for the handshake, because servers that know both eras keep to that of the first request, and
    /// some begin their work with any other. A server behind HTTP is asked without.
    pub(crate) fn first(&self, entry: &ServerEntry) -> Era {
        match (self.read().servers.get(&key(entry)), &entry.address) {
            (_, Address::Sse { .. }) => Era::Legacy,
            (Some(known), _) => (*known).into(),
            (None, Address::Stdio { .. }) => Era::Legacy,
            (None, Address::Http { .. }) => Era::Modern,
        }
    }

    pub(crate) fn remember(&self, entry: &ServerEntry, era: Era) {
        if self.read().servers.get(&key(entry)) != Some(&era.into()) {
            // The next start finds it out again.
            let _ = self.write(key(entry), era.into());
        }
    }

    fn read(&self) -> File {
        let bytes = zot_files::read_bytes(&self.path, MAX_ERAS_BYTES);
        let bytes = bytes.ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    fn write(&self, key: String, era: KnownEra) -> io::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        zot_files::create_private_directory(directory)?;
        let _lock = Lock::acquire(&self.path.with_extension("lock"))?;
        let mut file = self.read();
        if file.servers.len() >= MAX_REMEMBERED_SERVERS {
            file.servers.clear();
        }
        file.servers.insert(key, era);
        let text = serde_json::to_vec(&file).map_err(io::Error::other)?;
        zot_files::replace(&self.path, &text, 0o600)
    }
}

/// Returns what tells a server from others, without its secrets: values of variables and headers are left out.
fn key(entry: &ServerEntry) -> String {
    let mut digest = Sha256::new();
    let mut add = |part: &str| {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    };
    match &entry.address {
        Address::Stdio {
            command, args, env, ..
        } => {
            add("stdio");
            add(command);
            for arg in args {
                add(arg);
            }
            add("env");
            for name in env.keys() {
                add(name);
            }
        }
        Address::Http { url, .. } | Address::Sse { url, .. } => {
            add("url");
            add(url);
        }
    }
    let digest = digest.finalize();
    digest
        .iter()
        .take(12)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
