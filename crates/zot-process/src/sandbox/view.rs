//! The namespaces that all commands of a sandbox share, and the proxy that serves them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::layout::Layout;
use super::{ConnectRule, ContactLog, Policy, Proxy, Surroundings, skeleton};
use crate::launch::View;

/// The variables that lead programs to the proxy, and those that keep them from it.
const PROXY_VARIABLES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];
const DIRECT_VARIABLES: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// Inside of its own network, a program reaches its own servers without the proxy.
const DIRECT_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

#[derive(Debug)]
pub(super) struct SharedView {
    namespaces: Arc<View>,
    /// The directory that is its root.
    root: PathBuf,
    /// Where the changes of overlaid places are kept.
    changes: Vec<PathBuf>,
    proxy: Option<ServedProxy>,
}

/// The way out of a network of its own.
#[derive(Debug)]
struct ServedProxy {
    address: String,
    /// The hosts that are not asked for through the proxy.
    direct: String,
    proxy: Proxy,
}

impl SharedView {
    pub(super) fn new(
        layout: &Layout,
        links: &[PathBuf],
        policy: &Policy,
        surroundings: &Surroundings,
        contacts: &ContactLog,
    ) -> io::Result<Self> {
        let root = new_directory(&surroundings.scratch)?;
        let mut paths: Vec<&Path> = vec![&surroundings.workspace];
        paths.extend(surroundings.home.as_deref());
        paths.extend(links.iter().map(PathBuf::as_path));
        let has_own_network = !policy.rules.allows_every_host();
        let plan = skeleton::plan(layout, root, &paths, has_own_network)?;
        let namespaces = View::new(&plan)?;
        let proxy = match namespaces.take_listener() {
            Some(listener) => Some(ServedProxy {
                address: format!("http://{}", listener.local_addr()?),
                direct: direct_hosts(&policy.rules.connect),
                proxy: Proxy::start(listener, policy.rules.connect.clone(), contacts.clone())?,
            }),
            None => None,
        };
        let changes = plan
            .mounts
            .iter()
            .filter_map(|mount| mount.changes.as_ref());
        Ok(Self {
            namespaces: Arc::new(namespaces),
            changes: changes.map(|changes| skeleton::upper(changes)).collect(),
            root: plan.root,
            proxy,
        })
    }

    pub(super) fn namespaces(&self) -> Arc<View> {
        Arc::clone(&self.namespaces)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn changes(&self) -> &[PathBuf] {
        &self.changes
    }

    /// Returns whether the proxy is still at work.
    pub(super) fn is_served(&self) -> bool {
        let served = self.proxy.as_ref();
        served.is_none_or(|served| served.proxy.is_serving())
    }

    pub(super) fn set_proxy_variables(&self, command: &mut Command) {
        let Some(proxy) = &self.proxy else {
            return;
        };
        for name in PROXY_VARIABLES {
            command.env(name, &proxy.address);
        }
        for name in DIRECT_VARIABLES {
            command.env(name, &proxy.direct);
        }
    }
}

/// Returns the hosts that mean the network of the program itself: not those that a rule names, which are
/// of the user's machine.
fn direct_hosts(rules: &[ConnectRule]) -> String {
    let is_named = |host: &&str| {
        let named = rules.iter().any(|rule| {
            let rule = rule.to_string();
            let rule = rule.trim_start_matches('[');
            rule.strip_prefix(*host)
                .is_some_and(|rest| !rest.starts_with('.'))
        });
        !named
    };
    let hosts: Vec<&str> = DIRECT_HOSTS.into_iter().filter(is_named).collect();
    hosts.join(",")
}

/// Makes the first of `root-1`, `root-2` and so on that does not exist.
fn new_directory(scratch: &Path) -> io::Result<PathBuf> {
    let scratch = scratch.canonicalize()?;
    let mut number = 1_u32;
    loop {
        let path = scratch.join(format!("root-{number}"));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            made => return made.map(|()| path),
        }
    }
}
