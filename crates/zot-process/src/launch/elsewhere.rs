//! Systems other than Linux: nothing is enforced, and the report says so.

use std::process::Command;

use super::{ConfineError, Confinement, Enforcement, Execution, Status};

/// Nothing is done before `exec`.
#[derive(Default)]
pub(super) struct Steps {}

pub(super) fn steps(_command: &Command, _confinement: &Confinement) -> Result<Steps, ConfineError> {
    Ok(Steps {})
}

pub(super) fn enforcement(confinement: &Confinement) -> Enforcement {
    let files = confinement.files.as_ref();
    let only_some = files.is_some_and(|files| files.execute != Execution::Anything);
    Enforcement {
        files: status(files.is_some()),
        execution: status(only_some),
        network: status(confinement.without_network),
        memory: status(confinement.memory_limit.is_some()),
        processes: status(files.is_some()),
        parent_death: status(true),
    }
}

pub(super) fn enforceable() -> Enforcement {
    Enforcement {
        files: status(true),
        execution: status(true),
        network: status(true),
        memory: status(true),
        processes: status(true),
        parent_death: status(true),
    }
}

pub(super) fn isolation_report() -> String {
    "nothing: only Linux is supported".to_owned()
}

fn status(requested: bool) -> Status {
    if requested {
        Status::NotEnforced("only Linux is supported".to_owned())
    } else {
        Status::NotRequested
    }
}
