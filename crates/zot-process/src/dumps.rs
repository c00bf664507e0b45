//! Keeps the memory of this process, which holds keys, out of core dumps and debuggers.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Disables core dumps of this process, and keeps other processes of the user from tracing it or
/// reading its memory. Call it first in `main`.
///
/// Children inherit the core limit of 0, soft and hard, which an unprivileged process cannot raise
/// again. `exec` makes them traceable again.
pub fn forbid_dumps() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Both only drop rights of our own. A system that refuses that must not prevent a start.
    let _ = setrlimit(Resource::Core, none);
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
