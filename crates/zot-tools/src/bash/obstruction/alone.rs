//! What is in the way where the system denies namespaces, and Landlock and seccomp confine alone: there,
//! few options help.

use std::path::Path;

use super::{InTheWay, Said};
use crate::bash::denial::{self, NamedPath, Suspicion};
use crate::bash::hint;
use crate::sandbox::{Remedy, Walls};

/// How a sentence about this begins.
const WITHOUT_NAMESPACES: &str =
    "this system denies namespaces (the user can see why with `zot doctor`), and without them";

/// What a refusal that names no file may be about.
pub(super) const NO_PROGRAMS: &str = "programs that were compiled here cannot be run without namespaces, which this \
    system denies (the user can see why with `zot doctor`)";

/// Returns what the lack of namespaces explains of the words of a command.
pub(super) fn sentence(
    walls: &Walls,
    cwd: &Path,
    said: Said<'_>,
    suspicion: Option<Suspicion>,
) -> Option<String> {
    let mut reasons = Vec::new();
    if let Some(path) = not_executable(walls, cwd, said.output) {
        reasons.push(format!(
            "no mode can be changed, so that programs which were compiled here cannot be run: {path} is not \
             executable (a script can be given to its interpreter)"
        ));
    } else if hint::is_not_permitted(said.output) {
        reasons.push(
            "modes, owners and times of files cannot be changed (chmod, touch, sed -i, cp -p, tar x, python3 -m \
             venv), and programs that were compiled here cannot be run"
                .to_owned(),
        );
    }
    let misses_host = suspicion.is_some_and(|suspicion| suspicion.network);
    if !walls.has_network() && (misses_host || hint::misses_server(said.output)) {
        reasons.push(
            "there is no network, not even localhost, and no single host can be allowed: only the user can open the \
             whole network, with --sandbox-connect '*'"
                .to_owned(),
        );
    }
    (!reasons.is_empty()).then(|| format!("{WITHOUT_NAMESPACES} {}", reasons.join("; ")))
}

/// Returns what is in the way of a command that looks for `meant`, a file in the home directory of the user,
/// at `path` in its own.
pub(super) fn in_user_home(walls: &Walls, path: &Path, meant: &Path) -> Option<InTheWay> {
    let path = path.display();
    match walls.hidden(meant, false) {
        // The same command would fail once more, because it asks for another path.
        Some(Remedy::Allow(allowance)) => Some(InTheWay::Other(format!(
            "{path} is in the sandbox's own home directory; {allowance} is refused; only the user can allow it, \
             with {}, and then by this path only",
            allowance.option()
        ))),
        Some(beyond) => Some(beyond.into()),
        None => walls.can_read(meant).then(|| {
            InTheWay::Other(format!(
                "{path} is in the sandbox's own home directory; the file of the user is {}",
                meant.display()
            ))
        }),
    }
}

/// Returns the file that could not be started because nothing could make it executable.
fn not_executable(walls: &Walls, cwd: &Path, output: &str) -> Option<String> {
    // Of a mode that is not changed, the kernel says something else.
    let is_start = |named: &NamedPath<'_>| !named.is_change && !hint::is_not_permitted(named.line);
    let mut named = denial::named_paths(output).filter(is_start);
    let found = named.find_map(|named| {
        let mut candidates = named.candidates.iter();
        candidates.find_map(|candidate| walls.not_executable(&cwd.join(candidate)))
    })?;
    Some(found.display().to_string())
}
