//! Extensions: list, install, remove, enable, disable, create, test and develop them, and read their logs.
//!
//! [`Store`](store::Store) installs, removes, enables and disables; the functions here do the rest.

pub mod check;
mod create;
mod dev;
mod examination;
mod list;
mod log;
mod skeleton;
pub mod store;

pub use crate::log_reader::LogReader;
pub use create::{CreateError, CreatedExtension, Foundation, Language, create};
pub use dev::{DevError, DevEvent, develop};
pub use examination::{ExaminationReport, examine};
pub use list::{BrokenExtension, ExtensionList, ExtensionState, ListedExtension, Starting, list};
pub use log::{LogError, await_log, open_log};
pub use zot_extension_contract::{
    Activation, Enforcement, EnforcementStatus, ExecPermission, FailurePolicy, FoundExtension,
    Level, LoadProblem, Manifest, ManifestError, NameError, Permissions, PermittedPath, Source,
    check_name, enforceable, enforcement, isolation, requested, summary,
};
