//! Extensions: subprocesses in any language that add tools and commands, watch events and step in.

mod discovery;
mod manifest;
pub mod store;
pub mod trial;

pub use discovery::{Discovery, Found, LoadProblem, SearchPaths, Source, Standing, discover};
pub use manifest::{
    ExecPermission, FailurePolicy, Limits, MANIFEST_FILE, Manifest, ManifestError, NameError,
    Permissions, Places, check_name,
};
