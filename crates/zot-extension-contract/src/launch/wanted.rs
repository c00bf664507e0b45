//! Makes the sandbox of a program from what it asks for and what the user insists on.

#[cfg(test)]
mod tests;

use std::env;
use std::path::{Path, PathBuf};

use zot_files::{Scratch, ScratchDirectory};
use zot_process::launch::{Enforcement, Execution, Status};
use zot_process::sandbox::{Level, Limits, Policy, Rules, Sandbox, SandboxError, Surroundings};

use super::grants::{Grants, execution, grants};
use super::{LaunchError, LaunchRules, Places};
use crate::manifest::Permissions;

/// A variable that programs with permissions have always got beside those of every level.
const ALSO_PASSED: &str = "XDG_RUNTIME_DIR";

/// Where the programs of the system are, which every level can read.
const SYSTEM_PROGRAMS: [&str; 5] = ["/usr", "/bin", "/sbin", "/opt", "/nix/store"];

/// What a program asks for, and what applies to it anyway.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) permissions: Option<&'a Permissions>,
    pub(super) sandbox: Option<Level>,
    pub(super) memory_bytes: Option<u64>,
    /// Whether a project asks for it, which cannot have more than the user's minimum.
    pub(super) is_from_project: bool,
    pub(super) rules: &'a LaunchRules,
}

/// A sandbox with what it needs and what it lacks.
pub(super) struct Applied {
    pub(super) sandbox: Sandbox,
    pub(super) scratch: Option<ScratchDirectory>,
    /// Whether the project's extensions can be written by the kernel's file rules.
    pub(super) includes_project_extensions: bool,
    /// What is not granted, and why.
    pub(super) refusals: Vec<String>,
}

/// How a program is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Confinement {
    /// To a level, and what its permissions name in addition.
    Level(Level),
    /// To what its permissions name.
    Exact,
}

impl Wanted<'_> {
    fn confinement(&self) -> Confinement {
        let minimum = self.rules.minimum;
        match (self.sandbox, self.permissions) {
            (None, Some(_)) => Confinement::Exact,
            (own, _) => Confinement::Level(own.unwrap_or_default().max(minimum)),
        }
    }

    /// Returns whether it runs with fewer rights than the user has.
    pub(super) fn is_confined(&self) -> bool {
        self.confinement() != Confinement::Level(Level::Off)
    }

    /// Refuses to start a program with the rights of the user that the user's minimum confines. Levels
    /// refuse that themselves. Permissions alone do not: they narrow what somebody trusts already.
    pub(super) fn check(&self, enforcement: &Enforcement) -> Result<(), SandboxError> {
        if self.rules.minimum == Level::Off {
            return Ok(());
        }
        for status in [&enforcement.files, &enforcement.network] {
            if let Status::NotEnforced(reason) = status {
                return Err(SandboxError::Impossible(reason.clone()));
            }
        }
        Ok(())
    }

    /// Returns the policy without what depends on files.
    pub(super) fn policy(&self) -> Policy {
        let permissions = self.permissions.cloned().unwrap_or_default();
        let confinement = self.confinement();
        let run = match execution(&permissions, unstated(confinement)) {
            Execution::Anything => None,
            Execution::Only(programs) => Some(programs),
        };
        let mut environment = permissions.env.clone();
        let level = match confinement {
            Confinement::Level(level) => level,
            Confinement::Exact => {
                environment.push(ALSO_PASSED.to_owned());
                Level::Workspace
            }
        };
        Policy {
            level,
            rules: Rules {
                run,
                connect: permissions.hosts(),
                unix_sockets: permissions.unix_sockets.iter().map(Into::into).collect(),
                environment,
                limits: Limits {
                    memory_bytes: self.memory_bytes,
                    ..Limits::default()
                },
                ..Rules::default()
            },
        }
    }

    /// Makes the sandbox for a program in `places`.
    pub(super) fn apply(&self, places: &Places<'_>) -> Result<Applied, LaunchError> {
        let confinement = self.confinement();
        let Policy {
            mut level,
            mut rules,
        } = self.policy();
        let mut surroundings = Surroundings {
            workspace: places.cwd.to_owned(),
            home: env::home_dir(),
            withheld: self.rules.withheld.clone(),
            ..Surroundings::default()
        };
        if confinement == Confinement::Level(Level::Off) {
            return Ok(Applied {
                sandbox: Sandbox::new(Policy { level, rules }, surroundings)?,
                scratch: None,
                includes_project_extensions: false,
                refusals: Vec::new(),
            });
        }
        let permissions = self.permissions.cloned().unwrap_or_default();
        let mut grants = grants(places, &permissions, unstated(confinement))?;
        self.cap(places, &mut grants, &mut rules);
        let scratch = ScratchDirectory::new(Scratch::Jail).map_err(SandboxError::Scratch)?;
        scratch.path().clone_into(&mut surroundings.scratch);
        surroundings.hidden.extend(grants.zot_home.take());
        rules.unix_sockets = grants.sockets;
        let sandbox = match confinement {
            Confinement::Exact => {
                grants.files.read.extend_from_slice(&rules.unix_sockets);
                Sandbox::exact(grants.files, rules, surroundings)?
            }
            Confinement::Level(_) => {
                if let (Level::Workspace, Some(what)) = (level, grants.read_only_cwd) {
                    level = Level::ReadOnly;
                    let cwd = places.cwd.display();
                    let refusal =
                        format!("sandbox: {cwd} can only be read, because it includes {what}");
                    grants.refusals.push(refusal);
                }
                if let (Some(run), Execution::Only(programs)) =
                    (&mut rules.run, grants.files.execute)
                {
                    *run = programs;
                }
                rules.read = grants.files.read;
                rules.write = grants.files.write;
                Sandbox::new(Policy { level, rules }, surroundings)?
            }
        };
        Ok(Applied {
            sandbox,
            scratch: Some(scratch),
            includes_project_extensions: confinement == Confinement::Exact
                && grants.includes_project_extensions,
            refusals: grants.refusals,
        })
    }

    /// Takes away what the user's minimum does not leave to the program.
    ///
    /// The permissions of a program that the user has chosen stay: the user could read them. Those of a
    /// project are taken only where they narrow the minimum.
    fn cap(&self, places: &Places<'_>, grants: &mut Grants, rules: &mut Rules) {
        let minimum = self.rules.minimum;
        if minimum == Level::Off {
            return;
        }
        let cwd = places.cwd.canonicalize();
        let cwd = cwd.unwrap_or_else(|_| places.cwd.to_owned());
        // The first of each is its own.
        let own_write = grants.files.write.remove(0);
        let own_read = grants.files.read.remove(0);
        let (mut write, mut read) = (Vec::new(), Vec::new());
        for path in grants.files.write.drain(..) {
            let is_refused = self.is_from_project && !path.starts_with(&cwd);
            let is_read_only = path.starts_with(&cwd) || cwd.starts_with(&path);
            match (is_refused, minimum == Level::ReadOnly && is_read_only) {
                (true, _) => grants.refusals.push(beyond("fs_write", &path, minimum)),
                (false, true) => {
                    grants.refusals.push(beyond("fs_write", &path, minimum));
                    read.push(path);
                }
                (false, false) => write.push(path),
            }
        }
        for path in grants.files.read.drain(..) {
            match self.is_from_project && !path.starts_with(&cwd) {
                true => grants.refusals.push(beyond("fs_read", &path, minimum)),
                false => read.push(path),
            }
        }
        read.insert(0, own_read);
        write.insert(0, own_write);
        (grants.files.read, grants.files.write) = (read, write);
        if self.is_from_project {
            self.cap_programs(&cwd, grants);
            for path in grants.sockets.drain(..) {
                let refusal = beyond("unix_sockets", &path, minimum);
                grants.refusals.push(refusal);
            }
            if !rules.connect.is_empty() {
                rules.connect.clear();
                let refusal = beyond("the network", "".as_ref(), minimum);
                grants.refusals.push(refusal);
            }
            rules.environment.clear();
            for name in self.permissions.iter().flat_map(|asked| &asked.env) {
                let refusal = beyond("env", name.as_ref(), minimum);
                grants.refusals.push(refusal);
            }
        }
    }

    /// Takes away programs outside of the system and the project: what can be started can be read.
    fn cap_programs(&self, cwd: &Path, grants: &mut Grants) {
        let Execution::Only(programs) = &mut grants.files.execute else {
            return;
        };
        let own = grants.files.read.first();
        programs.retain(|program| {
            let real = program.canonicalize();
            let real = real.as_deref().unwrap_or(program);
            let places = SYSTEM_PROGRAMS.iter().map(Path::new);
            let mut places = places.chain([cwd]).chain(own.map(PathBuf::as_path));
            // A name is looked up where the user keeps programs.
            let is_granted = program.is_relative() || places.any(|place| real.starts_with(place));
            if !is_granted {
                let refusal = beyond("exec", program, self.rules.minimum);
                grants.refusals.push(refusal);
            }
            is_granted
        });
    }
}

fn unstated(confinement: Confinement) -> Execution {
    match confinement {
        Confinement::Level(_) => Execution::Anything,
        Confinement::Exact => Execution::Only(Vec::new()),
    }
}

fn beyond(permission: &str, path: &Path, minimum: Level) -> String {
    let name = match path.as_os_str().is_empty() {
        true => permission.to_owned(),
        false => format!("{permission}: {}", path.display()),
    };
    format!("{name} is not granted: your configuration confines it to {minimum}")
}
