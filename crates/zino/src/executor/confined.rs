//! The sandbox: the working directory, what programs need to start, and nothing else.

use std::path::Path;
use std::process::Command;

use zot_process::launch::{
    self, ConfineError, Confined, Confinement, Execution, FileAccess, Status, enforceable,
};

use super::code_file::CodeFile;
use crate::descriptors;

/// A part of `[exc] sandbox` that this system cannot enforce.
#[derive(Debug, thiserror::Error)]
#[error(
    "[exc] sandbox: {part} cannot be restricted here ({reason}); set sandbox = false or run on another system"
)]
pub struct SandboxError {
    part: &'static str,
    reason: String,
}

/// Checks that this system can confine programs: a sandbox that does not hold is worse than none.
pub(super) fn check(network: bool) -> Result<(), SandboxError> {
    let possible = enforceable();
    let files = ("files", &possible.files);
    let sockets = ("network", &possible.network);
    let wanted = [Some(files), (!network).then_some(sockets)];
    for (part, status) in wanted.into_iter().flatten() {
        if let Status::NotEnforced(reason) = status {
            return Err(SandboxError {
                part,
                reason: reason.clone(),
            });
        }
    }
    Ok(())
}

/// Prepares `command` to run unconfined.
pub(super) fn unconfined(command: Command) -> Result<Confined, ConfineError> {
    let confinement = Confinement::default().open_files(descriptors::original());
    let (command, _) = launch::confine(command, &confinement)?;
    Ok(command)
}

/// Confines `command` to `directory`, the code it runs and a directory for temporary files.
pub(super) fn confine(
    mut command: Command,
    directory: &Path,
    code: &CodeFile,
    network: bool,
) -> Result<Confined, ConfineError> {
    let mut write = vec![directory.to_owned()];
    // Without one, programs that need temporary files fail; the others can still run.
    if let Ok(scratch) = code.scratch() {
        command.env("TMPDIR", &scratch);
        write.push(scratch);
    }
    let confinement = Confinement::default()
        .filesystem(FileAccess {
            read: vec![code.path().to_owned()],
            write,
            execute: Execution::Anything,
        })
        .network(network)
        .open_files(descriptors::original());
    let (command, _) = launch::confine(command, &confinement)?;
    Ok(command)
}
