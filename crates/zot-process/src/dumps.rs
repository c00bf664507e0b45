//! Keeps the memory of this process, which holds keys, out of core dumps and debuggers.

use rustix::process::{Resource, Rlimit, setrlimit};

/// Forbids core dumps of this process, and other processes of the same user to trace it or to read
/// its memory. Call it first in `main`.
///
/// Children inherit the core limit of 0, soft and hard: a process without privileges cannot give
/// back what it gave up. That they may be traced is reset by `exec`.
pub fn forbid_dumps() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Both only ever take something away from ourselves, which the system has no reason to refuse;
    // one that does must not prevent a start.
    let _ = setrlimit(Resource::Core, none);
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
