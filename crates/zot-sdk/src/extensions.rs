//! Extensions: list, install, remove, switch on and off, read their logs, make, test and develop them.
//!
//! [`Store`](store::Store) installs, removes, enables and disables; the functions here do the rest.

mod create;
mod dev;
mod examination;
mod list;
mod log;
mod skeleton;

pub use create::{CreateError, CreatedExtension, Language, create};
pub use dev::{DevError, DevEvent, develop};
pub use examination::{ExaminationReport, examine};
pub use list::{BrokenExtension, ExtensionList, ExtensionState, ListedExtension, Starting, list};
pub use log::{ExtensionLog, LogError};
pub use zot_extension_check as check;
pub use zot_extension_contract::{
    Discovery, Enforcement, EnforcementStatus, ExecPermission, FailurePolicy, Found,
    InterceptRecord, Limits, LoadProblem, MANIFEST_FILE, Manifest, ManifestError, NameError,
    Permissions, PermittedPath, Places, READY_GRACE, START_TIME, SearchPaths, Source, Standing,
    check_name, discover, enforceable, enforcement, isolation, log_path,
};
pub use zot_extension_host::{COMMAND_TIMEOUT, INTERCEPT_TIMEOUT, TOOL_TIMEOUT};
pub use zot_extension_store as store;
