//! What zot and an extension agree on, whoever runs it: the [`Manifest`], where extensions are found
//! ([`discover`]), how a process is started with the permissions it declares ([`start`]), and what it may
//! register ([`Registrations`]).
//!
//! Nothing here speaks the protocol: the host, the store and the check do their own part on top.

mod discovery;
mod intercept_record;
mod launch;
mod limits;
mod manifest;
mod program;
mod registrations;
mod schema;

pub use discovery::{Discovery, Found, LoadProblem, SearchPaths, Source, Standing, discover};
pub use intercept_record::InterceptRecord;
pub use launch::{Launch, LaunchError, Process, enforcement, start};
pub use limits::{
    EffectiveLimits, READY_GRACE, READY_SILENCE, SHUTDOWN_TIME, START_TIME, TERMINATION_TIME,
};
pub use manifest::{
    ExecPermission, FailurePolicy, Glimpse, Limits, MANIFEST_FILE, MAX_MANIFEST_BYTES, Manifest,
    ManifestError, NameError, Permissions, PermittedPath, Places, check_name, log_path,
};
pub use program::{ProgramError, check_program};
pub use registrations::{CommandInfo, EventSet, Registrations};
pub use schema::{AcceptedSchema, accept_schema, check_arguments};
pub use zot_process::launch::{Enforcement, Status as EnforcementStatus, enforceable, isolation};
