//! What every host and extension agree on: the [`Manifest`], where extensions are found
//! ([`discover`]), how a process is started with the permissions it declares ([`start`]), and what it
//! may register ([`Registrations`]).
//!
//! The protocol itself is not implemented here but in the host and the check.

mod discovery;
mod intercept_record;
mod launch;
mod limits;
mod manifest;
mod program;
mod registrations;
mod schema;

pub use discovery::{
    Activation, Discovery, FoundExtension, LoadProblem, SearchPaths, Source, discover,
};
pub use intercept_record::InterceptRecord;
pub use launch::{
    Launch, LaunchError, LaunchRules, Process, ProcessSandbox, ProgramLaunch, SandboxRemark,
    enforcement, program_data_dir, start, start_program,
};
pub use limits::{
    EffectiveLimits, READY_GRACE, READY_SILENCE, SHUTDOWN_TIME, START_TIME, TERMINATION_TIME,
};
pub use manifest::{
    ExecPermission, FailurePolicy, Limits, MANIFEST_FILE, MAX_MANIFEST_BYTES, Manifest,
    ManifestError, NameError, PartialManifest, PathVariables, Permissions, PermittedPath,
    check_name, log_path, requested, summary,
};
pub use program::{ProgramError, check_program};
pub use registrations::{CommandInfo, EventSet, Registrations};
pub use schema::{AcceptedSchema, accept_schema, check_arguments};
pub use zot_process::launch::{Enforcement, Status as EnforcementStatus, enforceable, isolation};
pub use zot_process::sandbox::{Contact, Level, UnknownLevel};
