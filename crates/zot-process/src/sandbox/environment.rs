//! Which variables a child gets.

use std::ffi::OsString;
use std::process::Command;

use super::{Level, Policy};

/// The secret between a runtime and the program that drives it. No child ever gets it.
const PIPE_TOKEN: &str = "ZOTCORE_RPC_TOKEN";

/// Variables that a child gets at every level. Those that end in `*` are prefixes.
pub const PASSED: [&str; 40] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "TZ",
    "TMPDIR",
    "PWD",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CI",
    "EDITOR",
    "PAGER",
    "HOSTNAME",
    "ZOT_HOME",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "NVM_DIR",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "JAVA_HOME",
    "GOPATH",
    "GOROOT",
    // Certificates, which the proxy does not replace.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
];

/// The environment of a child, as names that are decided one by one.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// The keys and tokens that no child gets unless they are named.
    withheld: Vec<String>,
    /// Those that are named.
    named: Vec<String>,
    lists: bool,
}

impl Environment {
    /// Decides by `policy`; `withheld` are the variables with keys of model providers, logins and tokens.
    pub fn new(policy: &Policy, withheld: &[String]) -> Self {
        Self {
            withheld: withheld.to_vec(),
            named: policy.rules.environment.clone(),
            lists: policy.level != Level::Off && !policy.rules.inherits_environment,
        }
    }

    /// Returns whether a child gets the variable.
    pub fn passes(&self, name: &str) -> bool {
        if name == PIPE_TOKEN {
            return false;
        }
        if matches_any(&self.named, name) {
            return true;
        }
        if matches_any(&self.withheld, name) {
            return false;
        }
        !self.lists || matches_any(&PASSED, name)
    }

    /// Returns the variables of this process that a child gets.
    pub fn variables(&self) -> impl Iterator<Item = (OsString, OsString)> {
        // A name that is no text cannot be on a list.
        std::env::vars_os().filter(|(name, _)| match name.to_str() {
            Some(name) => self.passes(name),
            None => !self.lists,
        })
    }

    /// Returns the names of the variables of this process that a child does not get, sorted.
    pub fn missing(&self) -> Vec<String> {
        let mut names: Vec<String> = std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .filter(|name| !self.passes(name))
            .collect();
        names.sort_unstable();
        names
    }

    /// Sets what `command` inherits. Variables that were set on it stay; call it once.
    pub fn apply(&self, command: &mut Command) {
        if self.lists {
            let set: Vec<(OsString, Option<OsString>)> = command
                .get_envs()
                .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
                .collect();
            command.env_clear().envs(self.variables());
            for (name, value) in set {
                match value {
                    Some(value) => command.env(name, value),
                    None => command.env_remove(name),
                };
            }
            return;
        }
        let set: Vec<OsString> = command
            .get_envs()
            .map(|(name, _)| name.to_owned())
            .collect();
        for name in self.missing() {
            if !set.iter().any(|set| *set == *name) {
                command.env_remove(name);
            }
        }
    }
}

fn matches_any(patterns: &[impl AsRef<str>], name: &str) -> bool {
    patterns.iter().any(|pattern| {
        let pattern = pattern.as_ref();
        match pattern.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == pattern,
        }
    })
}
