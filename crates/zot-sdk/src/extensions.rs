//! Extensions on disk: their manifests and where they are found, the [`store`] that installs them, and
//! the [`check`] that examines them.

pub use zot_extension_check as check;
pub use zot_extension_contract::{
    Discovery, Enforcement, EnforcementStatus, ExecPermission, FailurePolicy, Found,
    InterceptRecord, Limits, LoadProblem, MANIFEST_FILE, Manifest, ManifestError, NameError,
    Permissions, PermittedPath, Places, READY_GRACE, START_TIME, SearchPaths, Source, Standing,
    check_name, discover, enforceable, enforcement, isolation, log_path,
};
pub use zot_extension_host::{COMMAND_TIMEOUT, INTERCEPT_TIMEOUT, TOOL_TIMEOUT};
pub use zot_extension_store as store;
