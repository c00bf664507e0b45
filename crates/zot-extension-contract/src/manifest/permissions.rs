//! The permissions that an extension requests, and its limits.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use zot_process::sandbox::{ConnectRule, Level};

/// What an extension that declares permissions may do beyond running itself, reading its own
/// directory and the system's programs, and writing to its data directory. Beside a `sandbox` it is
/// what it may do beyond that level.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Permissions {
    /// Files and directories it may read: absolute, or below `$CWD`, `$HOME`, `~` or `$DATA_DIR`.
    pub fs_read: Vec<String>,
    /// Files and directories it may read and write.
    pub fs_write: Vec<String>,
    /// Connections to everywhere.
    pub network: bool,
    /// Hosts it may connect to, as `host:port`.
    pub connect: Vec<String>,
    /// Unix sockets it may connect to.
    pub unix_sockets: Vec<String>,
    /// Not set: only its own programs, or with a `sandbox` every program.
    pub exec: Option<ExecPermission>,
    /// Environment variables it gets in addition to the harmless ones.
    pub env: Vec<String>,
}

/// Which programs an extension may start.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ExecPermission {
    /// All, or only its own.
    Anything(bool),
    /// These, by name on `PATH` or by path.
    Only(Vec<String>),
}

/// Reads the word for a level.
pub(super) fn level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Level>, D::Error> {
    let word = Option::<String>::deserialize(deserializer)?;
    let parsed = word.map(|word| word.parse()).transpose();
    parsed.map_err(serde::de::Error::custom)
}

/// The values of the variables in permitted paths.
pub struct PathVariables<'a> {
    pub cwd: &'a Path,
    pub home: Option<&'a Path>,
    pub data_dir: &'a Path,
}

impl Permissions {
    /// Returns what is wrong with the paths and names.
    pub fn check(&self) -> Result<(), String> {
        let paths = || {
            let files = self.fs_read.iter().chain(&self.fs_write);
            files.chain(&self.unix_sockets)
        };
        for path in paths() {
            let Some((_, rest)) = variable_and_rest(path) else {
                return Err(format!(
                    "{path:?} is neither absolute nor below $CWD, $HOME, ~ or $DATA_DIR"
                ));
            };
            let mut components = Path::new(rest).components();
            if components
                .any(|component| matches!(component, Component::RootDir | Component::ParentDir))
            {
                return Err(format!(
                    "{path:?} does not lead where it seems to: write it without \"..\" and double slashes"
                ));
            }
        }
        for host in &self.connect {
            let rule: Result<ConnectRule, _> = host.parse();
            rule.map_err(|error| error.to_string())?;
        }
        let programs = match &self.exec {
            None | Some(ExecPermission::Anything(_)) => &[],
            Some(ExecPermission::Only(programs)) => programs.as_slice(),
        };
        let mut names = paths().chain(&self.env);
        match names
            .by_ref()
            .chain(programs)
            .find(|name| name.contains(char::is_control))
        {
            Some(name) => Err(format!("{name:?} contains control characters")),
            None => Ok(()),
        }
    }

    pub fn readable(&self, places: &PathVariables<'_>) -> Vec<PermittedPath> {
        places.resolve_all(&self.fs_read)
    }

    pub fn writable(&self, places: &PathVariables<'_>) -> Vec<PermittedPath> {
        places.resolve_all(&self.fs_write)
    }

    pub(crate) fn sockets(&self, places: &PathVariables<'_>) -> Vec<PermittedPath> {
        places.resolve_all(&self.unix_sockets)
    }

    /// Returns it as in a manifest.
    pub fn to_json(&self) -> Value {
        let exec = self.exec.as_ref().map(|exec| match exec {
            ExecPermission::Anything(anything) => json!(anything),
            ExecPermission::Only(programs) => json!(programs),
        });
        let mut fields = json!({
            "fs_read": self.fs_read,
            "fs_write": self.fs_write,
            "network": self.network,
            "connect": self.connect,
            "unix_sockets": self.unix_sockets,
            "env": self.env,
        });
        if let (Value::Object(fields), Some(exec)) = (&mut fields, exec) {
            fields.insert("exec".to_owned(), exec);
        }
        fields
    }

    /// Returns where it may connect to. Those that are not hosts were refused by [`check`](Self::check).
    pub fn hosts(&self) -> Vec<ConnectRule> {
        let everywhere = self.network.then_some(ConnectRule::Anywhere);
        let listed = self.connect.iter().filter_map(|host| host.parse().ok());
        everywhere.into_iter().chain(listed).collect()
    }

    /// Returns whether it may write everything in the agent's working directory.
    pub(crate) fn writes_whole_project(&self) -> bool {
        let is_whole = |path: &String| {
            variable_and_rest(path).is_some_and(|(variable, rest)| {
                variable == "$CWD"
                    && Path::new(rest)
                        .components()
                        .all(|component| component == Component::CurDir)
            })
        };
        self.fs_write.iter().any(is_whole)
    }
}

/// A path named by a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermittedPath {
    /// The value of its variable; `None` if the path is absolute.
    pub base: Option<PathBuf>,
    /// Relative to the base, or to the root.
    pub rest: PathBuf,
}

impl PermittedPath {
    pub fn path(&self) -> PathBuf {
        let base = self.base.as_deref().unwrap_or(Path::new("/"));
        // Joining an empty path would add a trailing slash.
        base.join(&self.rest).components().collect()
    }
}

impl PathVariables<'_> {
    /// Resolves all paths whose variable has a value; `$HOME` may have none.
    fn resolve_all(&self, paths: &[String]) -> Vec<PermittedPath> {
        paths.iter().filter_map(|path| self.resolve(path)).collect()
    }

    fn resolve(&self, path: &str) -> Option<PermittedPath> {
        let (variable, rest) = variable_and_rest(path)?;
        let base = match variable {
            "" => None,
            "$CWD" => Some(self.cwd),
            "$DATA_DIR" => Some(self.data_dir),
            _ => Some(self.home?),
        };
        Some(PermittedPath {
            base: base.map(Path::to_owned),
            rest: PathBuf::from(rest),
        })
    }
}

/// Splits `$HOME/notes` into `$HOME` and `notes`, and `/notes` into nothing and `notes`.
fn variable_and_rest(path: &str) -> Option<(&'static str, &str)> {
    if let Some(rest) = path.strip_prefix('/') {
        return Some(("", rest));
    }
    ["$CWD", "$HOME", "$DATA_DIR", "~"]
        .into_iter()
        .find_map(|variable| {
            let rest = path.strip_prefix(variable)?;
            match rest.strip_prefix('/') {
                Some(rest) => Some((variable, rest)),
                None => rest.is_empty().then_some((variable, "")),
            }
        })
}

/// How much an extension may use. The host's defaults apply to what is not set; a manifest can only
/// tighten them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Memory of one process, in MiB.
    pub memory_mb: Option<u64>,
    pub frame_bytes: Option<usize>,
    pub frames_per_second: Option<u32>,
    pub log_bytes: Option<u64>,
}
